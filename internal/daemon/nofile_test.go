package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/onewriter"
)

// inPlace are the ways in which something lies where a file of Custos's own belongs.
var inPlace = map[string]func(path string) error{
	"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"a folder":     func(path string) error { return os.Mkdir(path, 0o700) },
	"a link":       func(path string) error { return os.Symlink("/dev/zero", path) },
	"1 GiB":        func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30)) },
}

// soon fails when something waits for ever.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// TestWhatLiesInPlaceOfTheFreezeFileIsFrozen: whatever it is, nothing is done, and a thaw takes it away.
func TestWhatLiesInPlaceOfTheFreezeFileIsFrozen(t *testing.T) {
	for what, put := range inPlace {
		cfg := config.Config{StateDir: t.TempDir()}
		if err := put(freezeFile(cfg)); err != nil {
			t.Fatal(err)
		}
		soon(t, "a freeze with "+what, func() {
			if why := Frozen(cfg); why == "" || len(why) > 1000 {
				t.Errorf("with %s it is frozen %.200q", what, why)
			}
			if err := freeze(cfg, "ann", "because"); err != nil {
				t.Errorf("over %s: %v", what, err)
			}
			if why := Frozen(cfg); why == "" {
				t.Errorf("after a freeze over %s it is not frozen", what)
			}
			if _, err := thaw(cfg); err != nil || Frozen(cfg) != "" {
				t.Errorf("after a thaw over %s: %v, %q", what, err, Frozen(cfg))
			}
		})
	}
}

// TestWhatLiesInPlaceOfALockIsSaid: nobody waits for it, nothing is written, and whether a
// daemon runs cannot be told by it.
func TestWhatLiesInPlaceOfALockIsSaid(t *testing.T) {
	for what, put := range inPlace {
		cfg := config.Config{StateDir: t.TempDir(), RuntimeDir: t.TempDir()}
		name := filepath.Join(cfg.RuntimeDir, "lock")
		if err := put(name); err != nil {
			t.Fatal(err)
		}
		soon(t, "a lock that is "+what, func() {
			held, err := onewriter.Take(t.Context(), cfg, "custos test", 0)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "remove it") && what != "1 GiB" {
				t.Errorf("%s was taken: %v, %v", what, held, err)
			}
			if Runs(cfg) || Holder(cfg) != 0 {
				t.Errorf("a daemon runs by %s", what)
			}
			if told := Untold(cfg); (what == "1 GiB") != (told == "") {
				t.Errorf("of %s is told %q", what, told)
			}
		})
	}
}
