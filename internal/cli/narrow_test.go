package cli

import (
	"bytes"
	"strings"
	"testing"

	"custos/internal/api"
)

// In 80 columns the names of rules and of agents stand whole, so that they can be
// typed; words and paths give way.
func TestAlertsKeepNames(t *testing.T) {
	words := strings.Repeat("it asks whether it may go on ", 4)
	list := []api.Alert{
		{Number: 1012, Priority: "P2", Rule: "agent-waiting-permission", Subject: "agent/reviewer-of-the-shop-12", For: "3h12m0s", Status: "firing", Summary: words, AckedBy: "somebody-with-a-name"},
		{Number: 3, Priority: "P3", Rule: "worktree-stale", Subject: "worktree//home/me/" + strings.Repeat("deep/", 12) + "end", For: "3h0m0s", Status: "firing", Summary: words},
	}
	var out bytes.Buffer
	p := &page{out: &out, width: 80}
	writeAlertTable(p, list)
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []string{"#1012", "agent-waiting-permission", "agent reviewer-of-the-shop-12", "worktree-stale", "end", "it asks"} {
		if !strings.Contains(out.String(), whole) {
			t.Errorf("%q is not whole in\n%s", whole, out.String())
		}
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if runes(line) > 80 {
			t.Errorf("%d columns: %s", runes(line), line)
		}
	}
}

// What an agent shows keeps to the terminal, and is whole where there is none.
func TestPeekFits(t *testing.T) {
	text := strings.Repeat("x", 150) + "\nshort"
	for terminal, longest := range map[bool]int{true: 80, false: 150} {
		var out bytes.Buffer
		p := &page{out: &out, width: 80}
		writeScreen(p, api.Screen{Text: text}, terminal)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 3 || runes(lines[0]) != longest || lines[1] != "short" || lines[2] != "" {
			t.Errorf("terminal %v: %q", terminal, lines)
		}
	}
}
