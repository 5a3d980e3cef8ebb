// Package removephase is the action "remove-phase": it sets aside the phase
// file of an issue that is closed. It renames, and never deletes.
package removephase

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// Do is the name of the action.
const Do = "remove-phase"

// Options hold what the action asks of the outside.
type Options struct {
	Now func() time.Time // wall clock, for the name of what is set aside; default time.Now
	// Closed asks the forge anew whether an issue of a project is closed: it may have
	// been opened again since it was looked at.
	Closed func(ctx context.Context, project string, issue int) (bool, error)
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) *Action {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Action{o: o}
}

// Ability implements act.Action. A file that is gone is gone: doing it twice
// does no harm.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartPhases}, Deadline: fleet.Duration(10 * time.Second)}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Phase == nil {
		return nil
	}
	path := a.Target.Phase.Path
	return []fleet.Command{{
		Argv: []string{"mv", "-n", path, files.AsideName(path, "TIME")},
		Note: "TIME is that of the act; only while the file is unchanged",
	}}
}

// Prepare implements act.Action: the same file, the same phase, and an issue
// that is known to be closed.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	ph := a.Target.Phase
	if ph == nil {
		return nil, errors.New("cannot remove the phase file: the target is none")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at the phase file: %w", err)
	}
	if closed, known := ph.Closed.Get(); !ph.Owner.MayTouch() || !finished(ph) && (!known || !closed) {
		return nil, fmt.Errorf("cannot remove the phase file: it is not known to be ours and of a closed issue: %w", act.ErrRefused)
	}
	if !finished(ph) {
		if err := x.stillClosed(ctx, ph); err != nil {
			return nil, err
		}
	}
	f, info, err := files.OpenRegular(fleet.RawPath(ph.Path), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the phase file is gone: %w", act.ErrUnneeded)
	}
	if errors.Is(err, files.ErrNotRegular) {
		return nil, fmt.Errorf("cannot remove the phase file: it is no regular file: %w", act.ErrRefused)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the phase file: %w", err)
	}
	r := &run{now: x.o.Now, phase: *ph, f: f, want: info.Identity}
	if err := r.check(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// finished says whether a file is about no issue, and its session said that it has
// ended: there is nothing that could be opened again.
func finished(ph *fleet.Phase) bool {
	word, known := ph.Phase.Get()
	return ph.Unnumbered && known && (word == "done" || word == "merged" || word == "failed")
}

// stillClosed asks the forge. What cannot be asked leaves the file alone.
func (x *Action) stillClosed(ctx context.Context, ph *fleet.Phase) error {
	issue, known := ph.Issue.Get()
	if !known || x.o.Closed == nil {
		return fmt.Errorf("cannot remove the phase file: its issue cannot be asked after: %w", act.ErrRefused)
	}
	closed, err := x.o.Closed(ctx, ph.Project, issue)
	switch {
	case err != nil:
		return fmt.Errorf("cannot ask the forge after %s: %w", fleet.IssueName(ph.Project, issue), err)
	case !closed:
		return fmt.Errorf("cannot remove the phase file: %s is open again: %w", fleet.IssueName(ph.Project, issue), act.ErrRefused)
	}
	return nil
}

type run struct {
	now   func() time.Time
	phase fleet.Phase
	f     *os.File
	want  files.Identity
	aside string
}

func (r *run) check() error {
	if r.want != files.Identity(r.phase.File) {
		return fmt.Errorf("cannot remove the phase file: it was replaced or written to since it was seen: %w", act.ErrRefused)
	}
	return r.line()
}

// line reads the phase again.
func (r *run) line() error {
	content, err := files.Head(r.f, files.MaxSmall)
	if err != nil {
		return fmt.Errorf("cannot read the phase file: %w", err)
	}
	seen, known := r.phase.Phase.Get()
	word, _, err := files.PhaseLine(content)
	if err != nil || !known || word != seen {
		return fmt.Errorf("cannot remove the phase file: it does not say what was seen: %w", act.ErrRefused)
	}
	return nil
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot remove the phase file: %w", err)
	}
	aside, err := files.SetAside(fleet.RawPath(r.phase.Path), r.f, r.want, r.now(), r.line)
	if err != nil {
		return fmt.Errorf("cannot remove the phase file: %w", err)
	}
	r.aside = aside
	return nil
}

// Verify implements act.Run. A new file at the old place is somebody's work,
// and no failure of ours.
func (r *run) Verify(context.Context) (string, error) {
	moved, err := files.Lstat(r.aside)
	if err != nil || moved.Identity != r.want {
		return "", fmt.Errorf("cannot find the phase file where it was set aside: %s", fleet.Path(r.aside))
	}
	now, err := files.Lstat(fleet.RawPath(r.phase.Path))
	if err == nil && now.Same(r.want) {
		return "", errors.New("cannot show that the phase file is gone: it is still there")
	}
	return "phase file set aside as " + fleet.Path(r.aside), nil
}

// Close implements act.Run.
func (r *run) Close() { r.f.Close() }
