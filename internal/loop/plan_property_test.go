package loop

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
	"custos/internal/recording"
	"custos/internal/rules"
	"custos/internal/store"
)

// TestAPlanIsWhatIsDone lets a small fleet live for a few passes, on a real database. Of
// each pass the plan is looked at first. Then it is taken, on the same facts:
//   - the turn is the plan, rows and all, and so is the plan of a recording of it;
//   - each record that was to move has moved from where, and to where, it was said;
//   - no other record has moved;
//   - what was said to be held back is where it was.
//
// CUSTOS_HISTORIES sets how many fleets there are: a twentieth of it, 200 at most.
func TestAPlanIsWhatIsDone(t *testing.T) {
	fleettest.Checks(t, min(fleettest.Histories(t)/20, 200))
	if fleettest.Raced {
		fleettest.Checks(t, 3)
	}
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	moved, held := map[fleet.Kind]int{}, map[fleet.Kind]int{}
	rapid.Check(t, func(r *rapid.T) {
		w := newHamlet(t, r)
		defer w.st.Close()
		w.loop = New(Options{Board: w, Rules: set, Policy: func(fleet.PatrolOrder) fleet.Policy { return w.policy }, History: w.st, Act: w, Every: time.Hour, Tick: time.Hour,
			Touches: func(string) []fleet.PartName { return nil }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		for range rapid.IntRange(2, 8).Draw(r, "passes") {
			w.happen()
			w.pass(moved, held)
		}
	})
	t.Logf("moved: %v, held back: %v", moved, held)
	if t.Failed() || fleettest.Histories(t) < 2000 || fleettest.Raced {
		return
	}
	for _, k := range []fleet.Kind{fleet.KindGate, fleet.KindConvoy, fleet.KindWork, fleet.KindMail, fleet.KindRun, fleet.KindOrder, fleet.KindAgent} {
		if moved[k] == 0 {
			t.Errorf("no %s moved: the fleet is too tame", k)
		}
	}
	for _, k := range []fleet.Kind{fleet.KindGate, fleet.KindMail, fleet.KindRun, fleet.KindSchedule, fleet.KindPool, fleet.KindAgent} {
		if held[k] == 0 {
			t.Errorf("no %s was held back: the fleet is too tame", k)
		}
	}
}

// hamlet is a small fleet: what is seen of it, and its database.
type hamlet struct {
	t      *testing.T
	r      *rapid.T
	dir    string
	st     *store.Store
	loop   *Loop
	now    time.Duration
	policy fleet.Policy
	snap   fleet.Snapshot
	done   fleet.Turn
	names  []string
}

func newHamlet(t *testing.T, r *rapid.T) *hamlet {
	w := &hamlet{t: t, r: r, dir: t.TempDir(), names: []string{"ant", "bee", "cat"}}
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(w.dir, "custos.db"), StartedAt: w.at()})
	w.must(err)
	w.st = st
	for i, name := range w.names {
		reg, err := ledger.Register(nil, fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Where: fleet.WhereHeadless, Argv: []string{"claude"}, Dir: "/w/" + name,
			Project: "shop", Role: "dev", Restart: fleet.RestartOnFailure}, ledger.Bounds{}, "ann", w.at())
		w.must(err)
		reg, err = ledger.Started(reg, "i-"+name, w.process(i), w.at())
		w.must(err)
		_, err = w.st.Register(t.Context(), reg, w.at())
		w.must(err)
	}
	w.snap.From = fleet.Vantage{Host: "h", Boot: "b"}
	for _, do := range []string{"nudge", "spawn", "stop", "recover", "checkpoint", "run-step", "end-step", "prepare-run"} {
		if w.policy.Abilities == nil {
			w.policy.Abilities = map[string]fleet.Ability{}
		}
		w.policy.Abilities[do] = fleet.Ability{Do: do, Idempotent: do != "nudge", Starts: do == "spawn" || do == "recover", Deadline: fleet.Duration(time.Minute)}
	}
	w.policy.Agents = fleet.DefaultAgentLimits()
	w.policy.Handoff = fleet.DefaultHandoffPolicy()
	w.policy.Handoff.For = []string{"*"}
	w.policy.Budget = fleet.Attempts{Max: 100, In: fleet.Duration(time.Hour)}
	w.policy.Pools = []fleet.Pool{{Name: "dev", Role: "dev", Project: "shop", Kind: "claude", Prompt: "work", Where: fleet.WhereHeadless, Dir: "/w", Min: w.n(2, "least"), Max: 2, Idle: fleet.Duration(30 * time.Minute)}}
	return w
}

func (w *hamlet) must(err error) {
	w.t.Helper()
	switch {
	case err != nil && w.r == nil:
		w.t.Fatal(err)
	case err != nil:
		w.r.Fatal(err)
	}
}

// n is a random number; 0 where nothing is left to chance.
func (w *hamlet) n(below int, what string) int {
	if w.r == nil {
		return 0
	}
	return rapid.IntRange(0, below-1).Draw(w.r, what)
}

func (w *hamlet) at() fleet.Instant {
	passed := w.now + time.Hour
	return fleet.Instant{Wall: time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC).Add(passed), Up: fleet.Duration(passed), Boot: "b"}
}

func (w *hamlet) process(i int) fleet.ProcessID {
	return fleet.ProcessID{PID: 100 + i, Start: uint64(i + 1), Boot: "b"}
}

// ---- what happens ---------------------------------------------------------------

// happen lets time pass, and people, agents and the world do something.
func (w *hamlet) happen() {
	w.now += rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Minute, 16 * time.Minute, time.Hour}).Draw(w.r, "time")
	for range w.n(4, "edits") {
		w.edit()
	}
	w.cancel()
	w.policy.Mode = rapid.SampledFrom([]fleet.Mode{fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAsk, fleet.ModeObserve}).Draw(w.r, "mode")
	w.policy.Frozen = rapid.SampledFrom([]string{"", "", "", "ann: wait"}).Draw(w.r, "frozen")
	w.policy.Pools[0].Disabled = w.n(5, "pool off") == 0
	step := fleet.RunStep{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}, Retries: 1}
	second := fleet.RunStep{ID: "b", Do: fleet.StepRun, Argv: []string{"true"}, Needs: []string{"a"}, Gate: &fleet.Gate{Type: fleet.GateHuman, Title: "go on"}}
	w.policy.Runs.Schedules = []fleet.Schedule{
		{Name: "hourly", Every: fleet.Duration(time.Hour), Enabled: w.n(4, "hourly off") > 0, Run: fleet.Run{Formula: "hourly", Mode: fleet.RunSteps, Dir: "/runs", Steps: []fleet.RunStep{step, second}}},
		{Name: "plugin:tidy", Rest: fleet.Duration(10 * time.Minute), Enabled: true, Run: fleet.Run{Formula: "plugin:tidy", Mode: fleet.RunSteps, Dir: "/runs", Queue: "plugins", Steps: []fleet.RunStep{step}}},
		{Name: "told", On: "trigger:go", Enabled: true, Run: fleet.Run{Formula: "told", Mode: fleet.RunSteps, Dir: "/runs", Queue: "plugins", Steps: []fleet.RunStep{step}}},
	}
	w.look()
}

// cancel is a person who takes orders back.
func (w *hamlet) cancel() {
	open, err := w.st.Orders(w.t.Context(), store.OrderFilter{Open: true})
	w.must(err)
	for _, o := range open {
		if o.Action == "" && w.n(4, "taken back") == 0 {
			w.must(w.st.EndOrder(w.t.Context(), o.ID, fleet.OrderRefused, "ann took it back", w.at()))
		}
	}
}

// edit is what a person or an agent writes down.
func (w *hamlet) edit() {
	at, name := w.at(), rapid.SampledFrom(w.names).Draw(w.r, "who")
	what, gate, from := w.n(7, "edit"), w.gate(name), rapid.SampledFrom([]string{"ann", fleet.ByAgent("bee")}).Draw(w.r, "from")
	to, taker, regs := rapid.SampledFrom([]string{name, "overseer"}).Draw(w.r, "to"), []string{"", name}[w.n(2, "agent")], w.registrations()
	_, err := w.st.EditRecords(w.t.Context(), at, func(all fleet.Records) (out fleet.Records, err error) {
		switch what {
		case 0:
			g, err := ledger.AddGate(all, gate, "ann", at)
			return fleet.Records{Gates: []fleet.Gate{g}}, err
		case 1:
			item, err := ledger.AddWork(fleet.WorkItem{Title: "work", Project: "shop", Agent: taker}, "ann", at)
			return fleet.Records{Work: []fleet.WorkItem{item}}, err
		case 2:
			m, err := ledger.SendMail(all, ledger.AddressesOf(regs), fleet.Mail{To: []string{to}, Subject: "hello"}, from, at)
			return fleet.Records{Mails: []fleet.Mail{m}}, err
		case 3:
			return fleet.Records{Triggers: []fleet.Trigger{{Name: "go", By: "ann", At: at}}}, nil
		case 4:
			c, err := ledger.AddConvoy(all, fleet.Convoy{Title: "together"}, []fleet.Ref{"shop#1"}, "ann", at)
			return fleet.Records{Convoys: []fleet.Convoy{c}}, err
		case 5:
			d, err := ledger.AddDependency(all, "shop#2", "shop#1", "ann", at)
			return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
		}
		for _, item := range all.Work {
			if !item.Over() {
				closed, err := ledger.CloseWork(item, "", "", "ann", at)
				return fleet.Records{Work: []fleet.WorkItem{closed}}, err
			}
		}
		return out, nil
	})
	_ = err // what is not lawful is not written
}

func (w *hamlet) gate(waiter string) fleet.Gate {
	g := fleet.Gate{Title: "a gate", Waiters: []string{waiter}}
	switch w.n(3, "gate") {
	case 0:
		g.Type, g.Until = fleet.GateTimer, w.at().Add(10*time.Minute)
	case 1:
		g.Type, g.On = fleet.GateEvent, "trigger:go"
	default:
		g.Type, g.Of = fleet.GatePull, "shop!7"
	}
	return g
}

func (w *hamlet) registrations() []fleet.Registration {
	past, err := w.st.Past(w.t.Context(), w.at())
	w.must(err)
	return past.Registrations
}

// look is what the probes see now.
func (w *hamlet) look() {
	at := w.at()
	w.snap.At = at
	for _, name := range fleet.PartNames() {
		*w.snap.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: at}
	}
	for _, name := range []fleet.PartName{fleet.PartAgents, fleet.PartForge, fleet.PartRuns} {
		if w.n(6, "blind") == 0 {
			*w.snap.Sight(name) = fleet.Sight{Status: fleet.StatusStale, At: at, Why: "it does not answer"}
		}
	}
	w.snap.Forge.Value = fleet.Forge{Projects: []fleet.Project{{Name: "shop", Owner: fleet.OwnerConfigured, Ready: fleet.Known(1), Active: fleet.Known(true)}}}
	for i := range 2 {
		w.snap.Forge.Value.Issues = append(w.snap.Forge.Value.Issues, fleet.Issue{Name: fleet.IssueName("shop", i+1), Project: "shop", Number: i + 1, Title: "issue", Owner: fleet.OwnerConfigured,
			Open: fleet.Known(w.n(2, "open") == 0), Ready: fleet.Known(w.n(2, "ready") == 0), Taken: fleet.Known(false), BlockedBy: fleet.Known[[]string](nil)})
	}
	past, err := w.st.Past(w.t.Context(), at)
	w.must(err)
	w.snap.Agents.Value, w.snap.Runs.Value = nil, nil
	for i, reg := range past.Registrations {
		w.snap.Agents.Value = append(w.snap.Agents.Value, w.agent(i, reg))
	}
	for _, run := range past.Runs {
		w.snap.Runs.Value = append(w.snap.Runs.Value, w.run(run))
	}
}

func (w *hamlet) agent(i int, reg fleet.Registration) fleet.Agent {
	a := fleet.Agent{Name: reg.Name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Instance: cmp.Or(reg.Instance, "i-"+reg.Name), Process: reg.Process, Source: "hook", Desired: reg.Desired,
		Dwell: fleet.Known(fleet.Duration(time.Hour)), ContextPercent: fleet.Known(float64(50 + 40*w.n(2, "full"))), ComposerEmpty: fleet.Known(true), PromptState: fleet.DeliveryAcknowledged}
	a.State = rapid.SampledFrom([]fleet.AgentState{fleet.StateIdle, fleet.StateIdle, fleet.StateWorking, fleet.StateUnknown}).Draw(w.r, "state")
	switch {
	case reg.Instance == "":
		a.Process = w.process(1000 + i + int(w.now/time.Second)) // what was ordered is there
	case reg.Exit != nil || w.n(6, "dies") == 0:
		a.State, a.Process = fleet.StateCrashed, fleet.ProcessID{}
		a.Exit = &fleet.Exit{Instance: reg.Instance, Process: reg.Process, Status: fleet.Known(w.n(2, "status")), At: w.at(), Source: "shim"}
		if reg.Exit != nil {
			a.Exit = reg.Exit
		}
	}
	return a
}

func (w *hamlet) run(r fleet.Run) fleet.RunFacts {
	f := fleet.RunFacts{ID: r.ID, State: r.State, Formula: r.Formula, Ready: true, Phase: fleet.Known(fleet.Phrase{}), Locked: fleet.Known(""), Lives: fleet.Known(false), Reply: fleet.Known(false)}
	for _, s := range r.Steps {
		f.Steps = append(f.Steps, fleet.StepFacts{Step: s.ID, Attempt: s.Attempt + 1, State: fleet.ProcNone})
		if s.Attempt > 0 {
			f.Steps = append(f.Steps, fleet.StepFacts{Step: s.ID, Attempt: s.Attempt, State: rapid.SampledFrom([]fleet.ProcState{fleet.ProcRunning, fleet.ProcEnded, fleet.ProcUnknown}).Draw(w.r, "process"),
				Status: fleet.Known(w.n(2, "exit"))})
		}
	}
	return f
}

// First, Await, Touched and Snapshot implement Board.
func (w *hamlet) First(context.Context)                    {}
func (w *hamlet) Await(context.Context, ...fleet.PartName) {}
func (w *hamlet) Touched(...fleet.PartName)                {}
func (w *hamlet) Snapshot() fleet.Snapshot                 { return w.snap }
func (w *hamlet) Wait(context.Context) error               { return nil }
func (w *hamlet) Start(ctx context.Context, t fleet.Turn) error {
	w.done = t
	return w.st.Commit(ctx, t)
}

// ---- what is checked ------------------------------------------------------------

// pass looks at the plan, takes it, and holds the one against what the other left.
func (w *hamlet) pass(moved, held map[fleet.Kind]int) {
	ctx := w.t.Context()
	was := w.states()
	shown, err := w.loop.think(ctx, false, fleet.PatrolOrder{})
	w.must(err)
	text, err := recording.Encode(fleet.Recording{Snapshot: shown.Snapshot, Past: shown.Past, Policy: shown.Policy, Rules: "[rule]"})
	w.must(err)
	recorded, err := recording.Decode(text, "")
	w.must(err)
	if a, b := w.text(shown.Plan.Moves, shown.Plan.Held), w.text(Judge(w.loop.o.Rules, recorded).Plan.Moves, Judge(w.loop.o.Rules, recorded).Plan.Held); a != b {
		w.r.Fatalf("of a recording the plan is another:\n%s\n%s", a, b)
	}
	_, err = w.loop.turn(ctx, false, fleet.PatrolOrder{})
	w.must(err)
	if a, b := w.text(shown.Plan, shown.Plan.Changes), w.text(w.done.Plan, w.done.Plan.Changes); a != b {
		w.r.Fatalf("shown was\n%s\nand done is\n%s", a, b)
	}
	w.compare(shown.Plan, was, w.states())
	for _, m := range shown.Plan.Moves {
		moved[m.Record.Kind]++
	}
	for _, h := range shown.Plan.Held {
		held[h.Record.Kind]++
	}
	w.finish()
}

// compare holds the moves of a plan against the records before and after it.
func (w *hamlet) compare(p fleet.Plan, was, is map[string]string) {
	told := map[string]bool{}
	for _, m := range p.Moves {
		key := m.Record.String()
		if _, known := was[key]; known && m.Record.Kind == fleet.KindMail && len(m.Told) == 1 && !m.Noted() {
			key += " for " + m.Told[0]
		} else if m.From == "" && is[key] == "" {
			key = cmp.Or(is["key "+m.Record.Name], key) // it has its number now
		}
		if told[key] = true; m.Noted() || m.Record.Kind == fleet.KindTrigger {
			continue
		}
		if was[key] != m.From || is[key] != m.To {
			w.r.Fatalf("%s was to move from %q to %q: it was %q and is %q", m.Record, m.From, m.To, was[key], is[key])
		}
	}
	for key, state := range is {
		if was[key] != state && !told[key] && key[:4] != "key " && !w.isWithin(key, told) {
			w.r.Fatalf("nothing told that %s moves from %q to %q", key, was[key], state)
		}
	}
	for _, h := range p.Held {
		if key := h.Record.String(); h.From != "" && h.From == was[key] && is[key] == h.To {
			w.r.Fatalf("%s was held back from %s, and is %s", key, h.To, is[key])
		}
	}
}

// isWithin says whether what is told covers a part of a record: the copies of new mail,
// and the steps of a new run.
func (w *hamlet) isWithin(key string, told map[string]bool) bool {
	for whole := range told {
		if len(key) > len(whole) && key[:len(whole)] == whole && (key[len(whole)] == '/' || key[len(whole)] == ' ') {
			return true
		}
	}
	return false
}

// states are where all records are, as they are written in the database.
func (w *hamlet) states() map[string]string {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "custos.db")+"?mode=ro")
	w.must(err)
	defer db.Close()
	out := map[string]string{}
	put := func(kind fleet.Kind, h fleet.Head, state any) {
		out[string(kind)+"/"+h.ID] = fmt.Sprint(state)
		if h.Key != "" {
			out["key "+h.Key] = string(kind) + "/" + h.ID
		}
	}
	for _, v := range rows[fleet.Gate](w, db, "gates") {
		put(fleet.KindGate, v.Head, v.State)
	}
	for _, v := range rows[fleet.WorkItem](w, db, "work") {
		put(fleet.KindWork, v.Head, v.State)
	}
	for _, v := range rows[fleet.Convoy](w, db, "convoys") {
		put(fleet.KindConvoy, v.Head, v.State)
	}
	for _, v := range rows[fleet.Dependency](w, db, "dependencies") {
		out["work/"+fleet.DependencyKey(v.Of, v.Needs)] = string(v.State)
	}
	for _, v := range rows[fleet.Mail](w, db, "mails") {
		put(fleet.KindMail, v.Head, "new")
		for _, c := range v.Copies {
			out["mail/"+v.ID+" for "+c.To] = string(c.State)
		}
	}
	for _, v := range rows[fleet.Order](w, db, "orders") {
		out["order/"+v.ID] = string(v.State)
	}
	runs, err := w.st.Runs(w.t.Context(), fleet.RunFilter{Limit: 1000})
	w.must(err)
	for _, v := range runs {
		out["run/"+v.ID] = string(v.State)
		for _, s := range v.Steps {
			out["run/"+v.ID+"/"+s.ID] = string(s.State)
			if s.State == fleet.StepRunning && s.End != "" {
				out["run/"+v.ID+"/"+s.ID] += ", being ended"
			}
		}
	}
	for _, v := range rows[fleet.Registration](w, db, "registrations") {
		out["agent/"+v.Name] = wanted(v)
	}
	return out
}

func wanted(r fleet.Registration) string {
	out := "wanted " + string(r.Desired)
	if r.Failed != "" {
		out += ", given up"
	}
	if h := r.Handoff; h != nil && h.Stage != fleet.HandoffDone && (h.Instance == r.Instance || h.Stage == fleet.HandoffStarting) {
		out += ", hand-off " + string(h.Stage)
	}
	return out
}

func rows[T any](w *hamlet, db *sql.DB, table string) (out []T) {
	list, err := db.Query("SELECT json FROM " + table)
	w.must(err)
	defer list.Close()
	for list.Next() {
		var text string
		var v T
		w.must(list.Scan(&text))
		w.must(json.Unmarshal([]byte(text), &v))
		out = append(out, v)
	}
	w.must(list.Err())
	return out
}

// finish ends each action that was planned, well or not.
func (w *hamlet) finish() {
	ctx := w.t.Context()
	for _, a := range w.done.Plan.Actions {
		if w.n(3, "goes on") == 0 { // always, where nothing is left to chance
			continue
		}
		w.must(w.st.Start(ctx, a.ID, w.at()))
		w.must(w.st.Finish(ctx, fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Began: w.at(), Ended: w.at(),
			Status: rapid.SampledFrom([]fleet.ResultStatus{fleet.ResultDone, fleet.ResultDone, fleet.ResultFailed, fleet.ResultRefused}).Draw(w.r, "result"), Why: "so"}))
	}
}

func (w *hamlet) text(values ...any) string {
	b, err := json.MarshalIndent(values, "", " ")
	w.must(err)
	return string(b)
}
