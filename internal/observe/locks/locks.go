// Package locks is the probe of pid locks: small files in configured places
// that name the process which holds them. It reads them, asks the kernel who
// has the pid now, and says alive, dead, reused or unknown. It takes no lock
// and changes nothing.
package locks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/files"
	"custos/internal/sys/proc"
)

// most is how many locks one look takes in of each glob (of all globs together
// files.Globs times as many); when there are more, the part is cut.
const most = 2000

// slack is how much later than its lock a process may seem to have begun and
// still be its holder: times of files and starts of processes are rounded.
const slack = 2 * time.Second

// Options is the section [locks] of custos.toml.
type Options struct {
	// Globs are the places of pid locks. Default: none, and the part is absent.
	Globs []string `toml:"globs" is:"glob"`
	// WaitedFor are globs of base names: locks of roles that work waits for.
	WaitedFor []string `toml:"waited_for" is:"pattern"`
	// ForeignNamespace says whether the locks are written by processes of another
	// pid namespace (a container that shares the folder): their holders are
	// then unknown, for a pid says nothing here. Default: they may be, where we are
	// in a pid namespace of our own, and where a process of an inner one has the pid.
	ForeignNamespace *bool `toml:"foreign_namespace"`
	// Every is the time between two looks. Default "30s".
	Every string `toml:"every" is:"duration 1ms.."`

	Home   string                                          `toml:"-"` // for ~/ in globs
	Now    func() time.Time                                `toml:"-"` // wall clock; default time.Now
	Holder func(pid int) (proc.Holding, error)             `toml:"-"` // default proc.Holder
	Offset func() (wallMinusBoot time.Duration, err error) `toml:"-"` // default proc.ClockOffset
	// Elsewhere returns, for one look, why a pid that nobody has here may be somebody's
	// in another pid namespace; default proc.NewElsewhere.
	Elsewhere func() func(pid int) string `toml:"-"`
}

// Probe fills the part "locks".
type Probe struct {
	o      Options
	every  time.Duration
	follow *files.Follower

	mu    sync.Mutex
	first *time.Duration // clock offset at the first look
	setAt time.Time      // when a look last found that the clock had been set
}

// New checks the options.
func New(o Options) (*Probe, error) {
	patterns, err := files.CompileAll(o.Globs, o.Home)
	for _, g := range o.WaitedFor {
		if _, bad := filepath.Match(g, ""); bad != nil {
			err = errors.Join(err, fmt.Errorf("cannot use glob %q: %w", g, bad))
		}
	}
	every := 30 * time.Second
	if o.Every != "" {
		var bad error
		if every, bad = fleet.ParseDuration(o.Every); bad != nil || every <= 0 {
			err = errors.Join(err, fmt.Errorf("cannot use every = %q: want a duration such as 30s", o.Every))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for locks: %w", err)
	}
	return &Probe{o: o.withDefaults(), every: every, follow: files.Follow(patterns, most)}, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Holder == nil {
		o.Holder = proc.Holder
	}
	if o.Offset == nil {
		o.Offset = proc.ClockOffset
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func() func(int) string { return proc.NewElsewhere().Why }
	}
	return o
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "locks", Part: fleet.PartLocks, Every: p.every, Deadline: 10 * time.Second}
}

// Look implements observe.Probe. A lock that goes away meanwhile is left out.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if p.follow.Len() == 0 {
		return nil, fmt.Errorf("cannot look for locks: no globs are configured: %w", observe.ErrAbsent)
	}
	p.watchClock()
	paths, cut, err := p.follow.Find(ctx)
	locks := make([]fleet.Lock, 0, len(paths))
	elsewhere := p.o.Elsewhere()
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot look at all locks: %w", ctx.Err())
		}
		if lock, ok := p.read(path, elsewhere); ok {
			locks = append(locks, lock)
		}
	}
	return func(s *fleet.Snapshot) { s.Locks.Value = append(s.Locks.Value, locks...) }, observe.WithCut(cut, err)
}

// watchClock notices that the wall clock was set since the first look: locks
// written before that cannot be compared with starts of processes.
func (p *Probe) watchClock() {
	offset, err := p.o.Offset()
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = &offset
	}
	if moved := (offset - *p.first).Abs(); moved > slack/2 {
		p.first, p.setAt = &offset, p.o.Now()
	}
}

// read looks at one lock; false when it is not there any more.
func (p *Probe) read(path string, elsewhere func(pid int) string) (fleet.Lock, bool) {
	lock := fleet.Lock{Path: fleet.Path(path), Owner: fleet.OwnerConfigured, WaitedFor: p.waitedFor(path)}
	f, info, err := files.OpenRegular(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return lock, false
	}
	if err != nil {
		why := fleet.Line("cannot open it: "+err.Error(), 200)
		lock.PID, lock.Holder = fleet.Unknown[int](why), fleet.Unknown[fleet.Holder](why)
		lock.Age = fleet.Unknown[fleet.Duration](why)
		return lock, true
	}
	defer f.Close()
	lock.File = fleet.FileID(info.Identity)
	lock.Age = age(p.o.Now(), info.Modified())
	content, err := files.Head(f, files.MaxSmall)
	pid := 0
	if err == nil {
		pid, err = files.LockPID(content)
	}
	if err != nil {
		why := fleet.Line(fleet.Redact(err.Error()), 200)
		lock.PID, lock.Holder = fleet.Unknown[int](why), fleet.Unknown[fleet.Holder](why)
		return lock, true
	}
	lock.PID = fleet.Known(pid)
	lock.Holder, lock.Name = p.holder(pid, info.Modified(), elsewhere)
	return lock, true
}

// holder says what became of the process, and its name where it lives.
func (p *Probe) holder(pid int, written time.Time, elsewhere func(pid int) string) (fleet.Leaf[fleet.Holder], string) {
	foreign := p.o.ForeignNamespace
	if foreign != nil && *foreign {
		return fleet.Unknown[fleet.Holder]("its pid is of another pid namespace"), ""
	}
	h, err := p.o.Holder(pid)
	if errors.Is(err, proc.ErrGone) {
		return p.gone(pid, fleet.HolderDead, elsewhere), ""
	}
	if err != nil {
		return fleet.Unknown[fleet.Holder](fleet.Line(err.Error(), 200)), ""
	}
	name := fleet.Line(h.Name, 40)
	if !h.Started.After(written.Add(slack)) {
		return fleet.Known(fleet.HolderAlive), name
	}
	if p.setSince(written) {
		return fleet.Unknown[fleet.Holder]("the clock was set since the lock was written"), name
	}
	return p.gone(pid, fleet.HolderReused, elsewhere), name
}

// gone is a holder that is not here, unless it may be elsewhere.
func (p *Probe) gone(pid int, how fleet.Holder, elsewhere func(pid int) string) fleet.Leaf[fleet.Holder] {
	if p.o.ForeignNamespace == nil {
		if why := elsewhere(pid); why != "" {
			return fleet.Unknown[fleet.Holder](why)
		}
	}
	return fleet.Known(how)
}

func (p *Probe) setSince(written time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return written.Before(p.setAt)
}

func (p *Probe) waitedFor(path string) bool {
	for _, g := range p.o.WaitedFor {
		if ok, err := filepath.Match(g, filepath.Base(path)); ok && err == nil {
			return true
		}
	}
	return false
}

// age is unknown for a file whose time lies in the future.
func age(now, then time.Time) fleet.Leaf[fleet.Duration] {
	d, err := files.Age(now, then)
	if err != nil {
		return fleet.Unknown[fleet.Duration](err.Error())
	}
	return fleet.Known(fleet.Duration(d))
}
