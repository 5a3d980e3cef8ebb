package shim

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An agent may put what it likes into its own folder: nobody waits for a pipe there, and
// nothing is written through a link.
func TestWhatAnAgentPutInPlaceOfARecordIsNotOpened(t *testing.T) {
	for name, write := range map[string]func(dir string) error{
		"asked.tmp":  func(dir string) error { return write(filepath.Join(dir, "asked"), "x") },
		"launch.tmp": func(dir string) error { return write(launchFile(dir), "x") },
		".void":      Void,
	} {
		for what, put := range map[string]func(path, other string) error{
			"pipe": func(path, _ string) error { return unix.Mkfifo(path, 0o600) },
			"link": func(path, other string) error { return os.Symlink(other, path) },
		} {
			dir, other := t.TempDir(), filepath.Join(t.TempDir(), "mine")
			if name == "launch.tmp" {
				name = filepath.Base(launchFile(dir)) + ".tmp"
			}
			if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(dir, name), other); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- write(dir) }()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s at %s: %v", what, name, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("a %s at %s is waited for", what, name)
			}
			if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
				t.Errorf("a %s at %s was followed: %q, %v", what, name, text, err)
			}
		}
	}
}
