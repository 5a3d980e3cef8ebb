package cli

import (
	"testing"

	"custos/internal/api"
	"custos/internal/setup"
)

// The line has the numbers of one look: what is unknown is a number of its own, and what was
// not seen is no number.
func TestStatusLine(t *testing.T) {
	agents := []api.AgentRow{{State: "working"}, {State: "working"}, {State: "idle"}, {State: "waiting"}, {State: "crashed"}, {State: "unknown"}}
	for _, k := range []struct {
		look        api.FirstLook
		plain, tmux string
	}{
		{api.FirstLook{}, "0 need you", "0 need you"},
		{api.FirstLook{NeedsYou: []api.Need{{Priority: "P2"}}, Agents: agents}, "1 needs you · 1 waiting · 2 working · 1 idle · 1 other · 1 unknown", "#[fg=yellow]1 needs you#[default] · 1 waiting · 2 working · 1 idle · 1 other · 1 unknown"},
		{api.FirstLook{NeedsYou: []api.Need{{Priority: "P1"}, {Priority: "P2"}}, Frozen: "ada: #[fg=red]#(reboot)"}, "2 need you · FROZEN", "#[fg=red]2 need you#[default] · #[fg=yellow]FROZEN#[default]"},
		{api.FirstLook{Agents: agents, Seen: []api.PartSeen{{Part: "agents", Status: "unknown"}}}, "0 need you · agents not seen", "0 need you · #[fg=yellow]agents not seen#[default]"},
		{api.FirstLook{Agents: agents[:1], Seen: []api.PartSeen{{Part: "agents", Status: "stale"}}}, "0 need you · as they were · 1 working", "0 need you · #[fg=yellow]as they were#[default] · 1 working"},
	} {
		if got := lineOf(k.look, false); got != k.plain {
			t.Errorf("%q, want %q", got, k.plain)
		}
		if got := lineOf(k.look, true); got != k.tmux {
			t.Errorf("%q, want %q", got, k.tmux)
		}
	}
}

// Status counts what alerts lists: what is pending is said, too.
func TestStatusCountsWhatIsPending(t *testing.T) {
	for want, s := range map[string]api.Status{
		"none":                     {},
		"none, and 1 pending":      {Pending: 1},
		"1 × P2, and 2 pending":    {Firing: map[string]int{"P2": 1}, Pending: 2},
		"not known: it is blocked": {Untold: "it is blocked"},
	} {
		if got := alertsText(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := alertState(api.Alert{Status: "pending", AckedBy: "root"}); got != "pending, taken up by root" {
		t.Errorf("it is shown as %q", got)
	}
}

// Agents that were found are counted: one may be called 0.
func TestFoundAgentsAreCounted(t *testing.T) {
	for want, list := range map[string][]setup.Agent{"": nil, "1: 0": {{Name: "0"}}, "2: a, b": {{Name: "a"}, {Name: "b"}}} {
		if got := agentsFound(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
