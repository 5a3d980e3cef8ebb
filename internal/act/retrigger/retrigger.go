// Package retrigger is the action "retrigger": it has a CI system run a pipeline
// again that failed for a cause outside the code. It is done once for each
// failure, and so many times for one commit and no more.
package retrigger

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
const Do = "retrigger"

// Looker reads pipelines at the instant of acting; *ci.Reader is one.
type Looker interface {
	Pipelines(ctx context.Context) (ci.Listing, error)
	Pipeline(ctx context.Context, id int64) (ci.Pipeline, error)
}

// Writer runs a pipeline again; *ci.Writer is one.
type Writer interface {
	Again(ctx context.Context, p ci.Pipeline) error
}

// System is one [ci.NAME].
type System struct {
	Looker   Looker
	Writer   Writer
	Attempts int // of one pipeline, the first one counted; 3
}

// Options are the systems by name.
type Options struct {
	Systems map[string]System
	Pause   time.Duration // between two looks at what became of it; 1s
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) *Action {
	if o.Pause <= 0 {
		o.Pause = time.Second
	}
	return &Action{o: o}
}

// Ability implements act.Action. Done twice it finds what it did the first time.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Shared: fleet.SharedCI, Touches: []fleet.PartName{fleet.PartCI}, Deadline: fleet.Duration(time.Minute)}
}

// Commands implements act.Action. The CI is spoken to by HTTP; these are the words
// for it.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	p := a.Target.Pipeline
	if p == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{Do, p.Name, p.URL},
		Note: "through the API of the CI, with the token of [ci." + p.System + "]; only while it is the newest of its branch and failed as it was seen"}}
}

// Prepare implements act.Action: it asks the CI again about the pipeline, and
// whether a newer one has taken its place.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	p := a.Target.Pipeline
	if p == nil {
		return nil, errors.New("cannot run the pipeline again: the target is no pipeline")
	}
	s, ok := x.o.Systems[p.System]
	if infra, known := p.Infra.Get(); !ok || !p.Owner.MayTouch() || !known || !infra {
		return nil, fmt.Errorf("cannot run %s again: it is not ours, or its failure is not known to be the machinery's: %w", p.Name, act.ErrRefused)
	}
	if s.Attempts <= 0 {
		s.Attempts = 3
	}
	r := &run{seen: *p, s: s, pause: x.o.Pause}
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

type run struct {
	seen  fleet.Pipeline
	s     System
	pause time.Duration
	now   ci.Pipeline // as Prepare found it
}

// check holds the pipeline against what was seen.
func (r *run) check(ctx context.Context) error {
	listing, now, err := r.find(ctx)
	if errors.Is(err, ci.ErrGone) {
		return fmt.Errorf("cannot run %s again: it is not there any more: %w", r.seen.Name, act.ErrRefused)
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", r.seen.Name, err)
	}
	if newer, ok := newerThan(now, listing.Pipelines); ok {
		return fmt.Errorf("pipeline %d of the same branch is newer: %w", newer.Number, act.ErrUnneeded)
	}
	r.now = now
	return r.same(now, listing.At)
}

// find is the pipeline as it is now, with those beside it.
func (r *run) find(ctx context.Context) (ci.Listing, ci.Pipeline, error) {
	listing, err := r.s.Looker.Pipelines(ctx)
	if err != nil {
		return listing, ci.Pipeline{}, err
	}
	for _, p := range listing.Pipelines {
		if p.ID == r.seen.ID {
			return listing, p, nil
		}
	}
	p, err := r.s.Looker.Pipeline(ctx, r.seen.ID)
	return listing, p, err
}

// newerThan finds the newest pipeline that has taken another's place.
func newerThan(p ci.Pipeline, all []ci.Pipeline) (ci.Pipeline, bool) {
	for _, q := range all {
		if q.ID > p.ID && q.Group() == p.Group() {
			return q, true
		}
	}
	return ci.Pipeline{}, false
}

// rounding is how much two ages of one moment may differ.
const rounding = 10 * time.Second

// same says whether it is the failure that was seen, and may be repeated.
func (r *run) same(now ci.Pipeline, at time.Time) error {
	ended, known := r.seen.Ended.Get()
	switch {
	case now.Number != r.seen.Number || !r.seen.Repeats(now.Workflow, now.Branch, now.Head):
		return fmt.Errorf("cannot run %s again: another pipeline has its number now: %w", r.seen.Name, act.ErrRefused)
	case now.Attempt > r.seen.Attempt:
		return fmt.Errorf("attempt %d was begun already: %w", now.Attempt, act.ErrUnneeded)
	case now.State == ci.Success || now.State == ci.Pending || now.State == ci.Running:
		return fmt.Errorf("its state is %s: %w", now.State, act.ErrUnneeded)
	case now.State != ci.Failure:
		return fmt.Errorf("cannot run %s again: it has not failed: %w", r.seen.Name, act.ErrRefused)
	case !known || at.Sub(now.Ended) < time.Duration(ended)-rounding:
		return fmt.Errorf("cannot run %s again: it failed once more since it was seen: %w", r.seen.Name, act.ErrRefused)
	case max(now.Attempt, r.seen.Attempt) >= r.s.Attempts:
		return fmt.Errorf("cannot run %s again: it was tried %d times: %w", r.seen.Name, max(now.Attempt, r.seen.Attempt), act.ErrRefused)
	}
	return nil
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot run %s again: %w", r.seen.Name, err)
	}
	return r.s.Writer.Again(ctx, r.now)
}

// Verify implements act.Run: there is a newer pipeline, or another attempt.
func (r *run) Verify(ctx context.Context) (string, error) {
	for {
		listing, now, err := r.find(ctx)
		if err == nil {
			if newer, ok := newerThan(r.now, listing.Pipelines); ok {
				return fmt.Sprintf("run again as pipeline %d", newer.Number), nil
			}
			if now.Attempt > r.now.Attempt {
				return fmt.Sprintf("attempt %d was begun", now.Attempt), nil
			}
			if now.State == ci.Pending || now.State == ci.Running || now.Ended.After(r.now.Ended) {
				return "it was begun again", nil
			}
			err = errors.New("it stands as it did")
		}
		select {
		case <-time.After(r.pause):
		case <-ctx.Done():
			return "", fmt.Errorf("cannot show that %s was run again: %w", r.seen.Name, err)
		}
	}
}

// Close implements act.Run.
func (r *run) Close() {}
