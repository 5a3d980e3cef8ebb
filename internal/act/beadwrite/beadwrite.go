// Package beadwrite holds the actions "close-bead" and "reopen-bead": each looks at
// the bead again, has bd move it, and looks once more.
package beadwrite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/beads"
)

// The names of the actions. Their text is why.
const (
	Close  = "close-bead"
	Reopen = "reopen-bead"
)

// Names lists them.
func Names() []string { return []string{Close, Reopen} }

// mostWhy is in runes: it stands among the arguments of a command.
const mostWhy = 400

// Writer is one tracker; *beads.Writer is one.
type Writer interface {
	Bead(ctx context.Context, id string) (beads.Bead, error)
	Close(ctx context.Context, id, reason string) error
	Reopen(ctx context.Context, id, reason string) error
}

// Options say where it may be written.
type Options struct {
	Trackers map[string][]Writer // by the project of their beads
}

// Action implements act.Action for one of the two.
type Action struct {
	do string
	o  Options
}

// New returns the action of that name.
func New(do string, o Options) *Action { return &Action{do, o} }

// Ability implements act.Action.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: x.do, Idempotent: true, Touches: []fleet.PartName{fleet.PartBeads}, Deadline: fleet.Duration(time.Minute)}
	if len(x.o.Trackers) == 0 {
		a.Cannot, a.Needs = "no tracker of beads is configured", "dirs in the section [beads] in custos.toml"
	}
	return a
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	b := a.Target.Bead
	if b == nil {
		return nil
	}
	argv := []string{"bd", x.verb(), b.ID}
	if why := reason(a); why != "" {
		argv = append(argv, "--reason="+why)
	}
	return []fleet.Command{{Argv: argv, Note: "in the tracker of " + b.Project + "; only while it is as it was seen"}}
}

func (x *Action) verb() string {
	if x.do == Reopen {
		return "reopen"
	}
	return "close"
}

func reason(a fleet.Action) string { return fleet.Line(fleet.Redact(a.Text), mostWhy) }

// Prepare implements act.Action: it looks at the bead again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	b := a.Target.Bead
	if b == nil || fleet.BeadRef(b.ID).Tracker() != fleet.TrackerBeads {
		return nil, fmt.Errorf("cannot %s: the target is no bead", x.do)
	}
	writers := x.o.Trackers[b.Project]
	if len(writers) != 1 {
		return nil, fmt.Errorf("cannot %s: %d trackers of beads are called %s: %w", x.do, len(writers), fleet.Line(b.Project, 80), act.ErrRefused)
	}
	r := &run{x: x, writer: writers[0], id: b.ID, why: reason(a)}
	if err := r.check(ctx, b); err != nil {
		return nil, fmt.Errorf("cannot %s: %w", x.do, err)
	}
	return r, nil
}

// run is one bead that is to be moved.
type run struct {
	x      *Action
	writer Writer
	id     string
	why    string
}

// check: it is as it was seen, and not yet as it is wanted.
func (r *run) check(ctx context.Context, seen *fleet.Bead) error {
	now, err := r.writer.Bead(ctx, r.id)
	switch wanted := r.x.do == Close; {
	case err != nil:
		return err
	case (seen.State == fleet.WorkClosed) == wanted:
		return fmt.Errorf("bead %s was not seen to be otherwise: %w", r.id, act.ErrRefused)
	case isClosed(now) == wanted:
		return fmt.Errorf("bead %s is so already: %w", r.id, act.ErrUnneeded)
	case fleet.Line(now.Assignee, nameRunes) != fleet.Line(seen.Assignee, nameRunes):
		return fmt.Errorf("bead %s was given to another since: %w", r.id, act.ErrRefused)
	}
	return nil
}

// nameRunes is how much of a name is compared.
const nameRunes = 60

// isClosed reads the words that bd has for it.
func isClosed(b beads.Bead) bool { return b.Status == "closed" || b.Status == "tombstone" }

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot %s %s: %w", r.x.do, r.id, err)
	}
	if r.x.do == Reopen {
		return r.writer.Reopen(ctx, r.id, r.why)
	}
	return r.writer.Close(ctx, r.id, r.why)
}

// Verify implements act.Run. bd ends well when it refuses, as it does where other
// beads block this one.
func (r *run) Verify(ctx context.Context) (string, error) {
	now, err := r.writer.Bead(ctx, r.id)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot look at bead %s again: %w", r.id, err)
	case isClosed(now) != (r.x.do == Close):
		return "", errors.New("cannot show that it was done: bd calls it " + fleet.Line(now.Status, 40) + " still")
	}
	return "bd calls it " + fleet.Line(now.Status, 40), nil
}

// Close implements act.Run.
func (r *run) Close() {}
