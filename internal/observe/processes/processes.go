// Package processes is the probe of the process table.
package processes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/proc"
)

// Options is the section [processes] of custos.toml.
type Options struct {
	Every string `toml:"every" is:"duration 1ms.."` // between two looks; "30s"

	Reader Reader `toml:"-"` // the table; one that is shared with other probes, or a fresh one
	Boot   string `toml:"-"` // boot id, written into every identity; may be empty
}

// Reader is what the probe needs of proc.Reader.
type Reader interface {
	Table(ctx context.Context) ([]proc.Info, error)
}

// deadline of a look. 700 processes take 11 to 35 ms; a loaded machine is slow.
const deadline = 5 * time.Second

// Probe looks at the process table.
type Probe struct {
	reader Reader
	boot   string
	spec   observe.Spec

	mu    sync.Mutex
	shown map[proc.ID]shown
	table []proc.Info // what was told last
	told  []fleet.Process
}

// shown is a command line, and what of it may be shown. Redacting is by far the
// most costly part of a look, and command lines hardly ever change.
type shown struct {
	raw  []string
	safe []string
}

// New returns the probe, or what is wrong with the options.
func New(o Options) (*Probe, error) {
	every := 30 * time.Second
	if o.Every != "" {
		d, err := fleet.ParseDuration(o.Every)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("cannot set up probe processes: every: %q is no duration above nothing", o.Every)
		}
		every = d
	}
	if o.Reader == nil {
		o.Reader = proc.NewReader(proc.TableOptions{})
	}
	return &Probe{reader: o.Reader, boot: o.Boot, shown: map[proc.ID]shown{},
		spec: observe.Spec{Name: "processes", Part: fleet.PartProcesses, Every: every, Deadline: deadline}}, nil
}

// Spec says what the probe fills and how often.
func (p *Probe) Spec() observe.Spec { return p.spec }

// Calm is always so: who asks for a process asks Processes, and the end of one that matters is told.
func (p *Probe) Calm() bool { return true }

// Look reads the process table.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	all, err := p.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return func(s *fleet.Snapshot) { s.Processes.Value = all }, nil
}

// Processes returns the table in the words of the fleet, by rising pid: paths
// safe to show, secrets redacted. Other probes that judge processes use it, so
// that all of them mean the same identities. It is safe for concurrent use. The slice is
// shared: the caller must not change it.
func (p *Probe) Processes(ctx context.Context) ([]fleet.Process, error) {
	table, err := p.reader.Table(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look at processes: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(table) > 0 && len(table) == len(p.table) && &table[0] == &p.table[0] {
		return p.told, nil
	}
	out := make([]fleet.Process, len(table))
	kept := make(map[proc.ID]shown, len(table))
	for i := range table {
		out[i] = p.process(&table[i], kept)
	}
	p.shown, p.table, p.told = kept, table, out
	return out, nil
}

func (p *Probe) process(i *proc.Info, kept map[proc.ID]shown) fleet.Process {
	return fleet.Process{
		ID:   fleet.ProcessID{PID: i.ID.PID, Start: i.ID.Start, Boot: p.boot},
		PPID: i.PPID, PGID: i.PGID, SID: i.SID, TTY: i.TTY, UID: i.UID,
		State: i.State, Name: fleet.Line(i.Comm, 64),
		Exe: path(i.Exe, i.Unread), Args: p.args(i, kept), CWD: path(i.CWD, ""),
		Age: fleet.Duration(i.Age), CPU: cpu(i), CPUTime: fleet.Duration(i.CPUTime),
		RSS: i.RSS, Cgroup: fleet.Path(i.Cgroup),
	}
}

func (p *Probe) args(i *proc.Info, kept map[proc.ID]shown) []string {
	if len(i.Args) == 0 {
		return nil
	}
	s, ok := p.shown[i.ID]
	if !ok || !slices.Equal(s.raw, i.Args) {
		s = shown{raw: i.Args, safe: fleet.RedactArgs(i.Args)}
	}
	kept[i.ID] = s
	return s.safe
}

// path is known and empty for what has none: a kernel thread.
func path(l proc.Link, unread string) fleet.Leaf[string] {
	if l.Err != "" {
		return fleet.Unknown[string](l.Err)
	}
	if l.Path == "" && unread != "" {
		return fleet.Unknown[string](unread)
	}
	return fleet.Known(fleet.Path(l.Path))
}

func cpu(i *proc.Info) fleet.Leaf[float64] {
	if !i.HasCPU {
		return fleet.Unknown[float64]("seen for the first time")
	}
	return fleet.Known(i.CPU)
}
