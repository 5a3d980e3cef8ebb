package daemon

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/onewriter"
)

// What came before it was known whose conversation it is has its agent, once that is known and since it began.
func TestWhoseResponsesAreIsFilledIn(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	rows := []fleet.Usage{{Key: "claude:1", Kind: "claude", Session: "s", At: now.Add(-time.Hour), Tokens: fleet.Tokens{Output: 1}}, {Key: "claude:2", Kind: "claude", Session: "s", At: now, Tokens: fleet.Tokens{Output: 1}}}
	if err := s.usageLedger().AddUsage(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var snap fleet.Snapshot
		snap.At.Wall, snap.Agents.Value = now, []fleet.Agent{{Name: "bob", Kind: "claude", SessionID: "s", Instance: "i", Age: fleet.Known(fleet.Duration(time.Minute)), Process: fleet.ProcessID{PID: 7}}}
		s.holders.Look(snap, fleet.Past{})
		if err := s.fillIn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.costs(t.Context(), s.world.Now().Add(-24*time.Hour), "agent")
	if err != nil || len(list) != 2 || list[0].Calls != 1 || list[1].Key != "bob" || list[1].Calls != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// What was spent is not known to a daemon whose ledger is new, until all conversations were read once: of a budget
// with nothing written down of it nobody can tell that nothing was spent. After that it is, also of the next daemon.
func TestANewLedgerKnowsNothingOfWhatWasSpent(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	load := func(toml string) config.Config {
		cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(toml), nil }})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	sight := func(what, toml string, daemon, read bool) fleet.Sight {
		t.Helper()
		s, err := build(load(toml), Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: what, wait: onewriter.Patience, tell: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.ledger.writer(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.daemon = daemon; read {
			s.readOnce(t.Context())
		}
		s.board.Touched(fleet.PartSpending)
		s.board.Await(t.Context(), fleet.PartSpending)
		return s.board.Snapshot().Spending.Sight
	}
	const budget = "[budget.day]\nusd = 1\n"
	if seen := sight("custos test", "", true, false); !seen.Usable() {
		t.Errorf("nothing is limited: %+v", seen)
	}
	if seen := sight("custos test", budget, true, false); seen.Usable() || !strings.Contains(seen.Why, "conversations are being read for the first time") {
		t.Errorf("nothing was read: %+v", seen)
	}
	if seen := sight("custos test", budget, false, false); !seen.Usable() {
		t.Errorf("one command reads no conversations: %+v", seen)
	}
	if seen := sight("custos test", budget, true, true); !seen.Usable() {
		t.Errorf("all was read: %+v", seen)
	}
	if seen := sight("custos test", budget, true, false); !seen.Usable() {
		t.Errorf("the next daemon: %+v", seen)
	}
}
