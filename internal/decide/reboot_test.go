package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/assess"
	"custos/internal/decide/follow/registry"
	"custos/internal/fleet"
	"custos/internal/rules"
)

// morning is a fleet after a reboot: rules, decisions and records in turn.
type morning struct {
	t     *testing.T
	w     *world
	set   *rules.Set
	fires map[fleet.AlertKey]int // how often each alert began
	look  fleet.Instant          // of the agents, when that was not just now
}

func newMorning(t *testing.T, mode fleet.Mode, names ...string) *morning {
	t.Helper()
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	m := &morning{t: t, w: newWorld(), set: set, fires: map[fleet.AlertKey]int{}}
	m.w.policy.Agents.AfterReboot = mode
	m.w.snap.From = fleet.Vantage{Host: "box", Boot: "b1"}
	for i, name := range names {
		was := fleet.ProcessID{PID: 100 + i, Start: 1, Boot: "b0"}
		m.w.past.Registrations = append(m.w.past.Registrations, fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos,
			Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Instance: "i-" + name, Process: was, Dir: "/w/" + name})
		x := fleet.Exit{Instance: "i-" + name, Process: was, Source: fleet.ExitReboot}
		m.w.snap.Agents.Value = append(m.w.snap.Agents.Value, fleet.Agent{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Registered: true,
			Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, State: fleet.StateStopped, Instance: "i-" + name, Exit: &x})
	}
	return m
}

// pass lets a time go by, and thinks once.
func (m *morning) pass(after time.Duration) fleet.Plan {
	w := m.w
	w.snap.At = w.snap.At.Add(after)
	for _, part := range fleet.PartNames() {
		w.snap.Sight(part).At = w.snap.At
	}
	if !m.look.IsZero() {
		w.snap.Agents.At = m.look
	}
	found := assess.Assess(m.set, w.snap, w.past)
	firing := func(k fleet.AlertKey) bool {
		return slices.ContainsFunc(w.past.Alerts, func(a fleet.Alert) bool { return a.AlertKey == k && a.Status == fleet.AlertFiring })
	}
	for _, a := range found.Alerts {
		if a.Status == fleet.AlertFiring && !firing(a.AlertKey) && a.Subject.Kind != fleet.KindSelf && a.Subject.Kind != fleet.KindPart {
			m.fires[a.AlertKey]++
		}
	}
	plan := Decide(w.policy, w.snap, found, w.past)
	regs, _ := registry.Settle(w.past, w.snap, plan)
	for _, r := range regs {
		i := slices.IndexFunc(w.past.Registrations, func(o fleet.Registration) bool { return o.Name == r.Name })
		w.past.Registrations[i] = r
	}
	for _, a := range plan.Actions {
		agent, reg := *a.Target.Agent, *a.Target.Registration // as the record keeps them
		a.Target.Agent, a.Target.Registration = &agent, &reg
		w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At})
	}
	w.past.Alerts = found.Alerts
	return plan
}

// up ends the recovery that is under way, and lets its agent live.
func (m *morning) up(name string) {
	w := m.w
	for i := range w.past.Actions {
		if r := &w.past.Actions[i]; r.Open() && r.Subject.Name == name {
			r.Stage, r.Result = fleet.StageEnded, &fleet.Result{Status: fleet.ResultDone, Ended: w.snap.At}
		}
	}
	for i := range w.past.Registrations {
		if r := &w.past.Registrations[i]; r.Name == name {
			r.Instance, r.Process, r.Exit = "j-"+name, fleet.ProcessID{PID: 500 + i, Start: 1, Boot: "b1"}, nil
			a := &w.snap.Agents.Value[i]
			a.Instance, a.Process, a.Exit, a.State, a.Progress = r.Instance, r.Process, nil, fleet.StateWorking, fleet.ProgressSome
		}
	}
}

func (m *morning) alert() fleet.Alert {
	m.t.Helper()
	for _, a := range m.w.past.Alerts {
		if a.Rule == "fleet-rebooted" {
			return a
		}
	}
	m.t.Fatalf("there is no alert of the reboot: %+v", m.w.past.Alerts)
	return fleet.Alert{}
}

// All that ran is offered by one alert, and nothing is started by itself.
func TestAfterARebootTheFleetIsOffered(t *testing.T) {
	m := newMorning(t, fleet.ModeAsk, "a", "b two", "c")
	for range 5 {
		plan := m.pass(time.Minute)
		if len(plan.Actions) != 0 {
			t.Fatalf("%+v", plan.Actions)
		}
		var hints []string
		for _, s := range plan.Skipped {
			hints = append(hints, string(s.Guard)+": "+s.Hint)
		}
		if want := []string{"approval: custos recover a", "approval: custos recover 'b two'", "approval: custos recover c"}; !slices.Equal(hints, want) {
			t.Errorf("%q, want %q", hints, want)
		}
	}
	a := m.alert()
	if len(m.fires) != 1 || m.fires[a.AlertKey] != 1 || a.Priority != fleet.P2 || a.Subject != (fleet.Subject{Kind: fleet.KindHost, Name: "box"}) {
		t.Errorf("told %v", m.fires)
	}
	if want := "3 agent(s) that ran before do not run; to start them, custos recover NAME: a, b two, c"; !strings.HasSuffix(a.Summary, want) {
		t.Errorf("it says %q", a.Summary)
	}
	for _, r := range m.w.past.Registrations {
		if r.Exit == nil || !r.Exit.Rebooted() || r.Desired != fleet.DesiredRunning {
			t.Errorf("the record of %s: %+v", r.Name, r)
		}
	}
}

// Where the configuration says so they are started one by one, each when the one
// before works, and the one alert ends with the last.
func TestAfterARebootTheFleetIsStartedOneByOne(t *testing.T) {
	m := newMorning(t, fleet.ModeAuto, "a", "b", "c")
	var started []string
	for range 3 {
		plan := m.pass(10 * time.Second)
		if len(plan.Actions) != 1 || plan.Actions[0].Do != doRecover {
			t.Fatalf("after %v: %+v, skipped %+v", started, plan.Actions, plan.Skipped)
		}
		name := plan.Actions[0].Subject.Name
		for range 3 {
			if more := m.pass(10 * time.Second); len(more.Actions) != 0 {
				t.Fatalf("while %s is under way: %+v", name, more.Actions)
			}
		}
		m.up(name)
		started = append(started, name)
	}
	m.pass(10 * time.Second)
	if a := m.alert(); a.Status != fleet.AlertResolved || len(m.fires) != 1 || m.fires[a.AlertKey] != 1 {
		t.Errorf("%s, told %v", a.Status, m.fires)
	}
	if !slices.Equal(started, []string{"a", "b", "c"}) {
		t.Errorf("%v", started)
	}
}

// One that a person gives up is offered no longer.
func TestAfterARebootAPersonGivesOneUp(t *testing.T) {
	m := newMorning(t, fleet.ModeAsk, "a")
	m.pass(time.Second)
	m.w.past.Orders = []fleet.Order{{ID: "o1", Do: fleet.OrderStop, Agent: "a", By: "ann", At: m.w.snap.At, State: fleet.OrderOpen}}
	plan := m.pass(time.Second)
	if len(plan.Orders) != 1 || plan.Orders[0].State != fleet.OrderDone {
		t.Fatalf("%+v", plan.Orders)
	}
	m.w.past.Orders, m.w.snap.Agents.Value[0].Desired = nil, m.w.past.Registrations[0].Desired
	m.pass(time.Second)
	if a := m.alert(); a.Status != fleet.AlertResolved || m.w.past.Registrations[0].Desired != fleet.DesiredStopped {
		t.Errorf("%s, %s", a.Status, m.w.past.Registrations[0].Desired)
	}
}
