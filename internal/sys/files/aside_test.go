//go:build linux

package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func held(t *testing.T, path string) (*os.File, Identity) {
	t.Helper()
	f, info, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, info.Identity
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSetAsideMovesAndLosesNothing(t *testing.T) {
	path := write(t, t.TempDir()+"/x.lock", "123")
	f, id := held(t, path)
	at := time.Date(2026, 11, 20, 9, 0, 0, 5, time.FixedZone("x", 3600))
	aside, err := SetAside(path, f, id, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Dir(path) + "/.custos-removed-x.lock-20261120T080000.000000005Z"; aside != want {
		t.Errorf("aside %s, want %s", aside, want)
	}
	if content(t, aside) != "123" {
		t.Error("the content changed")
	}
	if found, err := find(t, filepath.Dir(path)+"/*", "", 10); err != nil || found.Total != 0 {
		t.Errorf("a pattern finds it again: %v, %v", found, err)
	}
	// A second file of that name at that very instant is not written over.
	write(t, path, "456")
	f, id = held(t, path)
	if _, err := SetAside(path, f, id, at, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("over an existing file: %v", err)
	}
	if content(t, aside) != "123" || content(t, path) != "456" {
		t.Error("a file was replaced")
	}
}

// Whatever happened between the check and the rename, the new owner's file is
// back in its place.
func TestSetAsidePutsBackWhatChanged(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte("999"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"written": func(path string) error { return os.WriteFile(path, []byte("999"), 0o644) },
		"same bytes": func(path string) error {
			if err := os.WriteFile(path, []byte("999"), 0o644); err != nil {
				return err
			}
			return os.Chtimes(path, time.Now(), time.Unix(5, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir()+"/x.lock", "123")
			f, id := held(t, path)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if _, err := SetAside(path, f, id, time.Now(), nil); !errors.Is(err, ErrChanged) {
				t.Errorf("error %v, want ErrChanged", err)
			}
			if got := content(t, path); got != "999" {
				t.Errorf("%q is there now", got)
			}
		})
	}
	t.Run("check says no", func(t *testing.T) {
		path := write(t, t.TempDir()+"/x.lock", "123")
		f, id := held(t, path)
		no := errors.New("no")
		if _, err := SetAside(path, f, id, time.Now(), func() error { return no }); !errors.Is(err, no) {
			t.Errorf("error %v", err)
		}
		if content(t, path) != "123" {
			t.Error("it was not put back")
		}
	})
}

func TestLockedSeesEveryKindOfLock(t *testing.T) {
	for name, lock := range map[string]func(fd int) error{
		"flock":  func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) },
		"shared": func(fd int) error { return unix.Flock(fd, unix.LOCK_SH) },
		"OFD": func(fd int) error {
			return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		},
	} {
		path := write(t, t.TempDir()+"/x.lock", "123")
		f, _ := held(t, path)
		other, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock(int(other.Fd())); err != nil {
			t.Fatal(err)
		}
		if is, err := Locked(f); err != nil || !is {
			t.Errorf("%s: Locked = %v, %v", name, is, err)
		}
		other.Close()
		if is, err := Locked(f); err != nil || is {
			t.Errorf("%s, let go: Locked = %v, %v", name, is, err)
		}
	}
}
