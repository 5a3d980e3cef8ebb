package assess

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// Agents that share a rate limit are told of once: the alert of an account that
// fires longest explains the others of it, and no one else's.
func TestOneAccountIsOneCause(t *testing.T) {
	set, past := builtin(t), fleet.Past{}
	look := func(later time.Duration, limited map[string]string) map[string]string {
		snap := healthy(start().Add(later))
		snap.Agents.Value = nil
		for _, name := range []string{"a", "b", "c"} {
			a := healthyAgent(name)
			if account, ok := limited[name]; ok {
				a.State, a.Account = fleet.StateRateLimited, account
			}
			snap.Agents.Value = append(snap.Agents.Value, a)
		}
		got := Assess(set, snap, past)
		past = after(past, got)
		causes := map[string]string{}
		for _, a := range got.Alerts {
			if a.Rule == "agent-rate-limited" && a.Status == fleet.AlertFiring {
				causes[a.Subject.Name] = ""
				for _, c := range a.CausedBy {
					causes[a.Subject.Name] += c.Subject.Name
				}
			}
		}
		return causes
	}
	for i, c := range []struct{ limited, want map[string]string }{
		{map[string]string{"b": "acme"}, map[string]string{"b": ""}},
		{map[string]string{"a": "acme", "b": "acme", "c": "other"}, map[string]string{"a": "b", "b": "", "c": ""}},
		{map[string]string{"a": "acme", "c": "acme"}, map[string]string{"a": "", "c": "a"}},
		{map[string]string{"a": "", "c": ""}, map[string]string{"a": "", "c": ""}},
	} {
		got := look(time.Duration(i)*10*time.Minute, c.limited)
		for name, want := range c.want {
			if cause, ok := got[name]; !ok || cause != want {
				t.Errorf("look %d: %s is caused by %q (fires: %t), want %q", i, name, cause, ok, want)
			}
		}
	}
}
