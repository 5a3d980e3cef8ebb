package decide

import (
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
