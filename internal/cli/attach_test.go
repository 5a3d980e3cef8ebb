package cli

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/api"
)

// Inside tmux an agent of the same server is switched to, and one of another
// server is never shown inside: it is said how to get there.
func TestAttachNeverNests(t *testing.T) {
	here := api.AgentDetail{Agent: api.AgentRow{Name: "a", Socket: "/tmp/x/default"}, Attach: []string{"tmux", "attach", "-t", "=a"}}
	other := api.AgentDetail{Agent: api.AgentRow{Name: "b", Socket: "/run/my custos/tmux.sock"}, Attach: []string{"tmux", "-S", "/run/my custos/tmux.sock", "attach", "-t", "=b"}}
	if got, err := insideTmux("", other); err != nil || !slices.Equal(got, other.Attach) {
		t.Errorf("outside: %q, %v", got, err)
	}
	if got, err := insideTmux("/tmp/x/default,12,0", here); err != nil || !slices.Equal(got, []string{"tmux", "switch-client", "-t", "=a"}) {
		t.Errorf("the same server: %q, %v", got, err)
	}
	got, err := insideTmux("/tmp/x/default,12,0", other)
	_, e := classify(err)
	if err == nil || got != nil || !strings.Contains(e.Message, "another tmux server") || !strings.HasPrefix(e.Hint, "tmux detach-client -E ") {
		t.Errorf("another server: %q, %v", got, e)
	}
}

// Where nothing can be attached to it is said why, and what helps.
func TestAttachSaysWhatIsInTheWay(t *testing.T) {
	for _, k := range []struct {
		d          api.AgentDetail
		says, hint string
	}{
		{api.AgentDetail{}, "it has no terminal that is seen", "custos peek a"},
		{api.AgentDetail{TerminalStopped: 12}, "its terminal server (process 12) is stopped by a signal", "kill -CONT 12"},
	} {
		_, e := classify(unattachable("a", k.d))
		if !strings.Contains(e.Message, "cannot attach to a: "+k.says) || e.Hint != k.hint {
			t.Errorf("%q → %q, want %q → %q", e.Message, e.Hint, k.says, k.hint)
		}
	}
	if err := unattachable("a", api.AgentDetail{Attach: []string{"tmux"}}); err != nil {
		t.Error(err)
	}
}

// From the live screen an agent of another server is gone to and come back from.
func TestThereAndBack(t *testing.T) {
	got := thereAndBack("/tmp/x/my default,12,0", "%5", []string{"tmux", "-S", "/run/c/tmux.sock", "attach", "-t", "=b"})
	want := []string{"tmux", "-S", "/tmp/x/my default", "detach-client", "-E", "tmux -S /run/c/tmux.sock attach -t '=b'; exec tmux -S '/tmp/x/my default' attach -t %5"}
	if above := thereAndBack("/tmp/s,12,3", "", []string{"tmux", "attach"}); above[5] != "tmux attach; exec tmux -S /tmp/s attach -t '$3'" {
		t.Errorf("from a window above all others: %q", above[5])
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
