// Package removephase is the action "remove-phase": it sets aside the phase
// file of an issue that is closed. It renames, and never deletes.
package removephase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/act/setaside"
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
	return setaside.Commands(a.Target.Phase.Path, "the file is unchanged")
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
	r := &run{phase: *ph, File: setaside.File{What: "phase file", Path: ph.Path, Now: x.o.Now}}
	r.Still = r.line
	if closed, known := ph.Closed.Get(); !ph.Owner.MayTouch() || !finished(ph) && (!known || !closed) {
		return nil, r.Refused("it is not known to be ours and of a closed issue")
	}
	if !finished(ph) {
		if err := x.stillClosed(ctx, ph); err != nil {
			return nil, err
		}
	}
	if err := r.Open(ph.File); err != nil {
		return nil, err
	}
	if err := r.line(); err != nil {
		r.Close()
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
	setaside.File
	phase fleet.Phase
}

// line reads the phase again.
func (r *run) line() error {
	content, err := files.Head(r.File.File, files.MaxSmall)
	if err != nil {
		return fmt.Errorf("cannot read the phase file: %w", err)
	}
	seen, known := r.phase.Phase.Get()
	word, _, err := files.PhaseLine(content)
	if err != nil || !known || word != seen {
		return r.Refused("it does not say what was seen")
	}
	return nil
}
