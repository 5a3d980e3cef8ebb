// Package cancelpipeline is the action "cancel-pipeline": it has a CI system give
// up a pipeline that is stuck.
package cancelpipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/ci"
)

// Do is the name of the action.
const Do = "cancel-pipeline"

// Looker reads one pipeline at the instant of acting; *ci.Reader is one.
type Looker interface {
	Pipeline(ctx context.Context, id int64) (ci.Pipeline, error)
}

// Writer cancels a pipeline; *ci.Writer is one.
type Writer interface {
	Cancel(ctx context.Context, p ci.Pipeline) error
}

// System is one [ci.NAME].
type System struct {
	Looker Looker
	Writer Writer
	Clock  func() time.Time // the server's
}

// Options are the systems by name.
type Options struct {
	Systems  map[string]System
	Pause    time.Duration // between two looks at what became of it; 1s
	Patience time.Duration // for its end; 2m: a worker may take long to give up
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) *Action {
	if o.Pause <= 0 {
		o.Pause = time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	return &Action{o: o}
}

// Ability implements act.Action. One that is over is not cancelled twice.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Shared: fleet.SharedCI, Touches: []fleet.PartName{fleet.PartCI}, Deadline: fleet.Duration(x.o.Patience)}
}

// Commands implements act.Action. The CI is spoken to by HTTP; these are the words
// for it.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	p := a.Target.Pipeline
	if p == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{Do, p.Name, p.URL},
		Note: "through the API of the CI, with the token of [ci." + p.System + "]; only while it is the run that was seen, and not over"}}
}

// Prepare implements act.Action: it asks the CI again about the pipeline.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	p := a.Target.Pipeline
	if p == nil {
		return nil, errors.New("cannot cancel the pipeline: the target is no pipeline")
	}
	s, ok := x.o.Systems[p.System]
	if !ok || !p.Owner.MayTouch() {
		return nil, fmt.Errorf("cannot cancel %s: it is not ours: %w", p.Name, act.ErrRefused)
	}
	now, err := s.Looker.Pipeline(ctx, p.ID)
	if errors.Is(err, ci.ErrGone) {
		return nil, fmt.Errorf("%s is not there any more: %w", p.Name, act.ErrUnneeded)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at %s: %w", p.Name, err)
	}
	if err := same(*p, now, s.Clock()); err != nil {
		return nil, err
	}
	return &run{name: p.Name, s: s, pause: x.o.Pause, now: now}, nil
}

// rounding is how much two ages of one moment may differ.
const rounding = 10 * time.Second

// same holds the pipeline against what was seen: the same run of it, and stuck in
// the same state.
func same(seen fleet.Pipeline, now ci.Pipeline, at time.Time) error {
	state, known := seen.State.Get()
	span, since := seen.Running, now.Started
	if state == ci.Pending {
		span, since = seen.Pending, now.Created
	}
	age, told := span.Get()
	switch {
	case now.Number != seen.Number || !seen.Repeats(now.Workflow, now.Branch, now.Head):
		return fmt.Errorf("cannot cancel %s: another pipeline has its number now: %w", seen.Name, act.ErrRefused)
	case !now.Open():
		return fmt.Errorf("%s is over, as %s: %w", seen.Name, now.State, act.ErrUnneeded)
	case !known || state != ci.Running && state != ci.Pending || now.State != state:
		return fmt.Errorf("cannot cancel %s: it is not in the state in which it was seen: %w", seen.Name, act.ErrRefused)
	case now.Attempt > seen.Attempt || !told || since.IsZero() || at.Sub(since) < time.Duration(age)-rounding:
		return fmt.Errorf("cannot cancel %s: it was begun again since it was seen: %w", seen.Name, act.ErrRefused)
	}
	return nil
}

type run struct {
	name  string
	s     System
	pause time.Duration
	now   ci.Pipeline // as Prepare found it
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot cancel %s: %w", r.name, err)
	}
	return r.s.Writer.Cancel(ctx, r.now)
}

// Verify implements act.Run: it is over.
func (r *run) Verify(ctx context.Context) (string, error) {
	for {
		now, err := r.s.Looker.Pipeline(ctx, r.now.ID)
		if err == nil && !now.Open() {
			return fmt.Sprintf("it ended as %s", now.State), nil
		}
		if err == nil {
			err = fmt.Errorf("its state is still %s", now.State)
		}
		select {
		case <-time.After(r.pause):
		case <-ctx.Done():
			return "", fmt.Errorf("cannot show that %s was cancelled: %w", r.name, err)
		}
	}
}

// Close implements act.Run.
func (r *run) Close() {}
