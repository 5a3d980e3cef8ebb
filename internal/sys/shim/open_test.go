package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenListsWhatHasNotEnded: what has an end, was given up, is damaged or is no
// instance is left out; a root that is not there has none, one that cannot be listed
// is an error.
func TestOpenListsWhatHasNotEnded(t *testing.T) {
	root := t.TempDir()
	write := func(key, file, text string) {
		t.Helper()
		dir := Dir(root, key)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	started := func(key string) string {
		return fmt.Sprintf(`{"v":1,"key":%q,"name":"s7","shim":{"pid":10,"start":1},"agent":{"pid":11,"start":2},"at":{"boot":"b"},"cap":"none"}`, key)
	}
	write("open", "started.json", started("open"))
	write("over", "started.json", started("over"))
	write("over", "exit.json", `{"v":1,"key":"over","agent":{"pid":11,"start":2},"status":0,"at":{"boot":"b"}}`)
	write("claimed", "claim", `{"v":1,"key":"claimed","name":"s8","shim":{"pid":12,"start":3},"at":{"boot":"b"}}`)
	write("given-up", "claim", `{"v":1,"key":"given-up","shim":{"pid":0,"start":0},"at":{"boot":"b"}}`)
	write("torn-claim", "claim", "{}")
	write("torn", "started.json", `{"v":1,`)
	got, err := Open(root)
	if err != nil || len(got) != 2 || got[1].Key != "open" || got[1].Name != "s7" || got[1].Agent.PID != 11 {
		t.Fatalf("%+v, %v", got, err)
	}
	if c := got[0]; c.Key != "claimed" || c.Name != "s8" || c.Shim.PID != 12 || c.Agent.PID != 0 {
		t.Errorf("of what was claimed only: %+v", c)
	}
	if got, err := Open(filepath.Join(root, "none")); err != nil || len(got) != 0 {
		t.Errorf("a root that is not there: %+v, %v", got, err)
	}
	if got, err := Open(filepath.Join(Dir(root, "torn"), "started.json")); err == nil {
		t.Errorf("a file as root: %+v and no error", got)
	}
}
