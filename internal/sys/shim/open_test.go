package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenListsWhatHasNotEnded: what has an end, has not begun, is damaged or is no
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
	write("claimed", "claim", "{}")
	write("torn", "started.json", `{"v":1,`)
	got, err := Open(root)
	if err != nil || len(got) != 1 || got[0].Key != "open" || got[0].Name != "s7" || got[0].Agent.PID != 11 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Open(filepath.Join(root, "none")); err != nil || len(got) != 0 {
		t.Errorf("a root that is not there: %+v, %v", got, err)
	}
	if got, err := Open(filepath.Join(Dir(root, "torn"), "started.json")); err == nil {
		t.Errorf("a file as root: %+v and no error", got)
	}
}
