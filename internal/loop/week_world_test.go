package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/rules"
	"custos/internal/store"
)

func weekRules(t *testing.T) *rules.Set {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// week is a busy town and the Custos that watches it now.
type week struct {
	t     *testing.T
	set   *rules.Set
	dir   string
	seed  uint64
	rng   *rand.Rand
	lasts time.Duration

	mu      sync.Mutex // the world
	begun   time.Time
	agents  []*weekAgent
	issues  map[fleet.Ref]*fleet.Issue
	pulls   map[fleet.Ref]*fleet.PullRequest
	ended   []fleet.EndedPull
	beads   map[fleet.Ref]*fleet.Bead
	pipes   map[string]*fleet.Pipeline
	holds   map[string]bool          // what conditions of gates say, by their expression
	checks  map[string]bool          // and commands, by the gate's ID
	begins  map[string]fleet.Instant // processes of steps
	twice   []string
	plugins []fleet.Schedule

	books   sync.Mutex // the database, while it is opened anew
	st      *store.Store
	life    *weekLife
	lives   int
	asShown int // turns that were held against what a look had shown
	passes  int
	events  int
	truth   truths
	log     []entry
	seenAt  []fleet.Instant // snapshots of committed turns
}

type weekAgent struct {
	name, project, role string
	pid                 int
	alive, retired      bool
	reads               bool // it reads its mail
}

// entry is one line of the journal of the ledger: a turn, or what an edit wrote.
type entry struct {
	turn *fleet.Turn
	edit fleet.Records
	at   fleet.Instant
}

func newWeek(t *testing.T, set *rules.Set, dir string, seed uint64, lasts time.Duration) *week {
	w := &week{t: t, set: set, dir: dir, seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), lasts: lasts, begun: time.Now(),
		issues: map[fleet.Ref]*fleet.Issue{}, pulls: map[fleet.Ref]*fleet.PullRequest{}, beads: map[fleet.Ref]*fleet.Bead{}, pipes: map[string]*fleet.Pipeline{},
		holds: map[string]bool{}, checks: map[string]bool{}, begins: map[string]fleet.Instant{}}
	w.truth = newTruths()
	for i := range 60 {
		w.agents = append(w.agents, &weekAgent{name: fmt.Sprintf("a%02d", i), project: weekProject(i), role: []string{"builder", "tester", "watcher"}[i%3],
			pid: 1000 + i, alive: true, retired: i >= 58, reads: i%7 != 0})
	}
	w.open()
	for _, a := range w.agents {
		w.enlist(a)
	}
	return w
}

func weekProject(i int) string { return fmt.Sprintf("p%d", i%5) }

func (w *week) now() fleet.Instant {
	passed := time.Since(w.begun) + time.Hour
	return fleet.Instant{Wall: w.begun.Add(passed).UTC(), Up: fleet.Duration(passed), Boot: "boot"}
}

func (w *week) open() {
	st, err := store.Open(context.Background(), store.Options{Path: filepath.Join(w.dir, "custos.db"), StartedAt: w.now(), Now: func() time.Time { return time.Now() }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.st = st
}

func (w *week) enlist(a *weekAgent) {
	r := fleet.Registration{Name: a.name, Kind: "claude", Owner: fleet.OwnerCustos, Where: fleet.WhereTmux, Argv: []string{"claude"}, Dir: "/w/" + a.name,
		Project: a.project, Role: a.role}
	r, err := ledger.Register(nil, r, ledger.Bounds{}, "ann", w.now())
	if err == nil {
		r, err = ledger.Started(r, "i-"+a.name, w.process(a), w.now())
	}
	if err == nil && a.retired {
		r, err = ledger.SetDesired(r, fleet.DesiredRetired, "ann", w.now())
		a.alive = false
	}
	if err == nil {
		_, err = w.st.Register(context.Background(), r, w.now())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *week) process(a *weekAgent) fleet.ProcessID {
	return fleet.ProcessID{PID: a.pid, Start: uint64(a.pid), Boot: "boot"}
}

// ---- what Custos sees ----------------------------------------------------------

// First implements loop.Board.
func (w *week) First(context.Context) {}

func (w *week) Await(context.Context, ...fleet.PartName) {}

// Touched implements loop.Board: everything is looked at again at once.
func (w *week) Touched(...fleet.PartName) {}

// Snapshot implements loop.Board.
func (w *week) Snapshot() fleet.Snapshot {
	runs := w.runs()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := fleet.Snapshot{At: w.now(), From: fleet.Vantage{Host: "h", Boot: "boot"}}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	}
	s.Host.Value = fleet.Host{Name: "h", CPUs: 8, Memory: fleet.Memory{Total: fleet.Known(64 * gib), Available: fleet.Known(32 * gib)},
		Swap: fleet.Swap{Total: fleet.Known[int64](0), Used: fleet.Known[int64](0)}, OOMRecent: fleet.Known[int64](0)}
	s.Self.Value = fleet.Self{LastPatrolAge: fleet.Known(fleet.Duration(0)), JournalWritable: fleet.Known(true), StoreWritable: fleet.Known(true), StoreBytes: fleet.Known[int64](1),
		ClockStep: fleet.Known(fleet.Duration(0)), Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")}}
	for _, a := range w.agents {
		if a.alive {
			s.Agents.Value = append(s.Agents.Value, w.shown(a))
		}
	}
	s.Runs.Value = runs
	s.Forge.Value = w.forge()
	s.Beads.Value = values(w.beads)
	s.CI.Value.Pipelines = values(w.pipes)
	for id, holds := range w.checks {
		s.Checks.Value = append(s.Checks.Value, fleet.GateCheck{Gate: id, Holds: fleet.Known(holds), At: s.At})
	}
	return s
}

func values[K ~string, V any](m map[K]*V) (out []V) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	for _, k := range keys {
		out = append(out, *m[K(k)])
	}
	return out
}

func (w *week) forge() (f fleet.Forge) {
	for i := range 5 {
		f.Projects = append(f.Projects, fleet.Project{Name: weekProject(i), Owner: fleet.OwnerConfigured, Active: fleet.Known(false), Primary: fleet.Known("main"),
			Ready: fleet.Known(0), InProgress: fleet.Known(0), Blocked: fleet.Known(0), Empty: fleet.Known(0), Skew: fleet.Known(fleet.Duration(0))})
	}
	f.Issues, f.Pulls, f.Ended = values(w.issues), values(w.pulls), slices.Clone(w.ended)
	return f
}

func (w *week) shown(a *weekAgent) fleet.Agent {
	long := fleet.Known(fleet.Duration(time.Hour))
	return fleet.Agent{Name: a.name, Kind: "claude", Owner: fleet.OwnerCustos, Process: w.process(a), Procs: []fleet.ProcessID{w.process(a)},
		State: fleet.StateIdle, Source: "hook", Registered: true, Desired: fleet.DesiredRunning, Instance: "i-" + a.name, Where: fleet.WhereTmux,
		CWD: fleet.Known("/w/" + a.name), Age: long, Dwell: fleet.Known(fleet.Duration(time.Minute)), Quiet: fleet.Known(fleet.Duration(time.Minute)), Progress: fleet.ProgressSome,
		CPU: fleet.Known(1.0), RSS: fleet.Known(gib), ComposerEmpty: fleet.Known(true), PaneLost: fleet.Known(false), ShimLost: fleet.Known(false), Deaf: fleet.Known(""), FolderGone: fleet.Known(false), LastHealthy: fleet.Known(fleet.Duration(0)),
		Pane: &fleet.Pane{Session: a.name, Activity: fleet.Known(fleet.Duration(time.Minute))}}
}

// runs is what is seen of the runs of plugins: each step lives for 3 s.
func (w *week) runs() (out []fleet.RunFacts) {
	w.books.Lock()
	list, err := w.st.Runs(context.Background(), fleet.RunFilter{Limit: 50})
	w.books.Unlock()
	if err != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range list {
		out = append(out, w.run(r))
	}
	return out
}

func (w *week) run(r fleet.Run) fleet.RunFacts {
	f := fleet.RunFacts{ID: r.ID, State: r.State, Formula: r.Formula, Ready: true, Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known(""), Lives: fleet.Known(false), Reply: fleet.Known(false)}
	for _, s := range r.Steps {
		for _, n := range []int{s.Attempt, s.Attempt + 1} {
			if n == 0 || s.IsOver() {
				continue
			}
			seen := fleet.StepFacts{Step: s.ID, Attempt: n, State: fleet.ProcNone}
			if began, ok := w.begins[r.ID+"/"+fleet.StepKey(s.ID, n)]; ok {
				if seen.State = fleet.ProcRunning; w.now().Since(began) >= 3*time.Second {
					seen.State, seen.Status = fleet.ProcEnded, fleet.Known(0)
				}
			}
			f.Steps = append(f.Steps, seen)
		}
	}
	return f
}

// ---- Custos --------------------------------------------------------------------

// weekLife is one life of Custos: from its start to its kill.
type weekLife struct {
	w    *week
	act  *act.Actor
	loop *loop.Loop
	stop func()
	over sync.WaitGroup

	mu    sync.Mutex
	past  fleet.Past     // that the last thought rests on
	seen  fleet.Snapshot // and what was seen then
	dead  bool
	fatal int // commits until it is killed, before (odd) or after (even) it is done; 0: never
}

// rouse starts Custos.
func (w *week) rouse() {
	w.lives++
	ctx, stop := context.WithCancel(context.Background())
	l := &weekLife{w: w, stop: stop}
	if w.rng.IntN(3) > 0 {
		l.fatal = 50 + w.rng.IntN(400)
	}
	l.act = act.New(act.Options{Actions: []act.Action{&weekDeed{l: l, do: "nudge"}, &weekDeed{l: l, do: "run-step"}, &weekDeed{l: l, do: "prepare-run"}}, Ledger: l, Now: w.now, Workers: 4,
		Done: func(r fleet.Result) { l.loop.Done(r) }})
	l.loop = loop.New(loop.Options{Board: w, Rules: w.set, Policy: l.policy, History: l, Act: l.act, Journal: l,
		Touches: func(string) []fleet.PartName { return nil }, Holds: l.holds, Every: 10 * time.Minute, Tick: 10 * time.Minute, Log: slog.New(slog.DiscardHandler)})
	w.locked(func() { w.life = l })
	left, err := w.st.Unfinished(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	l.over.Go(func() {
		l.act.Recover(ctx, left)
		l.loop.Run(ctx)
	})
}

// bury ends what is left of a Custos that was killed, and starts another one.
func (w *week) bury() {
	l := w.life
	l.kill()
	l.stop()
	l.act.Close()
	l.over.Wait()
	w.books.Lock()
	w.compare(context.Background(), w.now())
	if err := w.st.Close(); err != nil {
		w.t.Error(err)
	}
	w.open()
	w.books.Unlock()
	w.rouse()
}

func (l *weekLife) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

func (l *weekLife) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// Commit implements act.Ledger. At some commit Custos is killed: before it, or
// right after.
func (l *weekLife) Commit(ctx context.Context, t fleet.Turn) error {
	l.mu.Lock()
	l.fatal--
	before, after := l.fatal == 0 && len(t.Outbox)%2 == 1, l.fatal == 0
	if before {
		l.dead = true
	}
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return errKilled
	}
	l.planned(ctx, t)
	if err := l.w.commit(ctx, t); err != nil {
		return err
	}
	if after {
		l.kill()
		return errKilled
	}
	return nil
}

func (l *weekLife) Start(ctx context.Context, id string, at fleet.Instant) error {
	if l.isDead() {
		return errKilled
	}
	return l.w.st.Start(ctx, id, at)
}

func (l *weekLife) Finish(ctx context.Context, r fleet.Result) error {
	if l.isDead() {
		return errKilled
	}
	return l.w.st.Finish(ctx, r)
}

// Past implements loop.History.
func (l *weekLife) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	if l.isDead() {
		return fleet.Past{}, errKilled
	}
	p, err := l.w.st.Past(ctx, at)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past = p
	return p, err
}

// Journal implements loop.Journal.
func (l *weekLife) Journal(fleet.Pass, []fleet.Result) error { return nil }

func (l *weekLife) policy(fleet.PatrolOrder) fleet.Policy {
	p := fleet.Policy{Mode: fleet.ModeAuto, Budget: fleet.Attempts{Max: 1000, In: fleet.Duration(time.Hour)}, Blast: 100, Abilities: l.act.Abilities(), Agents: fleet.DefaultAgentLimits()}
	p.Runs.Schedules = l.w.plugins
	return p
}

// weekDeed is what Custos does: it types, or begins the step of a plugin.
type weekDeed struct {
	l  *weekLife
	do string
	a  fleet.Action
}

func (d *weekDeed) Ability() fleet.Ability {
	return fleet.Ability{Do: d.do, Idempotent: d.do != "nudge", Deadline: fleet.Duration(time.Minute)}
}
func (d *weekDeed) Commands(fleet.Action) []fleet.Command { return nil }
func (d *weekDeed) Prepare(_ context.Context, a fleet.Action) (act.Run, error) {
	if d.l.isDead() {
		return nil, errKilled
	}
	return &weekDeed{l: d.l, do: d.do, a: a}, nil
}

func (d *weekDeed) Do(context.Context) error {
	time.Sleep(100 * time.Millisecond)
	if d.l.isDead() {
		return errKilled
	}
	w := d.l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	switch d.do {
	case "nudge":
		if a := w.agent(d.a.Subject.Name); a == nil || !a.alive {
			return errors.New("it does not live")
		}
		w.truth.nudges++
		time.AfterFunc(5*time.Second, func() { w.readMail(d.a.Subject.Name) })
	case "run-step":
		key := d.a.Target.Step.Run.ID + "/" + fleet.StepKey(d.a.Target.Step.Step, d.a.Target.Step.Attempt)
		if _, ok := w.begins[key]; ok {
			w.twice = append(w.twice, key)
			return nil
		}
		w.begins[key] = w.now()
		time.AfterFunc(3100*time.Millisecond, func() { w.wake("a step ended") })
	}
	return nil
}
func (d *weekDeed) Verify(context.Context) (string, error) { return "seen", nil }
func (d *weekDeed) Close()                                 {}

func (w *week) agent(name string) *weekAgent {
	i := slices.IndexFunc(w.agents, func(a *weekAgent) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return w.agents[i]
}

// wake tells the Custos that lives now; one that was killed hears nothing.
func (w *week) wake(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life.loop.Wake(why)
}

// edit changes the records as people and agents do, and notes it in the journal.
// While Custos is down nobody can.
func (w *week) edit(change func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	w.books.Lock()
	defer w.books.Unlock()
	at := w.now()
	out, err := w.st.EditRecords(context.Background(), at, change)
	if err == nil {
		w.log = append(w.log, entry{edit: out, at: at})
	}
	return out, err
}

// must is edit of what has to be lawful.
func (w *week) must(change func(fleet.Records) (fleet.Records, error)) fleet.Records {
	out, err := w.edit(change)
	if err != nil {
		w.t.Fatalf("%s: %v", w.clock(), err)
	}
	w.wake("edit")
	return out
}

func (w *week) clock() string { return fmt.Sprint(time.Since(w.begun)) }

func (w *week) counts() string {
	all := w.everything()
	n := map[string]int{}
	for _, g := range all.Gates {
		n["gate "+string(g.Type)]++
	}
	for _, m := range all.Mails {
		n["mail "+string(m.Type)]++
	}
	keys := make([]string, 0, len(n))
	for k := range n {
		keys = append(keys, fmt.Sprintf("%s %d", k, n[k]))
	}
	slices.Sort(keys)
	return fmt.Sprintf("%d work, %d dependencies, %d convoys, %d nudges; %s", len(all.Work), len(all.Dependencies), len(all.Convoys), w.truth.nudges, strings.Join(keys, ", "))
}
