// Package agents is the probe of agents: every agent CLI that runs, in tmux or
// not, whoever started it, with its state and where that is known from; and
// those that have ended and left their pane.
//
// It combines the process table, panes, screens, registry files and records that
// it is handed; what any of it means is judged by package agent. Between looks
// it remembers what moved when, which is all that progress is told from.
package agents

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/session"
)

// Options is what the probe is made of.
type Options struct {
	// Adopt are globs of working folders (* crosses slashes, ~ is HOME) whose
	// agents Custos may act on. None by default: all agents are view-only.
	Adopt []string `toml:"adopt"`
	// Registries are folders of registry files besides those below HOME.
	Registries []string `toml:"registries"`
	// Dwell is for how long nothing may move before an agent counts as making no
	// progress, as text; "15m" by default.
	Dwell string `toml:"dwell"`

	// Kinds are the kinds looked for; needed.
	Kinds *agent.Kinds `toml:"-"`
	// Procs returns the process table; needed.
	Procs func(context.Context) ([]fleet.Process, error) `toml:"-"`
	// Panes, Screens and Recorded may be nil: then nothing of that sort is seen.
	Panes    func(context.Context) ([]fleet.Pane, error)                                 `toml:"-"`
	Screens  func(context.Context, []fleet.PaneID, int) (map[fleet.PaneID]string, error) `toml:"-"`
	Recorded func(context.Context) ([]fleet.AgentRecord, error)                          `toml:"-"`
	// Now is the clock; needed.
	Now func() fleet.Instant `toml:"-"`
	// Home is where registry files are looked for; empty for nowhere.
	Home string `toml:"-"`
	// CPUTimes reads the CPU time of processes now, for the first look; nil reads
	// Proc. Pause waits between the two samples; nil really waits.
	CPUTimes func([]fleet.ProcessID) map[fleet.ProcessID]fleet.Duration `toml:"-"`
	Pause    func(context.Context, time.Duration)                       `toml:"-"`
	Proc     string                                                     `toml:"-"` // empty is /proc
}

// Probe fills the part agents.
type Probe struct {
	o     Options
	dwell time.Duration
	adopt []agent.Glob

	mu      sync.Mutex // one look at a time
	looked  bool
	memory  map[fleet.ProcessID]*memory
	screens map[fleet.PaneID]shot
}

// New makes the probe. It fails when a needed option is missing or a text cannot
// be read.
func New(o Options) (*Probe, error) {
	if o.Kinds == nil || o.Procs == nil || o.Now == nil {
		return nil, errors.New("cannot look at agents: Kinds, Procs and Now are needed")
	}
	p := &Probe{o: o, dwell: agent.DefaultDwell, memory: map[fleet.ProcessID]*memory{}, screens: map[fleet.PaneID]shot{}}
	if o.Dwell != "" {
		d, err := time.ParseDuration(o.Dwell)
		if err != nil || d < time.Minute {
			return nil, fmt.Errorf("cannot use agents dwell %q: want a duration of at least \"1m\"", o.Dwell)
		}
		p.dwell = d
	}
	for _, text := range o.Adopt {
		if rest, ok := strings.CutPrefix(text, "~"); ok {
			text = o.Home + rest
		}
		if !filepath.IsAbs(text) {
			return nil, fmt.Errorf("cannot adopt %q: want an absolute path or one that begins with ~", text)
		}
		var g agent.Glob
		if err := g.UnmarshalText([]byte(filepath.Clean(text))); err != nil {
			return nil, fmt.Errorf("cannot adopt %q: %w", text, err)
		}
		p.adopt = append(p.adopt, g)
	}
	p.defaults()
	return p, nil
}

func (p *Probe) defaults() {
	if p.o.Proc == "" {
		p.o.Proc = "/proc"
	}
	if p.o.CPUTimes == nil {
		p.o.CPUTimes = func(ids []fleet.ProcessID) map[fleet.ProcessID]fleet.Duration { return cpuTimes(p.o.Proc, ids) }
	}
	if p.o.Pause == nil {
		p.o.Pause = func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		}
	}
}

// Spec is the probe's clock.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "agents", Part: fleet.PartAgents, Every: 10 * time.Second, Deadline: 8 * time.Second}
}

// look is one look in the making.
type look struct {
	*Probe
	now      fleet.Instant
	procs    map[int]fleet.Process
	children map[int][]int
	panes    []fleet.Pane
	blind    string // why some panes were not seen; "" when all were
	records  []fleet.AgentRecord
	screened map[fleet.PaneID]string
	sampled  map[fleet.ProcessID]fleet.Duration
	registry map[fleet.ProcessID]agent.Registry
	runs     []run
}

// run is an agent with the pane it is in.
type run struct {
	agent.Run
	kind agent.Kind
	pane *fleet.Pane
}

// Look sees all agents. Without the process table there is nothing to say; all
// else may be missing, and what it would have told is unknown.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	procs, err := p.o.Procs(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for agents: %w", err)
	}
	l := &look{Probe: p, now: p.o.Now(), procs: map[int]fleet.Process{}, children: map[int][]int{}}
	for _, proc := range procs {
		l.procs[proc.ID.PID] = proc
		l.children[proc.PPID] = append(l.children[proc.PPID], proc.ID.PID)
	}
	l.seePanes(ctx)
	if p.o.Recorded != nil {
		if l.records, err = p.o.Recorded(ctx); err != nil {
			return nil, fmt.Errorf("cannot look for agents that are gone: %w", err)
		}
	}
	for _, r := range agent.Detect(p.o.Kinds, procs) {
		kind, _ := p.o.Kinds.Get(r.Kind)
		l.runs = append(l.runs, run{Run: r, kind: kind, pane: l.paneOf(r)})
	}
	l.seeScreens(ctx)
	l.seeCPU(ctx)
	l.registry = p.readRegistries(l.runs)
	found := l.judge()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("cannot look at agents: %w", ctx.Err())
	}
	p.looked = true
	return func(s *fleet.Snapshot) { s.Agents.Value = append(s.Agents.Value, found...) }, nil
}

func (l *look) seePanes(ctx context.Context) {
	if l.o.Panes == nil {
		return
	}
	panes, err := l.o.Panes(ctx)
	l.panes = panes
	if err != nil && !errors.Is(err, session.ErrAbsent) {
		l.blind = err.Error()
	}
}

// paneOf finds the pane whose first process is the agent or stands above it.
func (l *look) paneOf(r agent.Run) *fleet.Pane {
	seen := map[int]bool{}
	for p, ok := r.Process, true; ok && !seen[p.ID.PID]; p, ok = l.procs[p.PPID] {
		seen[p.ID.PID] = true
		for i := range l.panes {
			if root := l.panes[i].ID.Root; root.PID == p.ID.PID && root.Start == p.ID.Start {
				return &l.panes[i]
			}
		}
	}
	return nil
}

// judge builds the agents: those that run, then those that left something.
func (l *look) judge() []fleet.Agent {
	var found []fleet.Agent
	for _, r := range l.runs {
		found = append(found, l.live(r))
	}
	found = append(found, l.gone()...)
	l.name(found)
	l.forget()
	return found
}

// live describes one running agent.
func (l *look) live(r run) fleet.Agent {
	m := l.remember(r)
	cpu := l.cpu(r, m)
	reg, hasReg := l.registry[r.Process.ID]
	sig := agent.Signals{Kind: r.kind, OneShot: r.OneShot, Suspended: r.Process.State == "T" || r.Process.State == "t",
		Age: fleet.Known(r.Process.Age), CPU: cpu}
	if hasReg {
		sig.Registry = fleet.Known(reg)
	}
	if r.pane != nil && r.Parent.PID == 0 { // the pane shows the agent at the top, not what it started
		sig.Title, sig.Activity = fleet.Known(r.pane.Title), r.pane.Activity
		if text, ok := l.screened[r.pane.ID]; ok {
			sig.Screen = fleet.Known(text)
		}
	}
	v := agent.State(sig)
	a := fleet.Agent{Kind: r.Kind, Owner: l.owner(r), State: v.State, Reason: v.Reason, Source: v.Source, Signals: v.Signals,
		Process: r.Process.ID, TTY: r.Process.TTY, CWD: r.Process.CWD, Args: fleet.RedactArgs(r.Process.Args),
		OneShot: r.OneShot, Age: fleet.Known(r.Process.Age), CPU: cpu, RSS: fleet.Known(rss(r.Tree)), SessionID: reg.SessionID,
		ExitStatus: fleet.Unknown[int]("it runs"), ExitSignal: fleet.Unknown[int]("it runs")}
	for _, t := range r.Tree {
		a.Procs = append(a.Procs, t.ID)
	}
	if r.pane != nil {
		pane := *r.pane
		a.Pane, a.Attached = &pane, pane.Attached
	}
	a.Progress, a.Quiet = l.progress(r, m, v, sig)
	a.Dwell = l.stay(r, m, v, sig)
	return a
}

func rss(tree []fleet.Process) (sum int64) {
	for _, p := range tree {
		sum += p.RSS
	}
	return sum
}

// owner says whose an agent is: what Custos recorded as its own, what the
// configuration adopts, or somebody's. A recorded adoption is not taken over:
// it ends when the configuration says so.
func (l *look) owner(r run) fleet.Owner {
	for _, rec := range l.records {
		if rec.Owner == fleet.OwnerCustos && sameProcess(rec.Process, r.Process.ID) {
			return fleet.OwnerCustos
		}
	}
	return l.ownerOf(r.Process.CWD.Or(""))
}

func (p *Probe) ownerOf(cwd string) fleet.Owner {
	raw := fleet.RawPath(cwd)
	for _, g := range p.adopt {
		if raw != "" && g.Match(raw) {
			return fleet.OwnerAdopted
		}
	}
	return fleet.OwnerForeign
}

// sameProcess compares pid and start time; a boot id counts when both have one.
func sameProcess(a, b fleet.ProcessID) bool {
	return a.PID != 0 && a.PID == b.PID && a.Start == b.Start && (a.Boot == b.Boot || a.Boot == "" || b.Boot == "")
}
