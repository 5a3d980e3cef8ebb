// Package agents is the probe of agents: every agent CLI that runs, in tmux or
// not, whoever started it, with its state and where that is known from; and
// those that have ended and left their pane.
//
// It combines the process table, panes, screens, registry files and records that
// it is handed; what any of it means is judged by package agent. Between looks
// it remembers what moved when, which is all that progress is told from.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/session"
	"custos/internal/sys/legio"
)

// Options is what the probe is made of.
type Options struct {
	// Adopt are globs of working folders (* crosses slashes, ~ is HOME) whose
	// agents Custos may act on. None by default: all agents are view-only.
	Adopt []string `toml:"adopt"`
	// Registries are folders of registry files besides those below HOME.
	Registries []string `toml:"registries" is:"path"`
	// Dwell is for how long nothing may move before an agent counts as making no
	// progress, as text; "15m" by default.
	Dwell string `toml:"dwell" is:"duration 1m.."`
	// ToolDeadline is how long a tool may run before silence counts against its
	// agent, as text; "30m" by default. ToolDeadlines says so by name of the tool.
	ToolDeadline  string            `toml:"tool_deadline" is:"duration 1m.."`
	ToolDeadlines map[string]string `toml:"tool_deadlines" is:"duration 1m.."`
	// ForeignNamespace says whether agents of other pid namespaces, which cannot be
	// seen, work in the projects that are watched. By default they may where we are in
	// a pid namespace of our own.
	ForeignNamespace *bool `toml:"foreign_namespace"`
	// Every is the time between two looks that no event asks for, as text; "30s" by
	// default: deaths, hooks, files and panes tell of nearly all that changes.
	Every string `toml:"every" is:"duration 1s.."`
	// RecordedBy is the other supervisor whose session store is read as what is
	// recorded of agents: "legio", which stands for Overstory too. None by default.
	RecordedBy string `toml:"recorded"`
	// RecordedIn are globs of its projects' folders (~ is HOME), whose stores are
	// read even while no agent stands in them.
	RecordedIn []string `toml:"recorded_in" is:"glob"`

	// Places tell what agents of other systems are, by where they run; the first that
	// fits counts. Roles say how those of a role are started again.
	Places []Place         `toml:"places"`
	Roles  map[string]Role `toml:"roles"`

	// Policy is that of agents whose role has none of its own; "" for none.
	Policy string `toml:"policy"`

	// Contracts are the heartbeats that agents have promised.
	Contracts []fleet.Contract `toml:"-"`
	// Kinds are the kinds looked for; needed.
	Kinds *agent.Kinds `toml:"-"`
	// Procs returns the process table; needed.
	Procs func(context.Context) ([]fleet.Process, error) `toml:"-"`
	// Panes, Screens and Recorded may be nil: then nothing of that sort is seen.
	Panes    func(context.Context) ([]fleet.Pane, error)                                 `toml:"-"`
	Screens  func(context.Context, []fleet.PaneID, int) (map[fleet.PaneID]string, error) `toml:"-"`
	Recorded func(context.Context) ([]fleet.AgentRecord, error)                          `toml:"-"`
	// Registered returns the registrations that are not retired, or retired
	// lately; nil for none.
	Registered func(context.Context) ([]fleet.Registration, error) `toml:"-"`
	// Lost says what became of what the ledger knew, until a person has acknowledged
	// it: whose an agent is that is not registered cannot be told then. nil and "":
	// it is there.
	Lost func(context.Context) (string, error) `toml:"-"`
	// Used returns what the ledger knows that each of these used, where it knows of any. nil: it
	// is not asked.
	Used func(context.Context, []fleet.UsedBy) ([]fleet.Used, error) `toml:"-"`
	// Hooks returns recent hook events: of each instance and process at least the
	// newest of each name, and for loops the newest calls. nil for none.
	Hooks func(context.Context) ([]fleet.HookEvent, error) `toml:"-"`
	// Conversations returns what the conversations of agents say, of those whose
	// conversation is known; with an error, what could be read. Nil: none is read.
	Conversations func(context.Context, []Conversing) (map[fleet.ProcessID]fleet.Conversation, error) `toml:"-"`
	// Accounts are those that have a section: in their folders registry files and
	// conversations lie, too. May be nil.
	Accounts fleet.Accounts `toml:"-"`
	// Deaf says why agents of a kind ignore the hooks that Custos starts them with; "" where
	// nothing is known to keep them from those. It may be nil.
	Deaf func(kind string) string `toml:"-"`
	// Exits returns how an instance ended, as its shim wrote it down; nil while
	// that is not known.
	Exits func(instance string) *fleet.Exit `toml:"-"`
	// ShimGone says whether the shim of an instance is gone for certain, and has
	// written down no end. It may be nil: then that is not known of any.
	ShimGone func(instance string) bool `toml:"-"`
	// Launches returns what our shims have claimed and not written the end of; nil
	// for none. It is asked when an agent of ours is not where its record says.
	Launches func() ([]Launch, error) `toml:"-"`
	// Shim returns the agent of an instance, and the shim that started it, as that has
	// claimed it; "" where that is not known. It may be nil: then what instances that have
	// ended left running is not seen.
	Shim func(instance string) (name string, shim fleet.ProcessID) `toml:"-"`
	// Said returns what an instance printed last, of its errors where there are
	// any; "" where nothing is kept. nil for nothing.
	Said func(instance string) string `toml:"-"`
	// Judge says whether a process has the mark of one that a judge runs in. It is
	// asked of those below Custos itself only: nobody else can wear the mark. Nil: none.
	Judge func(pid int) bool `toml:"-"`
	// Self is the pid of Custos.
	Self int `toml:"-"`
	// Stream returns the end of what an instance without a terminal printed, and
	// when it last did; nothing when that is not after a moment. Nil: its cost and
	// its own protocol are not read.
	Stream func(instance string, after time.Time) ([]byte, time.Time, error) `toml:"-"`
	// Marker returns the marker of Custos in a process's environment,
	// NAME:INSTANCE, and whether there is one.
	Marker func(pid int) (string, bool) `toml:"-"`
	// Awake is a clock that stands still while the machine is suspended; nil is
	// the monotonic clock. What did not move then has not been silent.
	Awake func() time.Duration `toml:"-"`
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
	o      Options
	dwell  time.Duration
	every  time.Duration
	limits agent.Deadlines
	adopt  []agent.Glob

	elsewhere *legio.Reader // nil unless another supervisor's records are read
	projects  []string      // globs, raw
	places    []place

	mu         sync.Mutex // one look at a time
	looked     bool
	at         fleet.Instant // of the last look
	again      time.Duration // from the last look to one that is due by itself; 0 for none
	calm       bool          // see Calm
	awake      time.Duration // of the last look
	memory     map[fleet.ProcessID]*memory
	screens    map[fleet.PaneID]shot
	marks      map[fleet.ProcessID]mark
	seen       map[fleet.ProcessID]sighting
	dead       map[fleet.ProcessID]fleet.Exit
	streams    map[string]*stream // of instances without a terminal
	given      tampering
	registries map[string]registryFile // by path, as they were read last
	said       map[string]string       // last words of instances that have ended

	newsMu    sync.Mutex
	news      []fleet.Exit                 // told by Died, not yet looked at
	heard     map[string][]fleet.HookEvent // by instance, of the last look
	late      []fleet.HookEvent            // told by Told, which no look has heard
	waits     map[string]bool              // instances that wait for an answer
	listening []string                     // instances of which their output alone tells
	stand     []Stand                      // where agents stood at the last look; nil: there was none
}

// New makes the probe. It fails when a needed option is missing or a text cannot
// be read.
func New(o Options) (*Probe, error) {
	if o.Kinds == nil || o.Procs == nil || o.Now == nil {
		return nil, errors.New("cannot look at agents: Kinds, Procs and Now are needed")
	}
	p := &Probe{o: o, memory: map[fleet.ProcessID]*memory{}, screens: map[fleet.PaneID]shot{}, marks: map[fleet.ProcessID]mark{},
		seen: map[fleet.ProcessID]sighting{}, dead: map[fleet.ProcessID]fleet.Exit{}, said: map[string]string{}, streams: map[string]*stream{}, waits: map[string]bool{}}
	if err := p.durations(); err != nil {
		return nil, err
	}
	for _, text := range o.Adopt {
		g, err := adoption(text, o.Home)
		if err != nil {
			return nil, err
		}
		p.adopt = append(p.adopt, g)
	}
	if err := p.recordedBy(); err != nil {
		return nil, err
	}
	if err := p.origins(); err != nil {
		return nil, err
	}
	p.defaults()
	return p, nil
}

// durations reads what is written as text in the configuration.
func (p *Probe) durations() (err error) {
	if p.dwell, err = duration("dwell", p.o.Dwell, agent.DefaultDwell, time.Minute); err != nil {
		return err
	}
	if p.every, err = duration("every", p.o.Every, 30*time.Second, time.Second); err != nil {
		return err
	}
	if p.limits.Default, err = duration("tool_deadline", p.o.ToolDeadline, agent.DefaultToolDeadline, time.Minute); err != nil {
		return err
	}
	p.limits.Tools = map[string]time.Duration{}
	for tool, text := range p.o.ToolDeadlines {
		if p.limits.Tools[tool], err = duration("tool_deadlines."+tool, text, p.limits.Default, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

func duration(key, text string, standard, least time.Duration) (time.Duration, error) {
	if text == "" {
		return standard, nil
	}
	d, err := fleet.ParseDuration(text)
	if err != nil || d < least {
		return 0, fmt.Errorf("cannot use agents %s %q: want a duration of at least %q", key, text, least)
	}
	return d, nil
}

func adoption(text, home string) (g agent.Glob, err error) {
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		text = home + rest
	}
	if !filepath.IsAbs(text) {
		return g, fmt.Errorf("cannot adopt %q: want an absolute path or one that begins with ~", text)
	}
	if err := g.UnmarshalText([]byte(filepath.Clean(text))); err != nil {
		return g, fmt.Errorf("cannot adopt %q: %w", text, err)
	}
	return g, nil
}

func (p *Probe) defaults() {
	if p.o.Proc == "" {
		p.o.Proc = "/proc"
	}
	if p.o.Awake == nil {
		began := time.Now()
		p.o.Awake = func() time.Duration { return time.Since(began) }
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
	return observe.Spec{Name: "agents", Part: fleet.PartAgents, Every: p.every, Deadline: 8 * time.Second, Rest: min(rest, p.every), Ease: ease}
}

// rest keeps a flood of events from being a flood of looks: one takes about
// 50 ms of a core at 200 agents, process table and panes included. With a few agents it
// takes a few, and the next one is soon: people see within half a second what an event told.
const (
	rest = 2 * time.Second
	ease = 40
)

// Again is when the oldest of those that are told to begin just now does so no more, or
// soon, where a dialog is being drawn.
func (p *Probe) Again() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.again
}

// Calm says whether many agents run, and all of them are idle by their own word: whoever begins something
// tells that. A few cost little, and who is started beside them by hand is soon known.
func (p *Probe) Calm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calm
}

// many is how many agents are: fewer take some milliseconds a look.
const many = 20

// ownWord are the sources of what an agent tells itself, at once.
var ownWord = []string{agent.SourceHook, agent.SourceRegistry, agent.SourceTranscript}

func isCalm(found []fleet.Agent) bool {
	run := 0
	for i := range found {
		a := &found[i]
		switch {
		case a.Process.PID == 0:
		case a.State != fleet.StateIdle || a.Hint || !slices.Contains(ownWord, a.Source):
			return false
		default:
			run++
		}
	}
	return run >= many
}

// comesOfAge is in what time the first of the agents that are starting is young no more;
// 0 where none is.
func comesOfAge(found []fleet.Agent) (first time.Duration) {
	for i := range found {
		left := agent.Youth(found[i].Age)
		if found[i].State == fleet.StateStarting && left > 0 && (first == 0 || left < first) {
			first = left
		}
	}
	return first
}

// look is one look in the making.
type look struct {
	*Probe
	now      fleet.Instant
	procs    map[int]fleet.Process
	children map[int][]int
	panes    []fleet.Pane
	blind    string   // why some panes were not seen; "" when all were
	untold   string   // why it is not known what our shims started; "" when it is
	listens  []string // see Listens
	launches []Launch // what our shims started, where something was asked of it
	records  []fleet.AgentRecord
	recorded map[fleet.ProcessID]int // index into records, by key
	regs     []fleet.Registration
	amnesia  bool // what was known of agents is lost
	events   events
	exits    map[string]*fleet.Exit // of shims, asked in this look
	screened map[fleet.PaneID]string
	sampled  map[fleet.ProcessID]fleet.Duration
	registry map[fleet.ProcessID]agent.Registry
	spoken   map[fleet.ProcessID]fleet.Conversation
	unheard  string // why it is not known what hooks told; empty where it is
	unspoken string // why conversations that are not known are not; "" for nothing that is known of that
	runs     []run
	isRun    map[fleet.ProcessID]bool // by key
}

// run is an agent with the pane it is in.
type run struct {
	agent.Run
	kind     agent.Kind
	pane     *fleet.Pane
	instance string              // its marker says; "" for none
	reg      *fleet.Registration // what it is, when it is registered
	ours     bool                // of an instance of ours, though not the registered agent itself
	called   string              // as its shim has it, where nothing else names it
	lost     bool                // a shim of ours has started it, and no record knows of it
	conflict string
}

// Look sees all agents. Without the process table, or the ledger where there is
// one, there is nothing to say; all else may be missing, and what it would have
// told is unknown.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	procs, err := p.o.Procs(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for agents: %w", err)
	}
	l := &look{Probe: p, now: p.o.Now(), exits: map[string]*fleet.Exit{}}
	p.takeNews()
	procs = l.index(procs)
	l.seePanes(ctx)
	if err := l.recall(ctx); err != nil {
		return nil, err
	}
	deaf := l.hear(ctx)
	l.detect(procs)
	l.seeScreens(ctx)
	l.seeCPU(ctx)
	l.registry = p.readRegistries(l.runs)
	l.converse(ctx)
	l.forgive()
	found := l.judge(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("cannot look at agents: %w", ctx.Err())
	}
	seeBeside(found)
	seePolicyGaps(p.o.Kinds, found)
	p.given.see(found, l.regs)
	l.charge(ctx, found)
	l.listened(found)
	p.looked, p.at, p.again, p.calm = true, l.now, cmp.Or(l.redraw(), comesOfAge(found)), isCalm(found)
	l.noteStanding(found)
	return func(s *fleet.Snapshot) { s.Agents.Value = observe.Beside(s.Agents.Value, found) }, deaf
}

// Stand is where an agent stands.
type Stand struct {
	Folder string   // raw
	Files  []string // that it was started for (raw), absolute
}

func (l *look) noteStanding(found []fleet.Agent) {
	files := map[string][]string{}
	for _, r := range l.regs {
		for _, f := range r.Files {
			if !filepath.IsAbs(f) {
				f = filepath.Join(fleet.RawPath(cmp.Or(r.Real, r.Dir)), f)
			}
			files[r.Name] = append(files[r.Name], f)
		}
	}
	all := make([]Stand, 0, len(found))
	for i := range found {
		if dir, known := found[i].CWD.Get(); known && l.lives(found[i].Process) {
			all = append(all, Stand{fleet.RawPath(dir), files[found[i].Name]})
		}
	}
	l.newsMu.Lock()
	defer l.newsMu.Unlock()
	l.stand, l.listening = all, l.listens
}

// Standing lists where those agents stand that ran at the last look; false before the first.
func (p *Probe) Standing() (all []Stand, looked bool) {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	return slices.Clone(p.stand), p.stand != nil
}

// index keeps the process table. A process whose death was told is dead,
// whatever the table says: it may be a second old.
func (l *look) index(procs []fleet.Process) []fleet.Process {
	l.procs, l.children = make(map[int]fleet.Process, len(procs)), map[int][]int{}
	for i, proc := range procs {
		if x, ok := l.dead[key(proc.ID)]; ok && sameProcess(x.Process, proc.ID) && proc.State != "Z" {
			procs = slices.Clone(procs)
			procs[i].State, proc.State = "Z", "Z"
		}
		l.procs[proc.ID.PID] = proc
		l.children[proc.PPID] = append(l.children[proc.PPID], proc.ID.PID)
	}
	return procs
}

// recall reads what the ledger knows of agents.
func (l *look) recall(ctx context.Context) (err error) {
	if l.o.Recorded != nil {
		if l.records, err = l.o.Recorded(ctx); err != nil {
			return fmt.Errorf("cannot look for agents that are gone: %w", err)
		}
	}
	l.recorded = make(map[fleet.ProcessID]int, len(l.records))
	for i, rec := range l.records {
		if at, ok := l.recorded[key(rec.Process)]; !ok || l.records[at].LastSeen.Before(rec.LastSeen) {
			l.recorded[key(rec.Process)] = i
		}
	}
	if l.o.Registered != nil {
		if l.regs, err = l.o.Registered(ctx); err != nil {
			return fmt.Errorf("cannot look for registered agents: %w", err)
		}
	}
	if l.o.Lost != nil {
		what, err := l.o.Lost(ctx)
		if err != nil {
			return fmt.Errorf("cannot tell whose agents are: %w", err)
		}
		if l.amnesia = what != ""; l.amnesia {
			l.unheard = "what hooks told is forgotten"
		}
	}
	l.seeLaunches()
	return nil
}

// hear reads hook events. Without them the agents are described all the same,
// and the error says that something is missing.
func (l *look) hear(ctx context.Context) error {
	if l.o.Hooks == nil {
		return nil
	}
	all, err := l.o.Hooks(ctx)
	l.events = sortEvents(all)
	if err != nil {
		l.unheard = "it cannot be read what hooks told"
		return fmt.Errorf("cannot hear what agents tell: %w", err)
	}
	return nil
}

func (l *look) detect(procs []fleet.Process) {
	found := agent.Detect(l.o.Kinds, procs)
	l.runs = make([]run, 0, len(found))
	for _, r := range found {
		if l.judges(r.Process.ID.PID) {
			continue
		}
		kind, _ := l.o.Kinds.Get(r.Kind)
		l.runs = append(l.runs, run{Run: r, kind: kind, pane: l.paneOf(r), instance: l.instanceOf(r.Process.ID)})
	}
	l.register()
	l.isRun = make(map[fleet.ProcessID]bool, len(l.runs))
	for _, r := range l.runs {
		l.isRun[key(r.Process.ID)] = true
	}
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

// judge builds the agents: those that run, those that are registered and do
// not, those that left something, and those that only another supervisor has on
// record.
func (l *look) judge(ctx context.Context) []fleet.Agent {
	found := make([]fleet.Agent, 0, len(l.runs)+16)
	for _, r := range l.runs {
		found = append(found, l.live(r))
	}
	missing, done := l.missing()
	found = append(found, missing...)
	found = append(found, l.gone(done)...)
	l.name(found)
	l.leave(found)
	names := map[string]bool{}
	for _, a := range found {
		names[a.Name] = true
	}
	found = append(found, l.lately(done, names)...)
	found = l.compare(ctx, found)
	l.trace(found)
	l.forget(found)
	l.hush()
	return found
}

// ownerOf says whose an agent is that no record knows of, by its folder.
func (l *look) ownerOf(cwd string) fleet.Owner {
	raw := fleet.RawPath(cwd)
	for _, g := range l.adopt {
		if raw != "" && g.Match(raw) {
			return fleet.OwnerAdopted
		}
	}
	if l.amnesia {
		return fleet.OwnerUnknown
	}
	return fleet.OwnerForeign
}

// sameProcess compares pid and start time; a boot id counts when both have one.
func sameProcess(a, b fleet.ProcessID) bool {
	return a.PID != 0 && a.PID == b.PID && a.Start == b.Start && (a.Boot == b.Boot || a.Boot == "" || b.Boot == "")
}
