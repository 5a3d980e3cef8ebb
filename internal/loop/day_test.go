package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/formulas"
	"custos/internal/act"
	cli "custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/formula"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/rules"
)

// The day: ten agents, a patrol and the two shipped formulas every 20 minutes, the
// shipped rules, the real loop and actor, and a judge that counts. Nothing else is
// there to be asked: what a pass costs in models is what this judge is asked.

const (
	dayPatrol = 20 * time.Minute
	dayTick   = time.Minute      // the daemon's is shorter
	dayStill  = 15 * time.Minute // the probe's: so long nothing moves until it is stuck
)

// TestHealthyDay: for 24 hours all goes well. No model is asked, nothing is done,
// nothing is told, and every run of the two formulas is done.
func TestHealthyDay(t *testing.T) {
	fleettest.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, "")
		d.hours(t, 24*time.Hour)
		d.allRun(t)
		if d.calls != 0 || len(d.records) != 0 {
			t.Errorf("%d calls of a model; done: %v", d.calls, d.deeds())
		}
		for _, turn := range d.turns {
			for _, m := range turn.Outbox {
				t.Errorf("told at %v: %s", turn.At.Wall, m.Subject)
			}
		}
		states := map[fleet.AgentState]bool{}
		for _, turn := range d.turns {
			for _, a := range turn.Agents {
				states[a.State] = true
			}
		}
		for _, s := range []fleet.AgentState{fleet.StateWorking, fleet.StateIdle, fleet.StateWaiting} {
			if !states[s] {
				t.Errorf("no agent was %s all day: it is too tame", s)
			}
		}
	})
}

// fiveHang lets five agents hang, each at another time and long enough to be asked
// about; then they go on. Of each the judge says a word.
func (d *day) fiveHang(words ...fleet.VerdictWord) {
	d.expiry = 30 * time.Minute
	for i, at := range []time.Duration{2 * time.Hour, 5 * time.Hour, 5*time.Hour + 4*time.Minute, 13 * time.Hour, 23 * time.Hour} {
		d.hands[2*i].hangs, d.hands[2*i].lasts, d.hands[2*i].says = at, 32*time.Minute, words[i]
	}
}

// TestFiveAmbiguousAlerts: five alerts that may mean this or that make five calls,
// whatever the judge says of them, and nothing that a person did not allow.
func TestFiveAmbiguousAlerts(t *testing.T) {
	fleettest.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, "")
		d.fiveHang(fleet.VerdictExtend, fleet.VerdictRetry, fleet.VerdictStop, fleet.VerdictAsk, "rm -rf /")
		d.hours(t, 24*time.Hour)
		d.allRun(t)
		if d.calls != 5 || len(d.asked) != 5 {
			t.Errorf("%d calls about %v; want 5", d.calls, d.asked)
		}
		if deeds := d.deeds(); !maps.Equal(deeds, map[string]int{"triage": 5}) {
			t.Errorf("done: %v; want five triages and nothing else", deeds)
		}
		if n := d.fired("agent-stuck"); n != 5 {
			t.Errorf("%d alerts, want 5", n)
		}
	})
}

// TestFiveAmbiguousAlertsInAuto: where the ladder may be climbed, each is nudged
// and asked about once. Who is given time, or left to a person, is not stopped;
// the one of whom the judge says so is.
func TestFiveAmbiguousAlertsInAuto(t *testing.T) {
	longDay(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, "[rule.agent-stuck]\nmode = \"auto\"\n")
		d.fiveHang(fleet.VerdictExtend, fleet.VerdictAsk, "rm -rf /", fleet.VerdictRestart, fleet.VerdictExtend)
		d.hours(t, 24*time.Hour)
		d.allRun(t)
		if deeds := d.deeds(); d.calls != 5 || deeds["triage"] != 5 || deeds["nudge"] != 5 || deeds["stop"] != 1 || !d.hands[6].ended {
			t.Errorf("%d calls; done: %v; want 5 calls, 5 nudges, and one stop", d.calls, deeds)
		}
	})
}

// TestSameEvidenceIsNotPaidTwice: an agent hangs for two hours, its verdict expires
// again and again, and it is asked about each time; the judge is called once. What
// was free uses up no budget.
func TestSameEvidenceIsNotPaidTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, "[rule.agent-stuck]\nattempts = \"20 in 1h\"\n[rule.agent-unresponsive]\nenabled = false\n")
		d.expiry, d.triage.PerHour = 5*time.Minute, 2
		d.hands[3].hangs, d.hands[3].lasts, d.hands[3].says = time.Hour, 2*time.Hour, fleet.VerdictExtend
		d.hands[6].hangs, d.hands[6].lasts, d.hands[6].says = 2*time.Hour+30*time.Minute, 30*time.Minute, fleet.VerdictExtend
		d.hours(t, 4*time.Hour)
		if d.calls != 2 || len(d.asked) != 2 {
			t.Errorf("%d calls about %v; want one for each agent", d.calls, d.asked)
		}
		if n := d.deeds()["triage"]; n < 10 {
			t.Errorf("%d triages: the same evidence came too seldom", n)
		}
		for _, v := range d.verdicts[1:] {
			if v.Alert == d.verdicts[0].Alert && !v.Free {
				t.Errorf("%+v was paid", v)
			}
		}
	})
}

// TestBusyDayKeepsItsBudget: all ten hang together, and the judge is asked no more
// often than the hour allows, one thing at a time.
func TestBusyDayKeepsItsBudget(t *testing.T) {
	longDay(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, "")
		d.expiry, d.triage.PerHour = 30*time.Minute, 3
		for _, h := range d.hands {
			h.hangs, h.lasts, h.says = time.Hour, 50*time.Minute, fleet.VerdictAsk
		}
		d.hours(t, 3*time.Hour)
		if d.calls != 3 || d.most != 1 {
			t.Errorf("%d calls, %d at once; want 3 of the 10 that were wanted, one at a time", d.calls, d.most)
		}
	})
}

// ---- the day ---------------------------------------------------------------

// day is a machine with its agents, and what is remembered of it.
type day struct {
	*workshop
	t        *testing.T
	hands    []*hand
	regs     map[string]fleet.Registration
	agents   map[string]fleet.AgentRecord
	alerts   map[fleet.AlertKey]fleet.Alert
	records  []*fleet.ActionRecord
	shared   fleet.Records
	verdicts []fleet.Verdict
	actor    *act.Actor

	triage fleet.TriagePolicy
	expiry time.Duration
	calls  int      // of the judge
	asked  []string // evidence it was asked about
	asking int      // questions under way
	most   int      // of them at once
}

// hand is an agent, which goes round in its spells of work and rest.
type hand struct {
	name         string
	pid          int
	offset       time.Duration     // into its round
	hangs, lasts time.Duration     // when nothing of it moves; 0: never
	says         fleet.VerdictWord // the judge, of it
	ended        bool
}

// spell is what an agent does for a while.
type spell struct {
	mood  mood
	lasts time.Duration
	still bool // and nothing of it moves
}

// round is a healthy life: work, long thoughts, a tool that is silent for long but
// may be, a question that is soon answered, rest.
func round() []spell {
	return []spell{{atWork, 37 * time.Minute, false}, {atWork, 12 * time.Minute, true}, {atTool, 25 * time.Minute, true}, {atWork, 3 * time.Minute, false},
		{asks, 2 * time.Minute, true}, {atWork, 15 * time.Minute, false}, {atRest, 8 * time.Minute, true}}
}

func newDay(t *testing.T, overlay string) *day {
	d := &day{workshop: newWorkshop(t), t: t, regs: map[string]fleet.Registration{}, agents: map[string]fleet.AgentRecord{},
		alerts: map[fleet.AlertKey]fleet.Alert{}, triage: fleet.DefaultTriagePolicy()}
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin(), rules.Source{Name: "overlay", Text: []byte(overlay)})
	if err != nil {
		t.Fatal(err)
	}
	d.plans = []fleet.Schedule{shipped(t, "supervisor"), shipped(t, "patrol")}
	for i := range 10 {
		d.enlist(&hand{name: fmt.Sprintf("a%d", i), pid: 100 + i, offset: time.Duration(i) * 11 * time.Minute})
	}
	var actions []act.Action
	for _, do := range []string{"stop", "nudge", "interrupt", "recover", "spawn", "checkpoint", "notify-terminal", "triage"} {
		actions = append(actions, &chore{d: d, do: do})
	}
	d.actor = act.New(act.Options{Actions: actions, Ledger: dayBook{d}, Now: d.now, Workers: 4, Done: func(r fleet.Result) { d.loop.Done(r) }})
	t.Cleanup(d.actor.Close)
	d.loop = loop.New(loop.Options{Board: d, Rules: set, Policy: d.policy, History: d, Act: d.actor, Journal: d,
		Touches: func(string) []fleet.PartName { return []fleet.PartName{fleet.PartAgents} }, Every: dayPatrol, Tick: dayTick, Log: slog.New(slog.DiscardHandler)})
	return d
}

// shipped is the schedule of a formula that comes with Custos, as it says itself.
func shipped(t *testing.T, name string) fleet.Schedule {
	text, file, ok := formulas.Lookup(name)
	if !ok {
		t.Fatalf("there is no formula %s", name)
	}
	f, problems := formula.Parse(file, text)
	if formula.Refused(problems) || len(f.Schedules) != 1 || f.Mode != formula.Steps {
		t.Fatalf("%s: %v, %+v", name, problems, f.Schedules)
	}
	s := fleet.Schedule{Name: name, Every: fleet.Duration(f.Schedules[0].Every), Jitter: fleet.Duration(f.Schedules[0].Jitter), Enabled: true,
		Run: fleet.Run{Formula: name, Mode: fleet.RunSteps, Parallel: f.Parallel, Dir: "/runs"}}
	for _, step := range f.Steps {
		s.Run.Steps = append(s.Run.Steps, fleet.RunStep{ID: step.ID, Needs: step.Needs, Do: fleet.StepUses, Uses: step.Uses,
			Timeout: fleet.Duration(step.Timeout), Safe: step.Safe()})
	}
	if time.Duration(s.Every) != dayPatrol {
		t.Fatalf("%s runs every %s", name, s.Every)
	}
	return s
}

func (d *day) enlist(h *hand) {
	d.hands = append(d.hands, h)
	reg := fleet.Registration{Name: h.name, Kind: "claude", Owner: fleet.OwnerCustos, Where: fleet.WhereTmux, Argv: []string{"claude"}, Dir: "/w/" + h.name, Task: "its task", Restart: fleet.RestartNever}
	reg, err := ledger.Register(nil, reg, ledger.Bounds{}, "ann", d.now())
	if err == nil {
		reg, err = ledger.Started(reg, "i0-"+h.name, d.process(h), d.now())
	}
	if err != nil {
		d.t.Fatal(err)
	}
	reg.PromptState = fleet.DeliveryAcknowledged
	d.regs[h.name] = reg
}

func (d *day) process(h *hand) fleet.ProcessID {
	return fleet.ProcessID{PID: h.pid, Start: uint64(h.pid), Boot: "b"}
}

// at says what an agent does now, since when, and for how long nothing of it moved.
func (h *hand) at(awake time.Duration) (s spell, since, quiet time.Duration) {
	if h.lasts > 0 && awake >= h.hangs && awake < h.hangs+h.lasts {
		return spell{hung, h.lasts, true}, awake - h.hangs, awake - h.hangs
	}
	into := awake + h.offset
	all := time.Duration(0)
	for _, s := range round() {
		all += s.lasts
	}
	into %= all
	for _, s = range round() {
		if into < s.lasts {
			break
		}
		into -= s.lasts
	}
	if quiet = into % (5 * time.Second); s.still {
		quiet = into
	}
	return s, into, quiet
}

// shown describes an agent as the probe would.
func (d *day) shown(h *hand) fleet.Agent {
	reg, rec := d.regs[h.name], d.agents[h.name]
	a := fleet.Agent{Name: h.name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Task: reg.Task, Desired: reg.Desired, Restart: reg.Restart,
		Instance: reg.Instance, PromptState: reg.PromptState, Where: reg.Where, Source: "hook", Progress: fleet.ProgressUnknown, CWD: fleet.Known("/w/" + h.name)}
	if h.ended {
		a.State = fleet.StateStopped
		return a
	}
	s, since, quiet := h.at(time.Since(d.machine.begun))
	dur := func(v time.Duration) fleet.Leaf[fleet.Duration] { return fleet.Known(fleet.Duration(v)) }
	a.Process, a.Procs, a.Age, a.Dwell, a.Quiet = d.process(h), []fleet.ProcessID{d.process(h)}, dur(time.Since(d.machine.begun)+time.Hour), dur(since), dur(quiet)
	a.CPU, a.RSS, a.ComposerEmpty, a.LastHealthy, a.PaneLost, a.ShimLost, a.FolderGone, a.Deaf = fleet.Known(1.0), fleet.Known(gib/2), fleet.Known(true), dur(0), fleet.Known(false), fleet.Known(false), fleet.Known(false), fleet.Known("")
	a.Pane = &fleet.Pane{Session: h.name, Activity: dur(quiet)}
	a.State = map[mood]fleet.AgentState{atWork: fleet.StateWorking, atTool: fleet.StateWorking, hung: fleet.StateWorking, atRest: fleet.StateIdle, asks: fleet.StateWaiting}[s.mood]
	if a.Progress = fleet.ProgressSome; quiet >= dayStill {
		a.Progress = fleet.ProgressNone
	}
	if s.mood == atTool {
		a.Tool = &fleet.ToolCall{Name: "Bash", Age: fleet.Duration(since), Deadline: fleet.Duration(30 * time.Minute)}
		a.Progress = fleet.ProgressUnknown
	}
	if rec.Process == a.Process {
		a.Cycles = rec.Cycles
	}
	v := cli.Settle(cli.Verdict{State: a.State, Source: a.Source}, cli.Reported{}, cli.Silence{Progress: a.Progress, Quiet: a.Quiet, Tool: a.Tool, Lasted: quiet - dayStill, Cycles: a.Cycles})
	if v.State == fleet.StateStuck {
		a.Dwell = dur(quiet - dayStill)
	}
	a.State, a.Reason, a.Source = v.State, v.Reason, v.Source
	return a
}

// Touched implements loop.Board: every look is a new one.
func (d *day) Touched(...fleet.PartName) {}

// Snapshot implements loop.Board.
func (d *day) Snapshot() fleet.Snapshot {
	s := d.workshop.Snapshot()
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Locks.Value = nil
	s.Runs = fleet.Part[[]fleet.RunFacts]{Sight: fleet.Sight{Status: fleet.StatusOK, At: s.At}}
	for _, r := range d.runs {
		s.Runs.Value = append(s.Runs.Value, d.facts(r))
	}
	s.Host.Value = fleet.Host{Name: "h", CPUs: 8, Memory: fleet.Memory{Total: fleet.Known(64 * gib), Available: fleet.Known(32 * gib)},
		Swap: fleet.Swap{Total: fleet.Known[int64](0), Used: fleet.Known[int64](0)}, OOMRecent: fleet.Known[int64](0)}
	s.Self.Value = fleet.Self{LastPatrolAge: fleet.Known(fleet.Duration(0)), JournalWritable: fleet.Known(true), StoreWritable: fleet.Known(true), StoreBytes: fleet.Known[int64](1),
		ClockStep: fleet.Known(fleet.Duration(0)), Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")}}
	for _, h := range d.hands {
		s.Agents.Value = append(s.Agents.Value, d.shown(h))
	}
	return s
}

func (d *day) policy(o fleet.PatrolOrder) fleet.Policy {
	p := d.workshop.policy(o)
	p.Mode, p.Blast, p.Abilities, p.Agents, p.Triage = fleet.ModeAuto, 10, d.actor.Abilities(), fleet.DefaultAgentLimits(), d.triage
	return p
}

// Past implements loop.History.
func (d *day) Past(context.Context, fleet.Instant) (fleet.Past, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := fleet.Past{StartedAt: fleet.Instant{Wall: d.machine.begun.UTC(), Up: fleet.Duration(time.Hour), Boot: "b"}, Patrol: d.patrols, NextAlert: 1,
		Runs: slices.Clone(d.runs), Verdicts: slices.Clone(d.verdicts), Records: recall(d.shared)}
	if n := len(d.entries); n > 0 {
		p.PatrolAt = d.entries[n-1].Snapshot.At
	}
	for _, a := range d.records {
		p.Actions = append(p.Actions, *a)
	}
	for _, k := range slices.SortedFunc(maps.Keys(d.alerts), func(a, b fleet.AlertKey) int { return strings.Compare(a.String(), b.String()) }) {
		p.Alerts = append(p.Alerts, d.alerts[k])
		p.NextAlert = max(p.NextAlert, d.alerts[k].Number+1)
	}
	for _, h := range d.hands {
		p.Registrations = append(p.Registrations, d.regs[h.name])
		if rec, ok := d.agents[h.name]; ok {
			p.Agents = append(p.Agents, rec)
		}
	}
	return p, nil
}

// dayBook is the day as the actor's ledger.
type dayBook struct{ *day }

// Commit implements act.Ledger.
func (b dayBook) Commit(_ context.Context, t fleet.Turn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns = append(b.turns, t)
	b.patrols = max(b.patrols, t.Patrol)
	for _, r := range t.Plan.Runs {
		b.put(r)
	}
	keep(&b.shared, t.Plan.Records)
	for _, a := range t.Assessment.Alerts {
		b.alerts[a.AlertKey] = a
	}
	for _, a := range t.Agents {
		b.agents[a.Name] = a
	}
	for _, r := range t.Plan.Registrations {
		b.regs[r.Name] = r
	}
	for _, a := range t.Plan.Actions {
		b.records = append(b.records, &fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: t.At})
	}
	return nil
}

func (b dayBook) record(id string) *fleet.ActionRecord {
	return b.records[slices.IndexFunc(b.records, func(r *fleet.ActionRecord) bool { return r.ID == id })]
}

// Start implements act.Ledger.
func (b dayBook) Start(_ context.Context, id string, at fleet.Instant) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(id)
	r.Stage, r.StartedAt = fleet.StageStarted, at
	return nil
}

// Finish implements act.Ledger: a verdict that an action brought is kept.
func (b dayBook) Finish(_ context.Context, result fleet.Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(result.ActionID)
	if r.Stage, r.Result = fleet.StageEnded, &result; result.Verdict != nil {
		b.verdicts = append(b.verdicts, *result.Verdict)
	}
	return nil
}

// chore is an action on an agent; "triage" is the judge that counts.
type chore struct {
	d  *day
	do string
}

func (c *chore) Ability() fleet.Ability {
	a := fleet.Ability{Do: c.do, Idempotent: c.do != "triage", Gentle: c.do == "triage", Harmless: c.do == "notify-terminal", Deadline: fleet.Duration(time.Minute),
		Starts: c.do == "recover" || c.do == "spawn"}
	if !a.Harmless {
		a.Touches = []fleet.PartName{fleet.PartAgents}
	}
	return a
}

func (c *chore) Commands(fleet.Action) []fleet.Command { return nil }

func (c *chore) Prepare(_ context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Agent == nil {
		return nil, errors.New("no agent")
	}
	return &work{d: c.d, a: a}, nil
}

// work is one that is being done.
type work struct {
	d *day
	a fleet.Action
	v *fleet.Verdict
}

func (w *work) Do(context.Context) error {
	d := w.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch w.a.Do {
	case "triage":
		w.judge()
	case "stop":
		h := d.hand(w.a.Subject.Name)
		h.ended = true
		reg := d.regs[h.name]
		reg.Desired, reg.Instance = fleet.DesiredStopped, ""
		d.regs[h.name] = reg
	}
	return nil
}

// judge asks the judge, which takes its time, unless this evidence was judged.
func (w *work) judge() {
	d, x := w.d, w.a.Target.Agent
	evidence := fmt.Sprint(x.Name, x.Instance, x.State, w.a.For)
	for _, r := range d.records {
		if r.For == w.a.For && r.Do != "triage" && r.Result != nil {
			evidence += r.Do // another remedy is other evidence
		}
	}
	until := d.now().Add(20 * time.Minute)
	w.v = &fleet.Verdict{ID: w.a.ID, Alert: w.a.For, Evidence: evidence, Word: d.hand(x.Name).says, Until: until, Confidence: 0.9, Judge: "mock", Priced: true, MicroUSD: 3000,
		Free: slices.Contains(d.asked, evidence)}
	if !w.v.Free {
		d.calls, d.asked, d.asking = d.calls+1, append(d.asked, evidence), d.asking+1
		d.most = max(d.most, d.asking)
		d.mu.Unlock()
		time.Sleep(20 * time.Second) // fake
		d.mu.Lock()
		d.asking--
	}
	w.v.At, w.v.Expires = d.now(), d.now().Add(d.expiry)
}

func (w *work) Verify(context.Context) (string, error) { return "done", nil }
func (w *work) Close()                                 {}
func (w *work) Judged() *fleet.Verdict                 { return w.v }

func (d *day) hand(name string) *hand {
	return d.hands[slices.IndexFunc(d.hands, func(h *hand) bool { return h.name == name })]
}

// deeds counts what was done.
func (d *day) deeds() map[string]int {
	n := map[string]int{}
	for _, r := range d.records {
		if r.Result == nil || r.Result.Status != fleet.ResultRefused { // what was not so any more at the instant of acting was not done
			n[r.Do]++
		}
	}
	return n
}

// fired counts the alerts of a rule.
func (d *day) fired(rule string) (n int) {
	was := map[fleet.AlertKey]bool{}
	for _, t := range d.turns {
		for _, a := range t.Assessment.Alerts {
			if is := a.Status == fleet.AlertFiring; a.Rule == rule && is != was[a.AlertKey] {
				if was[a.AlertKey] = is; is {
					n++
				}
			}
		}
	}
	return n
}

// allRun looks that both formulas ran all day, every run to its end.
func (d *day) allRun(t *testing.T) {
	t.Helper()
	runs := map[string]int{}
	for _, r := range d.runs {
		if runs[r.Formula]++; r.State != fleet.RunDone {
			t.Errorf("run %s is %s: %s", r.ID, r.State, r.Why)
		}
		for _, s := range r.Steps {
			if s.State != fleet.StepDone {
				t.Errorf("step %s of run %s is %s: %s", s.ID, r.ID, s.State, s.Why)
			}
		}
	}
	if runs["supervisor"] < 71 || runs["supervisor"] > 73 || runs["patrol"] < 71 || runs["patrol"] > 73 {
		t.Errorf("runs: %v; want 72 of each", runs)
	}
	if len(d.entries) < 72 {
		t.Errorf("%d patrols were journalled", len(d.entries))
	}
	t.Logf("%d passes, %d patrols, runs %v, %d calls, done %v", len(d.turns), len(d.entries), runs, d.calls, d.deeds())
}

// longDay skips a day that tells little more than those that CI lives through, a
// minute each with the race detector: make town lives through all.
func longDay(t *testing.T) {
	t.Helper()
	if os.Getenv("CUSTOS_TOWN") == "" {
		t.Skip("lived through by make town")
	}
}
