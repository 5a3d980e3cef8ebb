package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// held says whether the factory's own lock is the one that was placed for this run.
func (p *Probe) held(r fleet.Run) fleet.Leaf[fleet.Hold] {
	if r.Lock == "" {
		return fleet.Known(fleet.Hold(""))
	}
	pid, err := files.PIDLock{Path: r.LockPath(), Mark: r.File(fleet.RunLockFile)}.Ours()
	switch {
	case err != nil:
		return fleet.Unknown[fleet.Hold](fleet.Line(err.Error(), 200))
	case pid == 0:
		return fleet.Known(fleet.Hold(""))
	case pid == os.Getpid():
		return fleet.Known(fleet.HoldOurs)
	}
	return fleet.Known(fleet.HoldLeft)
}

// locked says who else holds the factory's own lock, alive. What a former Custos of
// this ledger placed is nobody's: that one has ended, or it would still be the writer.
func (p *Probe) locked(r fleet.Run, held fleet.Leaf[fleet.Hold]) fleet.Leaf[string] {
	path := r.LockPath()
	if path == "" || held.Or("") != "" {
		return fleet.Known("")
	}
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return fleet.Known("")
	}
	if err != nil {
		return fleet.Unknown[string](fleet.Line("cannot read the lock: "+err.Error(), 200))
	}
	defer f.Close()
	content, err := files.Head(f, files.MaxSmall)
	pid := 0
	if err == nil {
		pid, err = files.LockPID(content)
	}
	if err != nil {
		return fleet.Unknown[string](fleet.Redact(fleet.Line(err.Error(), 200)))
	}
	return p.holder(pid, info.Modified())
}

// holder says whether the process that a lock names is the one that wrote it.
func (p *Probe) holder(pid int, written time.Time) fleet.Leaf[string] {
	foreign := p.o.ForeignNamespace
	if foreign != nil && *foreign {
		return fleet.Unknown[string]("the lock's pid is of another pid namespace")
	}
	h, err := p.o.Holder(pid)
	switch {
	case errors.Is(err, proc.ErrGone):
		return p.gone(pid)
	case err != nil:
		return fleet.Unknown[string](fleet.Line(err.Error(), 200))
	case !h.Started.After(written.Add(slack)):
		return fleet.Known(fmt.Sprintf("process %d (%s)", pid, fleet.Line(h.Name, 40)))
	case p.setSince(written):
		return fleet.Unknown[string]("the clock was set since the lock was written")
	}
	return p.gone(pid) // its pid was given to another process
}

// gone is a holder that is not here, unless it may be elsewhere.
func (p *Probe) gone(pid int) fleet.Leaf[string] {
	if p.o.ForeignNamespace == nil {
		if why := p.o.Elsewhere(pid); why != "" {
			return fleet.Unknown[string](why)
		}
	}
	return fleet.Known("")
}
