// Package removelock is the action "remove-lock": it sets a pid lock aside
// whose holder is dead, or whose pid belongs to a younger process. It renames,
// and never deletes, so that a wrong lock can be put back with one mv.
package removelock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/act/setaside"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// Do is the name of the action.
const Do = "remove-lock"

// Options hold what the action asks of the outside.
type Options struct {
	Now          func() time.Time `toml:"-"` // wall clock, for the name of what is set aside; default time.Now
	proc.Holders `toml:"-"`
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

// Ability implements act.Action. A lock that is gone is gone: doing it twice
// does no harm.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Do, Idempotent: true, Cannot: x.o.Cannot(), Touches: []fleet.PartName{fleet.PartLocks}, Deadline: fleet.Duration(10 * time.Second)}
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Lock == nil {
		return nil
	}
	return setaside.Commands(a.Target.Lock.Path, "the lock is unchanged and its holder is dead")
}

// Prepare implements act.Action: it reads the lock and its holder again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	lock := a.Target.Lock
	if lock == nil {
		return nil, errors.New("cannot remove the lock: the target is no lock")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at the lock: %w", err)
	}
	r := &run{x: x, lock: *lock, File: setaside.File{What: "lock", Path: lock.Path, Now: x.o.Now}}
	r.Still = r.holder
	if !lock.Owner.MayTouch() {
		return nil, r.Refused("it is not ours")
	}
	if err := r.Open(lock.File); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

type run struct {
	setaside.File
	x    *Action
	lock fleet.Lock
	why  string // dead, or reused
}

// check holds the lock against what was seen: no process holds it, and the holder.
func (r *run) check() error {
	if held, err := files.Locked(r.File.File); err != nil {
		return fmt.Errorf("cannot tell whether the lock is held: %w", err)
	} else if held {
		return r.Refused("a process holds it by flock")
	}
	return r.holder()
}

// holder reads who is named, and whether that process is gone for good.
func (r *run) holder() error {
	content, err := files.Head(r.File.File, files.MaxSmall)
	if err != nil {
		return fmt.Errorf("cannot read the lock: %w", err)
	}
	seen, known := r.lock.PID.Get()
	pid, err := files.LockPID(content)
	if err != nil || !known || pid != seen {
		return r.Refused("it does not name the process that was seen")
	}
	was, known := r.lock.Holder.Get()
	if r.why, err = r.x.o.Gone(pid, r.Want.Modified(), known && was == fleet.HolderReused); err != nil {
		return r.Refused("%w", err)
	}
	return nil
}

// Verify implements act.Run.
func (r *run) Verify(ctx context.Context) (string, error) {
	effect, err := r.File.Verify(ctx)
	if err != nil {
		return "", err
	}
	return effect + "; " + r.why, nil
}
