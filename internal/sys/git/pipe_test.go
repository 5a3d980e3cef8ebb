package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What an agent put in the place of a file of git's is not waited for, nor read without end.
func TestAFileOfGitThatIsNone(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"a pipe":                      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link to what has no end":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder":                    func(path string) error { return os.Mkdir(path, 0o700) },
		"one of more than it can be":  func(path string) error { return os.WriteFile(path, make([]byte, 100<<10), 0o600) },
		"a pipe behind a link, held ": func(path string) error { return heldPipe(t, path) },
	} {
		path := filepath.Join(t.TempDir(), "HEAD")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := readSmall(path); done <- err }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was read", what)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is waited for", what)
		}
	}
}

// heldPipe is one that somebody keeps open.
func heldPipe(t *testing.T, path string) error {
	real := path + ".pipe"
	if err := unix.Mkfifo(real, 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(real, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	t.Cleanup(func() { f.Close() })
	return os.Symlink(real, path)
}
