// Package catalog is the one list of what is built in: probes, actions,
// notifiers, and the sections of custos.toml that belong to them. Adding a
// plug-in is its folder and one line here.
package catalog

import (
	"context"
	"io"
	"time"

	"custos/internal/agent"
	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/observe/agents"
	forgeprobe "custos/internal/observe/forge"
	"custos/internal/observe/processes"
	"custos/internal/observe/spending"
	"custos/internal/observe/transcripts"
	"custos/internal/session/tmux"
	"custos/internal/sys/host"
	"custos/internal/sys/httpcache"
	"custos/internal/sys/proc"
)

// World is what the built-in plug-ins share: the clients of the outside, and
// what the composition root knows.
type World struct {
	Config config.Config
	Getenv func(string) string
	Stderr io.Writer
	Warn   func(text string) // for the log; set later, nil where there is none
	Clock  host.Clock
	From   fleet.Vantage
	Procs  *proc.Reader
	Tmux   *tmux.Viewer
	Kinds  *agent.Kinds
	// KindsAside says which files of kinds are not used, and why.
	KindsAside []error
	Own        *Own
	Agents     *agents.Probe    // made by Probes; told of deaths
	Table      *processes.Probe // the process table in the words of the fleet
	// Conversations are those of living agents; made by Probes.
	Conversations *transcripts.Conversations
	Forge         *forgeprobe.Probe          // made by Probes; asked about issues of phase files
	hosts         map[string]*httpcache.Host // of forges and CI systems: one budget each

	StoreFile   string
	StartedAt   fleet.Instant
	PatrolEvery func() time.Duration // from the last patrol to the next one; 0 when no daemon runs
	// Recorded returns what the ledger remembers of agents.
	Recorded func(ctx context.Context) ([]fleet.AgentRecord, error)
	// Lost says what became of what the ledger knew, until a person has acknowledged it;
	// "" while it is there.
	Lost func(ctx context.Context) (string, error)
	// Registered returns the registrations of the ledger, Hooks recent events.
	Registered func(ctx context.Context) ([]fleet.Registration, error)
	// Used returns what the ledger knows that each of these used.
	Used     func(context.Context, []fleet.UsedBy) ([]fleet.Used, error)
	lately   *lately // Registered, for probes; nil: they read it each time
	detected detected
	Hooks    func(ctx context.Context) ([]fleet.HookEvent, error)
	HooksOf  func(ctx context.Context, key string, since fleet.Instant) ([]fleet.HookEvent, error)
	// Spending opens the ledger of usage; nil, where there is none yet.
	Spending func(ctx context.Context) (spending.Ledger, error)
	// Counting says how what models use is being counted now.
	Counting func(ctx context.Context) spending.Counting
	// Runs returns the runs of formulas that are not over, or ended within a day.
	Runs func(ctx context.Context) ([]fleet.Run, error)
	// Named lists the work of other trackers that records of the ledger name.
	Named func(ctx context.Context) ([]fleet.Ref, error)
	// Judged is what the ledger knows of verdicts.
	Judged Judgements
	// LastPatrol and Remembered are what Custos knows of itself.
	LastPatrol func() fleet.Leaf[fleet.Duration]
	Remembered func(ctx context.Context) fleet.Remembered
	// ConfigTrouble and SocketTrouble are what is wrong with custos.toml and with the
	// socket of this daemon.
	ConfigTrouble func() string
	SocketTrouble func() string
	// MergeBarred says why a merge group is not to land at this instant; nil: nothing is asked.
	MergeBarred func(ctx context.Context, t fleet.MergeTarget) (string, error)
	// PullBarred says why a forge is not to be asked at this instant to merge an item of a queue at a commit; nil: none is asked.
	PullBarred func(ctx context.Context, item, commit string) (string, error)
	// MergeQueue is the queue that an item of a merge queue is in, as custos.toml has it; nil: that is not known.
	MergeQueue func(ctx context.Context, item string) (fleet.MergeQueue, error)
	// GateChecks lists the open gates that wait for a command.
	GateChecks func(ctx context.Context) ([]fleet.Gate, error)
	// Schedules says which schedules of formulas cannot run, and why.
	Schedules func() string
	// Plugins tells of the plugins there are, and PluginChecks which commands tell
	// whether their gates are open.
	Plugins      func(ctx context.Context) []fleet.PluginFacts
	PluginChecks func(ctx context.Context) []fleet.PluginCheck
	// Receivers says how those stand who are told.
	Receivers func() []fleet.Receiver
	// Code tells of the folders of formulas and plugins that agents may write to, and
	// Pin writes down that a person trusts what one of them was shown to have.
	Code func() []fleet.CodeFacts
	Pin  func(ctx context.Context, dir, digest, by string) error
	// Seen is what an agent of a formula is told of the fleet as it is.
	Seen func(ctx context.Context, looks []string) (string, error)
	// Unwatched says what is not followed by event, and why.
	Unwatched func() string
	// Landmarks lists the folders and files of Custos itself.
	Landmarks func() []fleet.Landmark
}

// Now is the one clock, as an instant.
func (w *World) Now() fleet.Instant { return instant(w.Clock.Now()) }

// instant turns a reading of the machine's clocks into the word of the fleet.
func instant(m host.Moment) fleet.Instant {
	return fleet.Instant{Wall: m.Wall, Up: fleet.Duration(m.Up), Boot: m.Boot}
}

// vantage says from where this process looks.
func vantage(version string) fleet.Vantage {
	p := host.Vantage()
	return fleet.Vantage{Host: p.Host, Boot: p.Boot, PIDNamespace: p.PIDNamespace,
		MountNamespace: p.MountNamespace, UID: p.UID, Container: p.Container, Version: version}
}

// NewWorld makes the clients that the plug-ins share.
func NewWorld(cfg config.Config, getenv func(string) string, stderr io.Writer, version string) (*World, error) {
	clock, err := host.NewClock()
	if err != nil {
		return nil, err
	}
	w := &World{Config: cfg, Getenv: getenv, Stderr: stderr, Clock: clock, From: vantage(version),
		Procs: proc.NewReader(proc.TableOptions{}), lately: &lately{}}
	w.From.Unsaid, w.From.AgentsElsewhere = unsaid(cfg, proc.Nested()), agentsElsewhere(cfg, proc.Nested())
	w.StartedAt = w.Now()
	if w.Table, err = newTable(w); err != nil {
		return nil, err
	}
	if w.Kinds, w.KindsAside, err = kindsOf(cfg); err != nil {
		return nil, err
	}
	if w.Own, err = newOwn(w); err != nil {
		return nil, err
	}
	if w.Tmux, err = w.viewer(); err != nil {
		return nil, &config.Mistake{Err: err}
	}
	return w, nil
}

// Forget drops what the clients remember for a moment: what is asked from now
// on is read from now on.
func (w *World) Forget() {
	w.Procs.Forget()
	w.Tmux.Forget()
	w.lately.forget()
}

func newTable(w *World) (*processes.Probe, error) {
	o := processes.Options{Reader: w.Procs, Boot: w.From.Boot}
	if err := w.Config.Section("processes", &o); err != nil {
		return nil, err
	}
	p, err := processes.New(o)
	return p, w.Config.Misread("processes", err)
}

func (w *World) viewer() (*tmux.Viewer, error) {
	o := tmux.Options{Discover: true}
	if err := w.Config.Section("tmux", &o); err != nil {
		return nil, err
	}
	for i, socket := range o.Sockets {
		o.Sockets[i], _ = w.Config.Expand(socket) // it was checked
	}
	o.Sockets = append(o.Sockets, w.Own.Socket)
	o.TMPDir, o.Inside, o.UID, o.Boot, o.TTL = w.Getenv("TMUX_TMPDIR"), w.Getenv("TMUX"), w.From.UID, w.From.Boot, shared
	v, err := tmux.New(o)
	if err != nil {
		return nil, w.Config.Misread("tmux", err)
	}
	return v, nil
}
