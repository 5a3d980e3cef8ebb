package daemon

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"custos/internal/config"
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

// What came before it was known whose conversation it is has its agent, once that is known and since it began.
func TestWhoseResponsesAreIsFilledIn(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	rows := []fleet.Usage{{Key: "claude:1", Kind: "claude", Session: "s", At: now.Add(-time.Hour), Tokens: fleet.Tokens{Output: 1}}, {Key: "claude:2", Kind: "claude", Session: "s", At: now, Tokens: fleet.Tokens{Output: 1}}}
	if err := (usageLedger{s.ledger, s.spent}).AddUsage(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
	told := sessions{}
	for _, age := range []fleet.Leaf[fleet.Duration]{fleet.Unknown[fleet.Duration]("gone"), fleet.Known(fleet.Duration(time.Minute)), fleet.Known(fleet.Duration(2 * time.Hour))} {
		var snap fleet.Snapshot
		snap.At.Wall, snap.Agents.Value = now, []fleet.Agent{{Name: "bob", Kind: "claude", SessionID: "s", Instance: "i", Age: age}}
		s.whose = whoseSessions(snap)
		if err := s.fillIn(t.Context(), told); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.costs(t.Context(), s.world.Now().Add(-24*time.Hour), "agent")
	if err != nil || len(list) != 2 || list[0].Calls != 1 || list[1].Key != "bob" || list[1].Calls != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
