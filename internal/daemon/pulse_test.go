package daemon

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// A terminal server of ours that is stopped is no good health, also while nobody is in it.
func TestAStoppedTerminalServerIsNoted(t *testing.T) {
	var seen fleet.Snapshot
	if notes := terminalNotes(seen); len(notes) != 0 {
		t.Errorf("nothing is stopped, and it is said: %q", notes)
	}
	seen.Self.Value.TerminalStopped = 3
	if notes := terminalNotes(seen); len(notes) != 1 || !strings.Contains(notes[0], "no agent can be started in it; to have it go on: kill -CONT 3") {
		t.Errorf("nobody is in it: %q", notes)
	}
	seen.Agents.Value = []fleet.Agent{{Name: "a", TerminalStopped: 3}}
	if notes := terminalNotes(seen); len(notes) != 1 || !strings.Contains(notes[0], "1 agent(s) do: a") {
		t.Errorf("a is in it: %q", notes)
	}
}
