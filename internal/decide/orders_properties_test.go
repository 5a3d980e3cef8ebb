package decide

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/decide/follow/registry"
	"custos/internal/fleet"
)

// TestOrderHistories plays random histories of a small crew whose agents die, are
// ordered about by people, agents and Custos, and are wished at by rules that do
// not care for the truth. It counts for itself what Decide must keep.
func TestOrderHistories(t *testing.T) {
	checks(t, 10)
	for shard := range 2 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newShip(t).sail() })
		})
	}
}

// hand is the truth about one agent.
type hand struct {
	agent   fleet.Agent
	stopped int // number of the last order of a person to stop it; 0: a person started it since, or never stopped it
	begins  int
	quit    bool // a person ended it at its terminal
}

// ship is one history.
type ship struct {
	t      *rapid.T
	sim    *sim // for its clock, and its way to end actions
	hands  map[string]*hand
	regs   map[string]fleet.Registration
	orders []fleet.Order
	number map[string]int // order: when it was given
	deaths []fall
	policy fleet.Policy
}

// fall is a death that nobody asked for.
type fall struct {
	name string
	at   stamp
	lost bool // its agent was spawned since, which leaves no record of the death
}

var shipNames = []string{"a", "b", "c", "d", "e", "f"}

func newShip(t *rapid.T) *ship {
	s := &ship{t: t, hands: map[string]*hand{}, regs: map[string]fleet.Registration{}, number: map[string]int{}}
	s.sim = &sim{t: t, now: stamp{true: time.Hour}, acked: map[fleet.AlertKey]stamp{}}
	s.policy = fleet.Policy{Mode: fleet.ModeAuto, Agents: fleet.DefaultAgentLimits(), Abilities: newWorld().policy.Abilities}
	s.policy.Budget = fleet.Attempts{Max: rapid.IntRange(0, 3).Draw(t, "budget"), In: fleet.Duration(pick(t, "budget in", []time.Duration{time.Hour, 5 * time.Minute}))}
	s.policy.Agents.MaxAgents = rapid.IntRange(1, 6).Draw(t, "most")
	s.policy.Agents.AfterReboot = pick(t, "after a reboot", []fleet.Mode{"", fleet.ModeObserve, fleet.ModeAsk, fleet.ModeAuto, fleet.ModeAuto})
	s.policy.Agents.Hold = fleet.Duration(pick(t, "hold", []time.Duration{0, 3 * time.Second, 30 * time.Second, 10 * time.Minute}))
	s.policy.Agents.Orders.Attempts.In = fleet.Duration(pick(t, "in", []time.Duration{time.Hour, 5 * time.Minute}))
	for _, name := range shipNames[:5] {
		s.regs[name] = fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Revision: 1,
			Restart: pick(t, "restart", []fleet.Restart{fleet.RestartAlways, fleet.RestartOnFailure, fleet.RestartOnFailure, fleet.RestartNever}),
			Account: pick(t, "account", []string{"", "acme", "acme"}), Instance: name + "0"}
		s.start(name)
	}
	s.hands["x"] = &hand{agent: fleet.Agent{Name: "x", Owner: fleet.OwnerForeign, Process: fleet.ProcessID{PID: 900}, State: fleet.StateIdle}}
	return s
}

func (s *ship) start(name string) {
	h := s.hands[name]
	if h == nil {
		h = &hand{}
		s.hands[name] = h
	}
	h.begins++
	h.quit = false
	reg := s.regs[name]
	h.agent = fleet.Agent{Name: name, Owner: fleet.OwnerCustos, Registered: true, Account: reg.Account, Progress: fleet.ProgressSome,
		State: fleet.StateWorking, Process: fleet.ProcessID{PID: 100*int(name[0]) + h.begins}, Pane: &fleet.Pane{}}
	reg.Instance, reg.Process, reg.Exit = fmt.Sprint(name, h.begins), h.agent.Process, nil
	s.regs[name] = reg
}

func (s *ship) end(name string, e fleet.Exit, state fleet.AgentState) {
	a := &s.hands[name].agent
	if a.Process.PID == 0 {
		return
	}
	e.At, e.Process, e.Instance = s.sim.instant(s.sim.now), a.Process, s.regs[name].Instance
	a.Process, a.State, a.Exit, a.Tool, a.Dialog = fleet.ProcessID{}, state, &e, nil, nil
	if e.Failed() && !e.Rebooted() {
		s.deaths = append(s.deaths, fall{name: name, at: s.sim.now})
	}
}

// live lets time pass and the agents do what they like.
func (s *ship) live() {
	t := s.t
	s.sim.now.true += pick(t, "wait", []time.Duration{time.Second, 5 * time.Second, time.Minute, 6 * time.Minute, 40 * time.Minute})
	if rarely(t, "reboot", 5) {
		s.reboot()
		return
	}
	for _, name := range shipNames {
		h := s.hands[name]
		if h == nil {
			continue
		}
		switch a := &h.agent; rapid.IntRange(0, 9).Draw(t, "life of "+name) {
		case 0, 1:
			s.end(name, fleet.Exit{Signal: fleet.Known(9)}, fleet.StateCrashed)
		case 2:
			s.end(name, fleet.Exit{Status: fleet.Known(0)}, fleet.StateFinished)
		case 3:
			h.quit = h.quit || a.Process.PID != 0
			s.end(name, pick(t, "quits by", []fleet.Exit{{Status: fleet.Known(0), Quit: "q"}, {Signal: fleet.Known(2), Quit: "q"}}), fleet.StateStopped)
		case 4:
			s.end(name, pick(t, "ends by", []fleet.Exit{{Signal: fleet.Known(1)}, {Signal: fleet.Known(2)}, {Signal: fleet.Known(15)},
				{Status: fleet.Known(130)}, {Status: fleet.Known(0), Server: "/s"}}), fleet.StateCrashed)
		default:
			if a.Process.PID != 0 {
				s.livesOn(a)
			}
		}
	}
}

// reboot ends everything at once. Of some the shim could still tell how.
func (s *ship) reboot() {
	s.sim.now.boot++
	s.sim.booted = s.sim.now.true
	for _, name := range shipNames {
		h := s.hands[name]
		if h == nil || h.agent.Process.PID == 0 {
			continue
		}
		x := fleet.Exit{Source: fleet.ExitReboot}
		told := rapid.Bool().Draw(s.t, "the shim told of "+name)
		if told {
			x.Signal = fleet.Known(1)
		}
		if s.end(name, x, fleet.StateStopped); !told {
			h.agent.Exit.At = fleet.Instant{}
		}
	}
}

func (s *ship) livesOn(a *fleet.Agent) {
	t := s.t
	a.State = pick(t, "state", []fleet.AgentState{fleet.StateWorking, fleet.StateIdle, fleet.StateIdle, fleet.StateStuck, fleet.StateWaiting, fleet.StateRateLimited, fleet.StateUnknown})
	a.Progress = pick(t, "progress", []fleet.Progress{fleet.ProgressSome, fleet.ProgressNone, fleet.ProgressNone, fleet.ProgressUnknown})
	a.ComposerEmpty = pick(t, "composer", []fleet.Leaf[bool]{fleet.Known(true), fleet.Known(true), fleet.Known(false), fleet.Unknown[bool]("x")})
	a.Attached = rapid.IntRange(0, 1).Draw(t, "attached")
	a.Pane.Activity = pick(t, "activity", []fleet.Leaf[fleet.Duration]{fleet.Known(fleet.Duration(time.Second)), fleet.Known(fleet.Duration(time.Hour)), fleet.Unknown[fleet.Duration]("x")})
	a.Tool, a.Dialog, a.RateLimitedUntil = nil, nil, fleet.Instant{}
	if rarely(t, "tool", 4) {
		a.Tool = &fleet.ToolCall{Name: "Bash", Age: fleet.Duration(pick(t, "age", []time.Duration{time.Minute, time.Hour})), Deadline: fleet.Duration(30 * time.Minute)}
	}
	if a.State == fleet.StateWaiting {
		a.Dialog = &fleet.Dialog{Hash: pick(t, "dialog", []string{"d1", "d2"})}
	}
	if a.State == fleet.StateRateLimited && rapid.Bool().Draw(t, "told") {
		a.RateLimitedUntil = s.sim.instant(s.sim.now).Add(pick(t, "reset", []time.Duration{-2 * time.Minute, time.Minute, time.Hour}))
	}
}

func (s *ship) orderSomething() {
	for range rapid.IntRange(0, 3).Draw(s.t, "orders") {
		do := pick(s.t, "do", []fleet.OrderDo{fleet.OrderSpawn, fleet.OrderNudge, fleet.OrderNudge, fleet.OrderAnswer, fleet.OrderInterrupt, fleet.OrderStop,
			fleet.OrderStop, fleet.OrderRecover, fleet.OrderRecover, fleet.OrderBackup, fleet.OrderPause, fleet.OrderResume})
		o := fleet.Order{ID: fmt.Sprint("o", len(s.number)+1), Do: do, Agent: pick(s.t, "agent", append([]string{"x"}, shipNames...)),
			By: pick(s.t, "by", []string{"ann", "ann", "bob", "agent/b", fleet.ByCustos, ""}), At: s.sim.instant(s.sim.now), State: fleet.OrderOpen,
			Text: "t", Dialog: pick(s.t, "dialog", []string{"d1", "d2"})}
		if do == fleet.OrderSpawn && rapid.Bool().Draw(s.t, "new") {
			o.Spawn = &fleet.Registration{Name: o.Agent, Kind: "claude", Owner: fleet.OwnerCustos, Account: "acme"}
		}
		s.number[o.ID] = len(s.number) + 1
		s.orders = append(s.orders, o)
	}
}

// common is the alert of a common cause. It fires as it likes.
var common = fleet.AlertKey{Rule: ruleStorm, Subject: fleet.Subject{Kind: fleet.KindHost, Name: "h"}}

// inputs are what Decide is given.
func (s *ship) inputs() (fleet.Snapshot, fleet.Assessment, fleet.Past) {
	t := s.t
	snap := s.sim.look()
	found := fleet.Assessment{Rules: map[string]fleet.Remedy{"r": {Mode: fleet.ModeAuto, Cooldown: fleet.Duration(time.Second),
		Attempts: fleet.Attempts{Max: 2, In: fleet.Duration(30 * time.Minute)}}}}
	snap.Host.Value.Memory.Available = pick(t, "memory", []fleet.Leaf[int64]{fleet.Known(int64(9 << 30)), fleet.Known(int64(9 << 30)), fleet.Known(int64(1)), fleet.Unknown[int64]("x")})
	for _, name := range append([]string{"x"}, shipNames...) {
		h := s.hands[name]
		if h == nil {
			continue
		}
		a := h.agent
		snap.Agents.Value = append(snap.Agents.Value, a)
		key := fleet.AlertKey{Rule: "r", Subject: agentSubject(name)}
		f := fleet.Finding{AlertKey: key, Firing: true, Fresh: true, Since: s.sim.instant(stamp{}), Parts: []fleet.PartName{fleet.PartAgents}}
		if rarely(t, "told of a common cause", 3) {
			f.CausedBy = []fleet.AlertKey{common}
		}
		for _, do := range []string{doRecover, doStop, doInterrupt, doNudge, doAnswer} {
			if rapid.Bool().Draw(t, "wish "+do) {
				f.Wishes = append(f.Wishes, fleet.Wish{Do: do, Subject: key.Subject, Target: fleet.Target{Agent: &a}})
			}
		}
		found.Findings = append(found.Findings, f)
	}
	found.Alerts = []fleet.Alert{{AlertKey: common, Status: pick(t, "common cause", []fleet.AlertStatus{fleet.AlertFiring, fleet.AlertResolved})}}
	past := fleet.Past{Newest: s.sim.past.Newest, Actions: s.sim.records()}
	for _, name := range shipNames {
		if reg, ok := s.regs[name]; ok {
			past.Registrations = append(past.Registrations, reg)
		}
	}
	for _, o := range s.orders {
		if !o.IsOver() {
			past.Orders = append(past.Orders, o)
		}
	}
	return snap, found, past
}

func (s *ship) sail() {
	for range rapid.IntRange(2, 8).Draw(s.t, "passes") {
		s.live()
		for _, e := range s.sim.log {
			if e.open && e.ends <= s.sim.now.true {
				s.finish(e)
			}
		}
		s.orderSomething()
		s.policy.Frozen = ""
		if rarely(s.t, "frozen", 12) {
			s.policy.Frozen = "by ann"
		}
		snap, found, past := s.inputs()
		before := encode(s.policy, snap, found, past)
		plan := Decide(s.policy, snap, found, past)
		if !bytes.Equal(before, encode(s.policy, snap, found, past)) {
			s.t.Fatal("Decide changed its inputs")
		}
		if again := Decide(s.policy, snap, found, past); !bytes.Equal(encode(plan), encode(again)) {
			s.t.Fatal("the same inputs gave two plans")
		}
		for _, o := range past.Orders {
			if n := s.number[o.ID]; o.Do == fleet.OrderStop && fleet.IsPerson(o.By) && s.hands[o.Agent] != nil && o.Agent != "x" {
				s.hands[o.Agent].stopped = max(n, s.hands[o.Agent].stopped)
			}
		}
		s.check(snap, past, plan)
		s.write(snap, past, plan)
	}
}

// check counts what every plan must keep.
func (s *ship) check(snap fleet.Snapshot, past fleet.Past, plan fleet.Plan) {
	starting, running := s.starting(), 0
	for _, h := range s.hands {
		if h.agent.Owner == fleet.OwnerCustos && h.agent.Process.PID != 0 {
			running++
		}
	}
	for i, a := range plan.Actions {
		fail := func(why string) { s.t.Fatalf("%s on %s (order %q by %q): %s", a.Do, a.Subject, a.Order, a.By, why) }
		if s.policy.Frozen != "" {
			fail("frozen")
		}
		if !snap.Agents.Fresh() {
			fail("agents were not seen well")
		}
		if slices.ContainsFunc(plan.Actions[:i], func(o fleet.Action) bool { return o.Subject == a.Subject }) ||
			slices.ContainsFunc(past.Actions, func(r fleet.ActionRecord) bool { return r.Open() && r.Subject == a.Subject }) {
			fail("two on one subject")
		}
		if s.isRebooted(a) {
			for _, o := range plan.Actions[:i] {
				if s.isRebooted(o) {
					fail("two at once after a reboot: " + o.Subject.String())
				}
			}
		}
		if starts(a.Do) {
			if starting++; running+starting > s.policy.Agents.MaxAgents {
				fail("too many agents")
			}
			if m, known := snap.Host.Value.Memory.Available.Get(); !known || m < s.policy.Agents.SpawnMemory || !snap.Host.Fresh() {
				fail("memory is not known to be there")
			}
		}
		s.checkAction(a, fail)
		s.checkInLine(past, plan, a, fail)
	}
	s.checkAnswers(past, plan)
	s.checkBudget(plan)
	for _, k := range plan.Skipped {
		s.checkRefusal(k)
	}
}

// isWindow says whether a guard is one that holds back rules, never a person.
func isWindow(g fleet.Guard) bool {
	return g == fleet.GuardCooldown || g == fleet.GuardAttempts || g == fleet.GuardBudget
}

// checkBudget counts for itself what nobody but Custos and agents wanted: nudges,
// starts, and everything else, each against the budget.
func (s *ship) checkBudget(plan fleet.Plan) {
	allowance := func(do string) string {
		return map[string]string{doNudge: "nudges", doSpawn: "starts", doRecover: "starts"}[do]
	}
	spent, planned := map[string]int{}, map[string]int{}
	for _, e := range s.sim.log {
		tried := e.open || isReal(&e.record) && s.sim.since(e.moment) < time.Duration(s.policy.Budget.In)
		if tried && !fleet.IsPerson(e.record.By) && e.record.Do != doCheckpoint {
			spent[allowance(e.record.Do)]++
		}
	}
	for _, a := range plan.Actions {
		if !fleet.IsPerson(a.By) && a.Do != doCheckpoint {
			planned[allowance(a.Do)]++
		}
	}
	for kind, n := range planned {
		if most := s.policy.Budget.Max; most > 0 && spent[kind]+n > most {
			s.t.Fatalf("%d and %d more %s in %s, %d allowed", spent[kind], n, kind, s.policy.Budget.In, most)
		}
	}
	for _, k := range plan.Skipped {
		if allowance := allowance(k.Do); k.Guard == fleet.GuardBudget && spent[allowance]+planned[allowance] < s.policy.Budget.Max {
			s.t.Fatalf("%s is held by the budget, of which %d of %d are spent", k.Do, spent[allowance]+planned[allowance], s.policy.Budget.Max)
		}
	}
}

// checkRefusal: only what a person is known to have ended is refused as that; what
// Custos ended itself is not taken for what ended well; and no recovery waits for the alert of a common cause once
// the hold is over, however long that goes on.
func (s *ship) checkRefusal(k fleet.Skipped) {
	fail := func(why string) { s.t.Fatalf("%s on %s is refused (%s: %s): %s", k.Do, k.Subject, k.Guard, k.Why, why) }
	h, reg := s.hands[k.Subject.Name], s.regs[k.Subject.Name]
	if k.Do != doRecover || h == nil || h.agent.Exit == nil {
		return
	}
	x := h.agent.Exit
	if k.Guard == fleet.GuardPerson && h.stopped == 0 && !h.quit && reg.Desired == fleet.DesiredRunning {
		fail("no person is known to have ended it")
	}
	if x.Asked == fleet.ByCustos && h.stopped == 0 && reg.Desired == fleet.DesiredRunning && reg.Restart != fleet.RestartNever &&
		(k.Guard == fleet.GuardPerson || k.Guard == fleet.GuardState) {
		fail("Custos itself had ended it")
	}
	if k.Guard == fleet.GuardCause && !x.At.IsZero() {
		fail("only the hold is waited for")
	}
	held := slices.ContainsFunc(s.deaths, s.isHeld) || s.sim.instant(s.sim.now).Since(x.At) < time.Duration(s.policy.Agents.Hold)
	if strings.Contains(k.Why, "a common cause is looked for first") && !held {
		fail("the hold is over")
	}
}

// isHeld says whether a death lies within the hold.
func (s *ship) isHeld(d fall) bool { return s.sim.since(d.at) < time.Duration(s.policy.Agents.Hold) }

// checkStorm is a slow and simple second opinion on who died together: three
// agents within half a minute. None of them is recovered within the hold, and
// then one at a time, and one more for each recovery since that helped.
func (s *ship) checkStorm(a fleet.Action, fail func(string)) {
	mine := s.newestDeath(a.Subject.Name)
	for _, d := range s.deaths {
		for _, e := range s.deaths {
			if mine == nil || !apart(*mine, d) || !apart(*mine, e) || !apart(d, e) || d.lost || e.lost {
				continue
			}
			if s.isHeld(*mine) || s.isHeld(d) || s.isHeld(e) {
				fail(fmt.Sprintf("it died together with %s and %s", d.name, e.name))
			}
			if (s.isRecovered(d.name) || s.isRecovered(e.name)) && s.helpedSince(*mine, d, e) == 0 {
				fail(fmt.Sprintf("it died together with %s and %s, of whom one is being recovered", d.name, e.name))
			}
		}
	}
}

// helpedSince counts the recoveries since these deaths that may have helped.
func (s *ship) helpedSince(deaths ...fall) (n int) {
	for _, e := range s.sim.log {
		after := func(d fall) bool { return e.moment.true >= d.at.true }
		if !e.open && e.record.Do == doRecover && slices.ContainsFunc(deaths, after) &&
			(e.record.Result.Status == fleet.ResultDone || e.record.Result.Status == fleet.ResultUnverified) {
			n++
		}
	}
	return n
}

// apart says whether two deaths are of two agents, and of one storm.
func apart(a, b fall) bool {
	d := a.at.true - b.at.true
	return a.name != b.name && max(d, -d) <= 30*time.Second
}

// newestDeath is how an agent that is down died, when nobody had asked for it.
func (s *ship) newestDeath(name string) (mine *fall) {
	x := s.hands[name].agent.Exit
	for i := range s.deaths {
		if d := &s.deaths[i]; d.name == name && x != nil && s.sim.instant(d.at) == x.At {
			mine = d
		}
	}
	return mine
}

func (s *ship) isRecovered(name string) bool {
	return slices.ContainsFunc(s.sim.log, func(e *entry) bool {
		return e.open && e.record.Do == doRecover && e.record.Subject.Name == name
	})
}

func (s *ship) starting() (n int) {
	for _, e := range s.sim.log {
		if e.open && starts(e.record.Do) {
			n++
		}
	}
	return n
}

func (s *ship) checkAction(a fleet.Action, fail func(string)) {
	person := fleet.IsPerson(a.By)
	if _, agent := fleet.AgentOf(a.By); agent && a.Do != doSpawn && a.Do != doNudge && a.Do != doCheckpoint {
		fail("an agent may not order it")
	}
	h, reg := s.hands[a.Subject.Name], s.regs[a.Subject.Name]
	if h == nil {
		if a.Do != doSpawn {
			fail("it is nobody")
		}
		return
	}
	t := h.agent
	inFlight := t.Tool != nil && !t.Tool.Over()
	if a.Subject.Name == "x" {
		fail("foreign")
	}
	if starts(a.Do) {
		if t.Process.PID != 0 {
			fail("it lives")
		}
		if h.quit && !person {
			fail("a person ended it at its terminal")
		}
		if h.stopped > 0 && (!person || s.number[a.Order] < h.stopped) {
			fail("a person stopped it")
		}
		s.checkStart(a, reg, fail)
		return
	}
	switch a.Do {
	case doStop, doInterrupt:
		if !person && t.Process.PID != 0 && (t.Progress != fleet.ProgressNone || inFlight) {
			fail("it works")
		}
	case doNudge:
		still := t.Progress == fleet.ProgressNone && t.State == fleet.StateStuck || t.State == fleet.StateIdle
		typing := t.Attached > 0 && t.Pane.Activity.Or(0) < fleet.Duration(time.Minute)
		if inFlight || !still || !t.ComposerEmpty.Or(false) || typing || reg.Desired == fleet.DesiredPaused {
			fail("it must not be typed into")
		}
	case doAnswer:
		if !person || t.Dialog == nil || t.Dialog.Hash != a.Dialog {
			fail("not a person, or not this dialog")
		}
	}
	if a.Do == doNudge {
		s.checkAccount(a, reg.Account, fail)
	}
}

func (s *ship) checkStart(a fleet.Action, reg fleet.Registration, fail func(string)) {
	person := fleet.IsPerson(a.By)
	if reg.Desired == fleet.DesiredPaused && a.Do == doSpawn || !person && reg.Name != "" && reg.Desired != fleet.DesiredRunning {
		fail("nobody wants it to run")
	}
	if a.Do == doRecover && !person && reg.Restart == fleet.RestartNever {
		fail("its restart policy is never")
	}
	if s.isRebooted(a) {
		s.checkReboot(a, fail)
	}
	if a.Do == doRecover && a.Order == "" {
		tries := 0
		for _, e := range s.sim.log {
			real := !e.open && isReal(&e.record)
			if real && e.record.Do == doRecover && e.record.Subject == a.Subject && s.sim.since(e.moment) < 30*time.Minute {
				tries++
			}
		}
		if tries >= 2 {
			fail("a third try in half an hour")
		}
		s.checkStorm(a, fail)
	}
	account := reg.Account
	if a.Target.Registration != nil {
		account = a.Target.Registration.Account
	}
	s.checkAccount(a, account, fail)
	for _, e := range s.sim.log {
		if starts(e.record.Do) && !e.open && isReal(&e.record) && s.sim.since(e.moment) < 2*time.Second {
			fail("two starts at once")
		}
	}
}

// isRebooted says whether an action starts what a reboot ended.
func (s *ship) isRebooted(a fleet.Action) bool {
	h := s.hands[a.Subject.Name]
	return a.Do == doRecover && h != nil && h.agent.Exit != nil && h.agent.Exit.Source == fleet.ExitReboot
}

// checkReboot: only where the configuration says so, one after the other, and
// for a while none after one that did not work.
func (s *ship) checkReboot(a fleet.Action, fail func(string)) {
	person := fleet.IsPerson(a.By)
	if !person && s.policy.Agents.AfterReboot != fleet.ModeAuto {
		fail("a person has to say so after a reboot")
	}
	for _, e := range s.sim.log {
		x := e.record.Target.Agent
		if e.record.Do != doRecover || x == nil || x.Exit == nil || x.Exit.Source != fleet.ExitReboot {
			continue
		}
		if e.open {
			fail("another one is under way after a reboot")
		}
		if !person && !e.open && isReal(&e.record) && !s.mayHaveWorked(e) && s.sim.since(e.moment) < 5*time.Minute && s.sim.since(e.moment) >= 0 && s.isLatest(e) {
			fail("the last one after a reboot did not work")
		}
	}
}

// mayHaveWorked says whether a start says that it worked, or nothing shows it but that
// the agent lives.
func (s *ship) mayHaveWorked(e *entry) bool {
	status := e.record.Result.Status
	return status == fleet.ResultDone || status == fleet.ResultUnverified && s.hands[e.record.Subject.Name].agent.Process.PID != 0
}

// isLatest says whether no other such recovery ended at or after e.
func (s *ship) isLatest(e *entry) bool {
	for _, o := range s.sim.log {
		if x := o.record.Target.Agent; o != e && !o.open && o.record.Do == doRecover && isReal(&o.record) && x != nil && x.Exit != nil &&
			x.Exit.Source == fleet.ExitReboot && s.sim.since(o.moment) <= s.sim.since(e.moment) {
			return false
		}
	}
	return true
}

func (s *ship) checkAccount(a fleet.Action, account string, fail func(string)) {
	now := s.sim.instant(s.sim.now)
	for _, h := range s.hands {
		limited := h.agent.State == fleet.StateRateLimited && (h.agent.RateLimitedUntil.IsZero() || now.Before(h.agent.RateLimitedUntil))
		if account != "" && h.agent.Account == account && limited {
			fail("its account is rate limited")
		}
	}
}

// checkInLine: no order of one kind is carried out before an earlier one, nor a
// start before an earlier stop.
func (s *ship) checkInLine(past fleet.Past, plan fleet.Plan, a fleet.Action, fail func(string)) {
	if a.Order == "" {
		return
	}
	var mine fleet.Order
	for _, o := range past.Orders {
		if o.ID == a.Order {
			mine = o
			break
		}
		after := s.after(plan, o)
		same := laneOf(o.Do) == laneOf(fleet.OrderDo(a.Do)) || starts(a.Do) && o.Do == fleet.OrderStop
		if o.Agent == a.Subject.Name && same && !after.IsOver() {
			fail("order " + o.ID + " was given before")
		}
	}
	if mine.IsOver() || mine.Action != "" && mine.Action != a.ID && past.Actions != nil {
		for _, r := range past.Actions {
			if r.ID == mine.Action && r.Open() {
				fail("the order is being carried out already")
			}
		}
	}
}

func (s *ship) after(plan fleet.Plan, o fleet.Order) fleet.Order {
	for _, n := range plan.Orders {
		if n.ID == o.ID {
			return n
		}
	}
	return o
}

// checkAnswers: every open order is answered, and with a reason.
func (s *ship) checkAnswers(past fleet.Past, plan fleet.Plan) {
	for _, o := range past.Orders {
		n := s.after(plan, o)
		planned := slices.ContainsFunc(plan.Actions, func(a fleet.Action) bool { return a.ID == n.Action && a.Order == n.ID })
		open := slices.ContainsFunc(past.Actions, func(r fleet.ActionRecord) bool { return r.ID == n.Action && r.Open() })
		switch {
		case n.IsOver() && (n.State == fleet.OrderDone || n.Why != ""):
		case n.State == fleet.OrderQueued && fleet.IsPerson(n.By) && isWindow(n.Guard):
			s.t.Fatalf("order %+v of a person is held by a window", n)
		case n.State == fleet.OrderQueued && n.Why != "" && n.Guard != "" && (n.Action == "" || starts(string(n.Do)) && isInDoubt(past, n.Action)):
		case n.State == fleet.OrderOpen && (planned || open):
		default:
			s.t.Fatalf("order %+v is not answered", n)
		}
	}
	for _, a := range plan.Actions {
		if a.Order != "" && !slices.ContainsFunc(plan.Orders, func(o fleet.Order) bool { return o.ID == a.Order && o.Action == a.ID }) {
			s.t.Fatalf("%s answers order %s, which does not say so", a.Do, a.Order)
		}
	}
}

func isInDoubt(past fleet.Past, action string) bool {
	return slices.ContainsFunc(past.Actions, func(r fleet.ActionRecord) bool {
		return r.ID == action && r.Result != nil && r.Result.Status == fleet.ResultInDoubt
	})
}

// write does what the store does with a turn.
func (s *ship) write(snap fleet.Snapshot, past fleet.Past, plan fleet.Plan) {
	regs, orders := registry.Settle(past, snap, plan)
	for _, r := range regs {
		s.regs[r.Name] = r
		if h := s.hands[r.Name]; h != nil && r.Desired == fleet.DesiredRunning && fleet.IsPerson(r.DesiredBy) && r.DesiredAt == plan.At {
			h.quit = false // the last word of people counts
		}
	}
	for _, o := range orders {
		s.put(o)
	}
	for _, a := range plan.Actions {
		if starts(a.Do) && fleet.IsPerson(a.By) && s.hands[a.Subject.Name] != nil {
			s.hands[a.Subject.Name].stopped = 0
		}
	}
	for name, h := range s.hands {
		if reg, ok := s.regs[name]; ok && h.stopped > 0 && reg.Desired == fleet.DesiredRunning {
			s.t.Fatalf("a person stopped %s, and it is to run", name)
		}
	}
	had := len(s.sim.log)
	for _, a := range plan.Actions {
		e := &entry{record: fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At}, moment: s.sim.now, open: true}
		e.ends = s.sim.now.true + pick(s.t, "takes", []time.Duration{0, 0, time.Second, 10 * time.Minute})
		s.sim.log = append(s.sim.log, e)
	}
	for _, e := range s.sim.log[had:] {
		if e.ends == s.sim.now.true {
			s.finish(e)
		}
	}
}

func (s *ship) put(o fleet.Order) {
	for i := range s.orders {
		if s.orders[i].ID == o.ID {
			s.orders[i] = o
		}
	}
}

// finish ends an action, and lets it have its effect.
func (s *ship) finish(e *entry) {
	s.sim.end(e)
	r, a := e.record.Result, e.record.Action
	for _, o := range s.orders {
		if o.ID == a.Order && o.Action == a.ID {
			s.put(o.After(*r))
		}
	}
	name := a.Subject.Name
	done := r.Status == fleet.ResultDone || r.Status == fleet.ResultUnverified
	for i := range s.deaths {
		s.deaths[i].lost = s.deaths[i].lost || done && a.Do == doSpawn && s.deaths[i].name == name
	}
	switch {
	case done && starts(a.Do) && (s.hands[name] == nil || s.hands[name].agent.Process.PID == 0):
		s.start(name)
	case done && a.Do == doStop:
		x := pick(s.t, "ends by", []fleet.Exit{{Signal: fleet.Known(1)}, {Signal: fleet.Known(2)}, {Signal: fleet.Known(15)}, {Status: fleet.Known(0)}})
		x.Asked = cmp.Or(a.By, fleet.ByCustos)
		s.end(name, x, fleet.StateStopped)
	case a.Do == doSpawn && (r.Status == fleet.ResultFailed || r.Status == fleet.ResultRefused) && s.regs[name].Instance == "":
		delete(s.regs, name)
	}
}
