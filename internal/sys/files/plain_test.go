package files_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/sys/files"
)

// noFiles puts what is no file of Custos's at a path, by name.
func noFiles(t *testing.T) map[string]func(path string) error {
	return map[string]func(string) error{
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":       func(path string) error { return os.Symlink("/dev/zero", path) },
		"a socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
	}
}

// soon fails when something waits for ever.
func soon(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// TestWhatIsNoFileIsNeitherReadNorWritten: it is said at once what lies there, and what to do.
func TestWhatIsNoFileIsNeitherReadNorWritten(t *testing.T) {
	for what, put := range noFiles(t) {
		path := filepath.Join(t.TempDir(), "f")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		for name, do := range map[string]func() error{
			"read":   func() error { _, err := files.Read(path, 100); return err },
			"write":  func() error { return files.Write(path, []byte("x"), 0o600) },
			"append": func() error { return appendTo(path, "x") },
			"open":   func() error { _, err := files.OpenPlain(path); return err },
		} {
			err := soon(t, name+" of "+what, do)
			if want := path + " is " + what + ", not a file: remove it"; !errors.Is(err, files.ErrNotRegular) || err.Error() != want {
				t.Errorf("%s of %s said %v, want %s", name, what, err, want)
			}
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s became %v, %v", what, after, err)
		}
	}
}

// TestAPipeThatIsReadIsNotWritten: with somebody at its other end a pipe can be opened at once.
func TestAPipeThatIsReadIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := soon(t, "write", func() error { return files.Write(path, []byte("x"), 0o600) }); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("said %v", err)
	}
}

// appendTo writes to the end, as the journal does.
func appendTo(path, text string) error {
	f, err := files.OpenToWrite(path, os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// TestAFileIsReadAndWritten: what is a file is, up to a size that is told.
func TestAFileIsReadAndWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := files.Read(path, 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none it said %v", err)
	}
	if err := errors.Join(files.Write(path, []byte("longer than that"), 0o600), files.Write(path, []byte("abc"), 0o600), appendTo(path, "de")); err != nil {
		t.Fatal(err)
	}
	if text, err := files.Read(path, 5); err != nil || string(text) != "abcde" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := files.Read(path, 4); !errors.Is(err, files.ErrTooLarge) || !strings.Contains(err.Error(), path+" has more than 4 bytes") {
		t.Errorf("of one too large it said %v", err)
	}
}

// TestAnEndlessFileIsNotRead: no more of it than the bound is.
func TestAnEndlessFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)); err != nil {
		t.Skip(err)
	}
	if err := soon(t, "read", func() error { _, err := files.Read(path, 4096); return err }); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("said %v", err)
	}
}

// TestAFileIsReplacedWhole: also where what lies there is no file.
func TestAFileIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := soon(t, "replace", func() error { return files.Replace(path, []byte("x"), 0o700) }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if text, lost := files.Read(path, 1); lost != nil || err != nil || string(text) != "x" || info.Mode() != 0o700 {
		t.Errorf("it is %v, %q: %v, %v", info.Mode(), text, err, lost)
	}
	left := filepath.Join(filepath.Dir(path), "d")
	if err := errors.Join(os.Mkdir(left, 0o700), files.Replace(left, nil, 0o600)); err == nil {
		t.Error("a folder was replaced")
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 2 {
		t.Errorf("left are %v, %v", all, err)
	}
}
