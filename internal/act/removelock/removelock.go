// Package removelock is the action "remove-lock": it sets a pid lock aside
// whose holder is dead, or whose pid belongs to a younger process. It renames,
// and never deletes, so that a wrong lock can be put back with one mv.
package removelock

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
	"custos/internal/sys/proc"
)

// Do is the name of the action.
const Do = "remove-lock"

// slack is how much later than its lock a process may seem to have begun and
// still be its holder, as for the probe.
const slack = 2 * time.Second

// Options hold what the action asks of the outside.
type Options struct {
	Now    func() time.Time                    `toml:"-"` // wall clock, for the name of what is set aside; default time.Now
	Holder func(pid int) (proc.Holding, error) `toml:"-"` // default proc.Holder
	// ForeignNamespace is that of the probe: whether pids in locks say nothing here;
	// nil where that is to be found out.
	ForeignNamespace *bool `toml:"-"`
	// Elsewhere says why a pid that nobody has here may be somebody's in another pid
	// namespace; default proc.NewElsewhere, afresh.
	Elsewhere func(pid int) string `toml:"-"`
}

// Action implements act.Action.
type Action struct{ o Options }

// New returns the action.
func New(o Options) *Action {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Holder == nil {
		o.Holder = proc.Holder
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func(pid int) string { return proc.NewElsewhere().Why(pid) }
	}
	return &Action{o: o}
}

// Ability implements act.Action. A lock that is gone is gone: doing it twice
// does no harm.
func (x *Action) Ability() fleet.Ability {
	a := fleet.Ability{Do: Do, Idempotent: true, Touches: []fleet.PartName{fleet.PartLocks}, Deadline: fleet.Duration(10 * time.Second)}
	if foreign := x.o.ForeignNamespace; foreign != nil && *foreign {
		a.Cannot = "the locks are of another pid namespace"
	}
	return a
}

// Commands implements act.Action.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Lock == nil {
		return nil
	}
	path := a.Target.Lock.Path
	return []fleet.Command{{
		Argv: []string{"mv", "-n", path, files.AsideName(path, "TIME")},
		Note: "TIME is that of the act; only while the lock is unchanged and its holder is dead",
	}}
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
	if !lock.Owner.MayTouch() {
		return nil, fmt.Errorf("cannot remove the lock: it is not ours: %w", act.ErrRefused)
	}
	f, info, err := files.OpenRegular(fleet.RawPath(lock.Path), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the lock is gone: %w", act.ErrUnneeded)
	}
	if errors.Is(err, files.ErrNotRegular) {
		return nil, fmt.Errorf("cannot remove the lock: it is no regular file: %w", act.ErrRefused)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock: %w", err)
	}
	r := &run{x: x, lock: *lock, f: f, want: info.Identity}
	if err := r.check(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

type run struct {
	x     *Action
	lock  fleet.Lock
	f     *os.File
	want  files.Identity
	why   string // dead, or reused
	aside string
}

// check holds the lock against what was seen: the file, the pid, the holder.
func (r *run) check() error {
	if r.want != files.Identity(r.lock.File) {
		return fmt.Errorf("cannot remove the lock: it was replaced or written to since it was seen: %w", act.ErrRefused)
	}
	if held, err := files.Locked(r.f); err != nil {
		return fmt.Errorf("cannot tell whether the lock is held: %w", err)
	} else if held {
		return fmt.Errorf("cannot remove the lock: a process holds it by flock: %w", act.ErrRefused)
	}
	return r.holder()
}

// holder reads who is named, and whether that process is gone for good.
func (r *run) holder() error {
	content, err := files.Head(r.f, files.MaxSmall)
	if err != nil {
		return fmt.Errorf("cannot read the lock: %w", err)
	}
	seen, known := r.lock.PID.Get()
	pid, err := files.LockPID(content)
	if err != nil || !known || pid != seen {
		return fmt.Errorf("cannot remove the lock: it does not name the process that was seen: %w", act.ErrRefused)
	}
	h, err := r.x.o.Holder(pid)
	switch {
	case errors.Is(err, proc.ErrGone):
		r.why = fmt.Sprintf("process %d has ended", pid)
		return r.nowhere(pid)
	case err != nil:
		return fmt.Errorf("cannot remove the lock: cannot tell who holds it (%w): %w", err, act.ErrRefused)
	}
	if was, ok := r.lock.Holder.Get(); !ok || was != fleet.HolderReused || !h.Started.After(r.want.Modified().Add(slack)) {
		return fmt.Errorf("cannot remove the lock: process %d lives: %w", pid, act.ErrRefused)
	}
	r.why = fmt.Sprintf("process %d is another one, younger than the lock", pid)
	return r.nowhere(pid)
}

// nowhere checks that who is not here is not in another pid namespace either.
func (r *run) nowhere(pid int) error {
	if r.x.o.ForeignNamespace != nil {
		return nil // a person has said how it is
	}
	if why := r.x.o.Elsewhere(pid); why != "" {
		return fmt.Errorf("cannot remove the lock: %s: %w", why, act.ErrRefused)
	}
	return nil
}

// Do implements act.Run.
func (r *run) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot remove the lock: %w", err)
	}
	aside, err := files.SetAside(fleet.RawPath(r.lock.Path), r.f, r.want, r.x.o.Now(), r.holder)
	if err != nil {
		return fmt.Errorf("cannot remove the lock: %w", err)
	}
	r.aside = aside
	return nil
}

// Verify implements act.Run. A new lock at the old place is somebody's work,
// and no failure of ours.
func (r *run) Verify(context.Context) (string, error) {
	moved, err := files.Lstat(r.aside)
	if err != nil || moved.Identity != r.want {
		return "", fmt.Errorf("cannot find the lock where it was set aside: %s", fleet.Path(r.aside))
	}
	now, err := files.Lstat(fleet.RawPath(r.lock.Path))
	if err == nil && now.Same(r.want) {
		return "", errors.New("cannot show that the lock is gone: it is still there")
	}
	return fmt.Sprintf("lock set aside as %s; %s", fleet.Path(r.aside), r.why), nil
}

// Close implements act.Run.
func (r *run) Close() { r.f.Close() }
