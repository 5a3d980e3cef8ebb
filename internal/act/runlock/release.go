package runlock

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// DoRelease is the name of the action that gives a lock back.
const DoRelease = "release-lock"

// Release implements act.Action.
type Release struct{ o Options }

// NewRelease returns the action that removes the lock of a run that is over.
func NewRelease(o Options) *Release { return &Release{o.filled()} }

// Ability implements act.Action.
func (x *Release) Ability() fleet.Ability { return x.o.ability(DoRelease) }

// Commands implements act.Action.
func (x *Release) Commands(a fleet.Action) []fleet.Command {
	l, err := lockOf(context.Background(), a)
	if err != nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"rm", fleet.Path(l.Path)}, Note: "only while it is the very file that this run placed"}}
}

// Prepare implements act.Action.
func (x *Release) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	l, err := lockOf(ctx, a)
	if err != nil {
		return nil, err
	}
	r := &releasing{x: x, l: l}
	if err := r.ours(); err != nil {
		return nil, err
	}
	if r.was, err = open(l.Path); err == nil && r.was == nil {
		err = agentrun.Unneeded("the lock is gone")
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// releasing is one lock that is to be given back.
type releasing struct {
	x   *Release
	l   files.PIDLock
	was *old
}

func (r *releasing) ours() error {
	pid, err := r.l.Ours()
	if err == nil && pid == 0 {
		return agentrun.Unneeded("there is no lock of this run at %s", fleet.Path(r.l.Path))
	}
	return err
}

// Do implements act.Run. What was opened is the file that was ours when it was looked
// at a moment ago, or it is refused.
func (r *releasing) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot release the lock: %w", err)
	}
	if err := r.ours(); err != nil {
		return fmt.Errorf("cannot release the lock: %w", err)
	}
	if err := r.was.discard(r.l.Path, r.x.o.Now(), nil); err != nil {
		return fmt.Errorf("cannot release the lock: %w", err)
	}
	return nil
}

// Verify implements act.Run.
func (r *releasing) Verify(context.Context) (string, error) {
	pid, err := r.l.Ours()
	if err == nil && pid != 0 {
		err = errors.New("cannot show that the lock is released: it is still there")
	}
	return fleet.Path(r.l.Path) + " removed", err
}

// Close implements act.Run.
func (r *releasing) Close() { r.was.close() }
