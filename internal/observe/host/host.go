// Package host is the probe of the machine itself: memory, swap, load,
// pressure, file systems, kills by the out-of-memory killer, clocks.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"custos/internal/fleet"
	"custos/internal/observe"
	clocks "custos/internal/sys/host"
)

// Options is the section [host] of custos.toml.
type Options struct {
	Every  string `toml:"every" is:"duration 1ms.."` // between two looks; "15s"
	Mounts Mounts `toml:"mounts"`                    // [host.mounts]
	// MountDeadline is how long one file system may take to answer; "2s". One that
	// does not answer is unknown, and is not asked again until it has.
	MountDeadline string `toml:"mount_deadline" is:"duration 1ms.."`

	// Folders are those that Custos itself writes to: the file systems that hold them
	// are shown, of whatever type they are, unless they are excluded by name.
	Folders []string `toml:"-"`

	Proc   string                             `toml:"-"` // the proc file system; "/proc"
	Clock  func() clocks.Moment               `toml:"-"` // the machine's clock
	Statfs func(string, *unix.Statfs_t) error `toml:"-"` // unix.Statfs
	Name   string                             `toml:"-"` // os.Hostname
	CPUs   int                                `toml:"-"` // runtime.NumCPU
}

// Mounts chooses file systems by mount point, with the wildcards of path.Match.
type Mounts struct {
	// Include, when given, replaces the choice by type: only these are shown.
	Include []string `toml:"include" is:"pattern"`
	// Exclude is left out of whatever was chosen.
	Exclude []string `toml:"exclude" is:"pattern"`
}

// deadline of a look: reading /proc takes 2 ms, and the mounts have their own.
const deadline = 10 * time.Second

// Probe looks at the machine.
type Probe struct {
	o      Options
	spec   observe.Spec
	proc   procfs.FS
	mounts *mounts
	before before
}

// before is what the previous look left for comparison.
type before struct {
	seen   bool
	moment clocks.Moment
	kills  int64
	known  bool // kills is
}

// New returns the probe, or what is wrong with the options.
func New(o Options) (*Probe, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("cannot set up probe host: %w", err)
	}
	every, err := observe.Interval("every", o.Every, 15*time.Second)
	if err != nil {
		return nil, fmt.Errorf("cannot set up probe host: %w", err)
	}
	wait, err := observe.Interval("mount_deadline", o.MountDeadline, 2*time.Second)
	if err != nil {
		return nil, fmt.Errorf("cannot set up probe host: %w", err)
	}
	proc, err := procfs.NewFS(o.Proc)
	if err != nil {
		return nil, fmt.Errorf("cannot set up probe host: %w", err)
	}
	return &Probe{o: o, proc: proc, mounts: newMounts(o, wait),
		spec: observe.Spec{Name: "host", Part: fleet.PartHost, Every: every, Deadline: deadline + wait}}, nil
}

func (o *Options) fill() error {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.Clock == nil {
		clock, _ := clocks.NewClock() // without a boot id it tells the time all the same
		o.Clock = clock.Now
	}
	if o.Statfs == nil {
		o.Statfs = unix.Statfs
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	if o.CPUs == 0 {
		o.CPUs = runtime.NumCPU()
	}
	for _, pattern := range append(append([]string{}, o.Mounts.Include...), o.Mounts.Exclude...) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("mounts: %q: %w", pattern, err)
		}
	}
	return nil
}

// Spec says what the probe fills and how often.
func (p *Probe) Spec() observe.Spec { return p.spec }

// Look reads the machine. What one file of /proc does not tell is unknown, with
// the reason; it fails only when none of them can be read. Looks do not overlap.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot look at host: %w", err)
	}
	now := p.o.Clock()
	h := fleet.Host{Name: fleet.Line(p.o.Name, 100), CPUs: p.o.CPUs}
	errs := []error{p.memory(&h), p.load(&h)}
	h.Pressure = fleet.Pressure{CPU: p.pressure("cpu"), Memory: p.pressure("memory"), IO: p.pressure("io")}
	h.Uptime = fleet.Known(fleet.Duration(now.Up))
	p.compare(&h, now)
	var err error
	if h.Mounts, err = p.mounts.look(ctx, p.proc, now.Up); err != nil {
		errs = append(errs, err)
	}
	put := func(s *fleet.Snapshot) { s.Host.Value = h }
	if errors.Join(errs...) == nil {
		return put, nil
	}
	if all(errs) {
		return nil, fmt.Errorf("cannot look at host: %w", errors.Join(errs...))
	}
	return put, nil // what is missing says so itself
}

func all(errs []error) bool {
	for _, err := range errs {
		if err == nil {
			return false
		}
	}
	return true
}

func (p *Probe) memory(h *fleet.Host) error {
	m, err := p.proc.Meminfo()
	if err != nil {
		err = fmt.Errorf("cannot read memory: %w", err)
		why := fleet.Line(err.Error(), 200)
		h.Memory = fleet.Memory{Total: fleet.Unknown[int64](why), Available: fleet.Unknown[int64](why)}
		h.Swap = fleet.Swap{Total: fleet.Unknown[int64](why), Used: fleet.Unknown[int64](why)}
		return err
	}
	h.Memory = fleet.Memory{Total: amount(m.MemTotalBytes, "MemTotal"), Available: amount(m.MemAvailableBytes, "MemAvailable")}
	h.Swap = fleet.Swap{Total: amount(m.SwapTotalBytes, "SwapTotal"), Used: fleet.Unknown[int64]("/proc/meminfo has no swap")}
	if m.SwapTotalBytes != nil && m.SwapFreeBytes != nil {
		h.Swap.Used = fleet.Known(int64(*m.SwapTotalBytes) - int64(*m.SwapFreeBytes))
	}
	return nil
}

func amount(bytes *uint64, key string) fleet.Leaf[int64] {
	if bytes == nil {
		return fleet.Unknown[int64]("/proc/meminfo has no " + key)
	}
	return fleet.Known(int64(*bytes))
}

func (p *Probe) load(h *fleet.Host) error {
	l, err := p.proc.LoadAvg()
	if err != nil {
		err = fmt.Errorf("cannot read load: %w", err)
		no := fleet.Unknown[float64](fleet.Line(err.Error(), 200))
		h.Load = fleet.Load{One: no, Five: no, Fifteen: no}
		return err
	}
	h.Load = fleet.Load{One: fleet.Known(l.Load1), Five: fleet.Known(l.Load5), Fifteen: fleet.Known(l.Load15)}
	return nil
}

func (p *Probe) pressure(resource string) fleet.Leaf[float64] {
	psi, err := p.proc.PSIStatsForResource(resource)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.EOPNOTSUPP):
		return fleet.Unknown[float64]("this kernel does not measure pressure")
	case err != nil:
		return fleet.Unknown[float64](fleet.Line(err.Error(), 200))
	case psi.Some == nil:
		return fleet.Unknown[float64]("no pressure is told for " + resource)
	}
	return fleet.Known(psi.Some.Avg10)
}
