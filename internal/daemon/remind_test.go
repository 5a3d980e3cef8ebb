package daemon

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/hookwire"
	"custos/internal/onewriter"
)

// After a compaction the agent of a run is told again what it works on; another
// agent, and another event, is told nothing.
func TestCompactedAgentIsReminded(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := build(cfg, Options{Version: "test", Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, as{what: "custos test", wait: onewriter.Patience, tell: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.ledger.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []fleet.Registration{{Name: "n-1", Kind: "claude", Owner: fleet.OwnerCustos, Run: "n-1", CreatedAt: s.world.Now()}, {Name: "b", Kind: "claude", Owner: fleet.OwnerCustos, CreatedAt: s.world.Now()}} {
		if err := st.Commit(t.Context(), fleet.Turn{At: s.world.Now(), Plan: fleettest.Rows(fleet.Changes{Registrations: []fleet.Registration{r}})}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.library.Formulas.RunsDir(), "n-1", "compact.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("what must not be lost "+strings.Repeat("x", 20<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "scratch.md"), []byte("half of it is done"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		agent, event, source string
		told                 bool
	}{{"n-1", "SessionStart", "compact", true}, {"n-1", "SessionStart", "startup", false}, {"n-1", "Stop", "compact", false}, {"b", "SessionStart", "compact", false}, {"nobody", "SessionStart", "compact", false}} {
		p := hookwire.Post{Kind: "claude", Event: c.event}
		p.Stamp()
		p.Agent = c.agent
		p.SetPayload([]byte(`{"hook_event_name":"` + c.event + `","source":"` + c.source + `","session_id":"s"}`))
		out, err := s.hookReceiver.Take(t.Context(), p)
		if err != nil || strings.Contains(out, "what must not be lost") != c.told || strings.Contains(out, "half of it is done") != c.told || len(out) > compactMost+400 || !c.told && out != "" {
			t.Errorf("%+v: %d bytes, %v", c, len(out), err)
		}
	}
}
