package cli

import (
	"testing"

	"custos/internal/api"
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
		{api.FirstLook{NeedsYou: []api.Need{{Priority: "P2"}}, Agents: agents}, "1 needs you · 2 working · 1 idle · 2 other · 1 unknown", "#[fg=yellow]1 needs you#[default] · 2 working · 1 idle · 2 other · 1 unknown"},
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
