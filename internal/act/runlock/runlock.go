// Package runlock holds the actions on the pid lock that a factory's own jobs ask for
// before they begin: "hold-lock" takes it with our pid before a run does such a job's
// work, "release-lock" gives it back. A lock of the living is never touched, one of the
// dead is taken as the job would take it, and what is not the very file that we placed
// is never removed.
package runlock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// Options hold what the actions ask of the outside.
type Options struct {
	PID int              // whose the lock is; default our own
	Now func() time.Time // wall clock, for the name of what is set aside; default time.Now
	proc.Holders
}

func (o Options) filled() Options {
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) ability(do string) fleet.Ability {
	return fleet.Ability{Do: do, Idempotent: true, Cannot: o.Cannot(), Touches: []fleet.PartName{fleet.PartRuns, fleet.PartLocks}, Deadline: fleet.Duration(10 * time.Second)}
}

// lockOf returns the lock of a target, and where its mark is.
func lockOf(ctx context.Context, a fleet.Action) (l files.PIDLock, err error) {
	if err := ctx.Err(); err != nil {
		return l, fmt.Errorf("cannot look at the lock: %w", err)
	}
	t := a.Target.Step
	if t == nil || !filepath.IsAbs(fleet.RawPath(t.Run.Dir)) || !filepath.IsAbs(t.Run.LockPath()) {
		return l, errors.New("cannot look at the lock: the target is no run with a lock")
	}
	return files.PIDLock{Path: t.Run.LockPath(), Mark: t.Run.File(fleet.RunLockFile)}, nil
}

// old is a lock that is to go, held open as it was checked.
type old struct {
	f    *os.File
	want files.Identity
}

// open takes hold of what is at the lock's place; nil when there is nothing.
func open(path string) (*old, error) {
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, files.ErrNotRegular):
		return nil, agentrun.Refused("%s is no regular file", fleet.Path(path))
	case err != nil:
		return nil, fmt.Errorf("cannot open the lock: %w", err)
	}
	return &old{f, info.Identity}, nil
}

func (o *old) discard(path string, at time.Time, check func() error) error {
	err := files.Discard(path, o.f, o.want, at, check)
	if errors.Is(err, files.ErrChanged) {
		return agentrun.Refused("%v", err)
	}
	return err
}

func (o *old) close() {
	if o != nil {
		o.f.Close()
	}
}

var _, _ act.Action = (*Hold)(nil), (*Release)(nil)
