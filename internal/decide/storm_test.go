package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// newDisaster is a fleet in which all these agents were killed just now.
func newDisaster(t *testing.T, hold time.Duration, names ...string) *morning {
	m := newMorning(t, fleet.ModeAuto, names...)
	m.w.policy.Agents.Hold = fleet.Duration(hold)
	for i := range names {
		reg, a := &m.w.past.Registrations[i], &m.w.snap.Agents.Value[i]
		reg.Process.Boot = "b1"
		a.State, a.Exit = fleet.StateCrashed, &fleet.Exit{Instance: reg.Instance, Process: reg.Process, Signal: fleet.Known(9), At: m.w.snap.At, Source: "shim"}
	}
	return m
}

func (m *morning) firing(rule string) (found []fleet.Alert) {
	for _, a := range m.w.past.Alerts {
		if a.Rule == rule && a.Status == fleet.AlertFiring {
			found = append(found, a)
		}
	}
	return found
}

// Each death is an alert at once, and the common one their parent. Nothing is
// started within the hold, whatever that is; then one after the other, though the
// common alert goes on for much longer.
func TestACommonDeathIsMendedOneByOneAfterTheHold(t *testing.T) {
	for _, hold := range []time.Duration{5 * time.Second, 30 * time.Second, 3 * time.Minute} {
		m := newDisaster(t, hold, "a", "b", "c")
		var passed, wait time.Duration
		var started []string
		for len(started) < 3 {
			plan := m.pass(wait)
			passed, wait = passed+wait, time.Second
			if deaths := m.firing("agent-crashed"); len(deaths) != 3-len(started) || len(deaths[0].CausedBy) != 1 && passed < time.Minute {
				t.Fatalf("hold %s: after %s the alerts are %+v", hold, passed, deaths)
			}
			switch {
			case len(plan.Actions) == 0 && passed <= hold+20*time.Second:
				continue
			case len(plan.Actions) != 1 || plan.Actions[0].Do != doRecover || passed < hold:
				t.Fatalf("hold %s: after %s: %+v, skipped %+v", hold, passed, plan.Actions, plan.Skipped)
			}
			if more := m.pass(0); len(more.Actions) != 0 {
				t.Fatalf("hold %s: while one is under way: %+v", hold, more.Actions)
			}
			started = append(started, plan.Actions[0].Subject.Name)
			m.up(plan.Actions[0].Subject.Name)
		}
		if told := len(m.firing("correlated-failure")); hold < time.Minute && told != 1 {
			t.Errorf("hold %s: the common cause was over before all were started", hold)
		}
		if !slices.Equal(started, []string{"a", "b", "c"}) {
			t.Errorf("hold %s: %v", hold, started)
		}
	}
}

// After a storm the recoveries widen while they help: a night must not be spent on
// one after the other. One that does not help narrows them to one again.
func TestAfterAStormRecoveryWidensWhileItHelps(t *testing.T) {
	for name, status := range map[string]fleet.ResultStatus{"verified": fleet.ResultDone, "without a sign that it is ready": fleet.ResultUnverified} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for i := range 40 {
				names = append(names, fmt.Sprintf("a%02d", i))
			}
			m := newDisaster(t, 0, names...)
			m.w.policy.Agents.Stagger, m.w.policy.Agents.MaxAgents, m.w.policy.Budget, m.w.policy.Blast = 0, 100, fleet.Attempts{}, 0
			if got, want := m.waves(status), []int{1, 2, 4, 8, 16, 9}; !slices.Equal(got, want) {
				t.Errorf("recovered %v at a time, want %v", got, want)
			}
		})
	}
}

// waves has all that is under way end that way until everything runs, and returns how
// many were under way at a time.
func (m *morning) waves(status fleet.ResultStatus) (waves []int) {
	for range 100 {
		var began []string
		plan := m.pass(10 * time.Second)
		for _, a := range plan.Actions {
			began = append(began, a.Subject.Name)
		}
		if len(began) == 0 && len(waves) > 0 {
			return waves
		}
		for _, name := range began {
			m.up(name)
		}
		for i := range m.w.past.Actions {
			if r := &m.w.past.Actions[i]; slices.Contains(began, r.Subject.Name) {
				r.Result.Status = status
			}
		}
		if len(began) > 0 {
			waves = append(waves, len(began))
		}
	}
	return waves
}

// A recovery that failed begins it anew, one at a time, after the wait.
func TestAFailedRecoveryNarrowsAStorm(t *testing.T) {
	m := newDisaster(t, 0, "a", "b", "c", "d", "e")
	m.w.policy.Agents.Stagger, m.w.policy.Agents.Probe = 0, fleet.Duration(time.Minute)
	m.pass(10 * time.Second)
	m.up("a")
	if plan := m.pass(10 * time.Second); len(plan.Actions) != 2 {
		t.Fatalf("after one that helped: %+v, skipped %+v", plan.Actions, plan.Skipped)
	}
	for i := range m.w.past.Actions {
		if r := &m.w.past.Actions[i]; r.Open() {
			r.Stage, r.Result = fleet.StageEnded, &fleet.Result{Status: fleet.ResultFailed, Ended: m.w.snap.At}
		}
	}
	if plan := m.pass(10 * time.Second); len(plan.Actions) != 0 {
		t.Errorf("within the wait: %+v", plan.Actions)
	}
	if plan := m.pass(time.Minute); len(plan.Actions) != 1 {
		t.Errorf("after the wait: %+v, skipped %+v", plan.Actions, plan.Skipped)
	}
}

// An end that keys may have brought about waits for the look that tells, and for
// nothing else; a signal that no keys send does not.
func TestARecoveryWaitsForTheLookThatTellsWhoEndedIt(t *testing.T) {
	for _, c := range []struct {
		exit  fleet.Exit
		waits bool
	}{{fleet.Exit{Signal: fleet.Known(2)}, true}, {fleet.Exit{Status: fleet.Known(129)}, true}, {fleet.Exit{Signal: fleet.Known(9)}, false},
		{fleet.Exit{Signal: fleet.Known(15)}, false}, {fleet.Exit{Status: fleet.Known(1)}, false}, {fleet.Exit{Signal: fleet.Known(1), Server: "/s"}, false}} {
		m := newDisaster(t, 0, "a")
		m.w.policy.Agents.Deaths.Max = 0
		x := m.w.snap.Agents.Value[0].Exit
		c.exit.Instance, c.exit.Process, c.exit.At, c.exit.Source = x.Instance, x.Process, x.At, x.Source
		*x = c.exit
		m.look = m.w.snap.At.Add(-time.Second)
		if plan := m.pass(10 * time.Second); (len(plan.Actions) == 0) != c.waits {
			t.Errorf("%+v, not looked at since: %+v, skipped %+v", c.exit, plan.Actions, plan.Skipped)
		}
		m.look = fleet.Instant{}
		if plan := m.pass(10 * time.Second); c.waits && len(plan.Actions) != 1 {
			t.Errorf("%+v, looked at: %+v, skipped %+v", c.exit, plan.Actions, plan.Skipped)
		}
	}
}
