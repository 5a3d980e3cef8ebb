package daemon

import (
	"testing"

	"custos/internal/fleet"
)

// A response is of the agent that holds the conversation; of one that nobody is known to hold
// it is not said whose it is.
func TestWhoseAResponseIs(t *testing.T) {
	var snap fleet.Snapshot
	snap.Agents.Value = []fleet.Agent{{Name: "builder", Kind: "claude", SessionID: "s1", Instance: "i", Role: "r", Project: "p", Account: "a", Run: "n", Task: "w"}, {Name: "silent", Kind: "claude"}}
	whose := whoseSessions(snap)
	want := fleet.Usage{Key: "k", Kind: "claude", Session: "s1", Agent: "builder", Instance: "i", Role: "r", Project: "p", Account: "a", Run: "n", Work: "w"}
	if got := whose.of(fleet.Usage{Key: "k", Kind: "claude", Session: "s1"}); got != want {
		t.Errorf("%+v", got)
	}
	for _, u := range []fleet.Usage{{Kind: "codex", Session: "s1"}, {Kind: "claude", Session: "s2"}, {Kind: "claude"}} {
		if got := whose.of(u); got != u {
			t.Errorf("%+v", got)
		}
	}
}
