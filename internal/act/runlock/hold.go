package runlock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"custos/internal/act"
	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// DoHold is the name of the action that takes a lock.
const DoHold = "hold-lock"

// Hold implements act.Action.
type Hold struct{ o Options }

// NewHold returns the action that takes the lock of a run.
func NewHold(o Options) *Hold { return &Hold{o.filled()} }

// Ability implements act.Action.
func (x *Hold) Ability() fleet.Ability { return x.o.ability(DoHold) }

// Commands implements act.Action.
func (x *Hold) Commands(a fleet.Action) []fleet.Command {
	l, err := lockOf(context.Background(), a)
	if err != nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"ln", "<file with the pid of custos>", fleet.Path(l.Path)},
		Note: "only where there is no lock, or its holder is dead"}}
}

// Prepare implements act.Action.
func (x *Hold) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	l, err := lockOf(ctx, a)
	if err != nil {
		return nil, err
	}
	pid, err := l.Ours()
	if err == nil && pid == x.o.PID {
		return nil, agentrun.Unneeded("it holds %s already", fleet.Path(l.Path))
	}
	if err != nil {
		return nil, err
	}
	was, err := open(l.Path)
	if err != nil {
		return nil, err
	}
	r := &holding{x: x, l: l, dir: fleet.RawPath(a.Target.Step.Run.Dir), was: was, left: pid}
	if err := r.dead(); err != nil {
		was.close()
		return nil, err
	}
	return r, nil
}

// holding is one lock that is to be taken.
type holding struct {
	x    *Hold
	l    files.PIDLock
	dir  string // of the run (raw)
	was  *old   // what the dead left; nil: nothing
	left int    // pid of the Custos that placed it for this very run and has ended; 0: it is another's
	why  string
}

// dead refuses a lock whose holder lives, or may live.
func (r *holding) dead() error {
	if r.was == nil {
		return nil
	}
	content, err := files.Head(r.was.f, files.MaxSmall)
	if err != nil {
		return fmt.Errorf("cannot read the lock: %w", err)
	}
	pid, err := files.LockPID(content)
	if err != nil {
		return agentrun.Refused("%v", err)
	}
	r.why = "; process " + strconv.Itoa(pid) + ", which had it, has ended"
	if pid == r.left {
		return nil // there is one writer, and that is us
	}
	if _, err := r.x.o.Gone(pid, r.was.want.Modified(), true); err != nil {
		return agentrun.Refused("%w", err)
	}
	return nil
}

// Do implements act.Run.
func (r *holding) Do(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot take the lock: %w", err)
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the run: %w", err)
	}
	if r.was != nil {
		if err := r.was.discard(r.l.Path, r.x.o.Now(), r.dead); err != nil {
			return fmt.Errorf("cannot take the lock: %w", err)
		}
	}
	err := r.l.Place(r.x.o.PID)
	if errors.Is(err, fs.ErrExist) {
		return agentrun.Refused("another process took %s just now", fleet.Path(r.l.Path))
	}
	if err != nil {
		return fmt.Errorf("cannot take the lock: %w", err)
	}
	return files.SyncDir(filepath.Dir(r.l.Path))
}

// Verify implements act.Run.
func (r *holding) Verify(context.Context) (string, error) {
	pid, err := r.l.Ours()
	if err != nil {
		return "", err
	}
	if pid != r.x.o.PID {
		return "", errors.New("cannot show that the lock is held: another one is there, or none")
	}
	return fmt.Sprintf("%s held by process %d%s", fleet.Path(r.l.Path), pid, r.why), nil
}

// Close implements act.Run.
func (r *holding) Close() { r.was.close() }
