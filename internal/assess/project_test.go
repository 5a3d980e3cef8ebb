package assess

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestPausedProjectIsNotTold: alerts of a paused project stand, and are silent
// until it is resumed; then they are told. What is not seen stays of its project.
func TestPausedProjectIsNotTold(t *testing.T) {
	set := builtin(t)
	past := fleet.Past{Registrations: []fleet.Registration{{Name: "a", Project: "shop"}, {Name: "b", Project: "bank"}}}
	look := func(later time.Duration, blind bool) map[string]fleet.Alert {
		snap := healthy(start().Add(later))
		snap.Agents.Value = nil
		for _, name := range []string{"a", "b"} {
			agent := healthyAgent(name)
			agent.State, agent.Dwell = fleet.StateWaiting, fleet.Known(fleet.Duration(time.Hour))
			snap.Agents.Value = append(snap.Agents.Value, agent)
		}
		if blind {
			snap.Agents.Blind("the probe timed out")
		}
		got := Assess(set, snap, past)
		past.Alerts = got.Alerts
		out := map[string]fleet.Alert{}
		for _, a := range got.Alerts {
			if a.Rule == "agent-waiting" && a.Status == fleet.AlertFiring {
				out[a.Subject.Name] = a
			}
		}
		return out
	}
	want := func(when string, got map[string]fleet.Alert, silent bool) {
		t.Helper()
		if len(got) != 2 || got["a"].Project != "shop" || got["b"].Project != "bank" || got["a"].SilencedUntil.IsZero() == silent || !got["b"].SilencedUntil.IsZero() {
			t.Errorf("%s: %+v", when, got)
		}
	}
	want("at first", look(0, false), false)
	past.Silences = []fleet.Silence{fleet.PauseProject("shop", "ann", "", start())}
	want("paused", look(time.Minute, false), true)
	want("paused and blind", look(2*time.Minute, true), true)
	want("paused for a year", look(365*24*time.Hour, false), true)
	past.Silences = nil
	want("resumed", look(365*24*time.Hour+time.Minute, false), false)
}
