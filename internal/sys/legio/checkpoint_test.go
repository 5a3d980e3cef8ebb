package legio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheckpointOf(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "sessions.db")
	write := func(agent, text string) {
		at := filepath.Join(dir, "agents", agent)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "checkpoint.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b", `{"beadId":"shop-2","timestamp":"2026-02-03T04:05:06.000Z","progressSummary":"the parser is done","filesModified":["a.go"],"pendingWork":"its tests"}`)
	c, ok := CheckpointOf(store, "b")
	if !ok || c.Task != "shop-2" || c.Says != "the parser is done\nLeft to do: its tests" || len(c.Files) != 1 || !c.At.Equal(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)) {
		t.Errorf("%+v, %v", c, ok)
	}
	write("torn", `{"beadId":`)
	write("big", `{"x":"`+strings.Repeat("x", longestCheckpoint)+`"}`)
	if err := os.MkdirAll(filepath.Join(dir, "agents/link"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "agents/b/checkpoint.json"), filepath.Join(dir, "agents/link/checkpoint.json")); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"", "none", "torn", "big", "link", "../agents/b", ".."} {
		if c, ok := CheckpointOf(store, agent); ok {
			t.Errorf("%q: %+v", agent, c)
		}
	}
}
