package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"custos/internal/daemon"
)

// vanish are the ways in which a daemon's lock goes from the place where the next one
// looks for it.
var vanish = map[string]func(w *town) error{
	"the locks are removed": func(w *town) error {
		return firstOf(os.Remove(filepath.Join(w.cfg.StateDir, "lock")), os.Remove(filepath.Join(w.cfg.RuntimeDir, "lock")))
	},
	"the folder is removed": (*town).removeFolder,
	"the folder is moved":   func(w *town) error { return os.Rename(w.cfg.StateDir, w.cfg.StateDir+"-moved") },
}

// removeFolder removes the folder of the state at once: from one that is removed piece by
// piece, files would go while the daemon makes others.
func (w *town) removeFolder() error {
	aside := w.cfg.StateDir + "-removed"
	return firstOf(os.Rename(w.cfg.StateDir, aside), os.RemoveAll(aside))
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestADaemonWhoseLockIsTakenAwayStaysTheOnlyOne: no second one begins beside it, at once
// or later; it answers again by itself; and down ends it.
func TestADaemonWhoseLockIsTakenAwayStaysTheOnlyOne(t *testing.T) {
	for name, take := range vanish {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, quickLimits)
			pid := fmt.Sprintf("pid %d", w.up.Process.Pid)
			if err := take(w); err != nil {
				t.Fatal(err)
			}
			w.refusesAnother(pid)
			await(t, w.said.String, func() bool {
				out, code := w.says("status")
				return code == 0 && strings.Contains(out, "running, "+pid)
			})
			w.refusesAnother(pid)
			w.tells(0, []string{"The daemon is down"}, nil, "down")
			if err := w.ended(); err != nil {
				t.Errorf("the daemon ended with %v:\n%s", err, w.said)
			}
		})
	}
}

// TestADaemonWhoseFolderIsRemovedIsEndedAtOnce: who does not wait until it is back in its
// place ends it all the same.
func TestADaemonWhoseFolderIsRemovedIsEndedAtOnce(t *testing.T) {
	w := newTown(t, quickLimits)
	if err := w.removeFolder(); err != nil {
		t.Fatal(err)
	}
	w.tells(0, []string{"The daemon is down"}, nil, "down")
	if err := w.ended(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, w.said)
	}
}

// refusesAnother starts a second daemon, which must end, and say which one lives.
func (w *town) refusesAnother(pid string) {
	w.Helper()
	said := &writer{}
	second := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "up")
	second.Env = append(os.Environ(), "HOME="+w.dir)
	second.Stdout, second.Stderr = said, said
	if err := second.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- second.Wait() }()
	var err error
	await(w.T, said.String, func() bool {
		select {
		case err = <-ended:
			return true
		default:
			return strings.Contains(said.String(), "watches, pid")
		}
	})
	if err == nil {
		_ = second.Process.Kill()
		w.Fatalf("a second daemon began:\n%s", said)
	}
	if !strings.Contains(said.String(), pid) {
		w.Errorf("a second daemon ended and said %q; want %q", said, pid)
	}
}

// ended waits until the daemon has ended by itself, and says how.
func (w *town) ended() error {
	w.Helper()
	ended := make(chan error, 1)
	go func() { ended <- w.up.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		w.Fatalf("the daemon lives on:\n%s", w.said)
		return nil
	}
}

// TestADaemonWhoseLockAnotherHoldsEnds: it does nothing more, says why, and takes away
// neither the lock nor the socket of the other.
func TestADaemonWhoseLockAnotherHoldsEnds(t *testing.T) {
	w := newTown(t, quickLimits)
	for _, dir := range []string{w.cfg.StateDir, w.cfg.RuntimeDir} {
		other, err := os.Create(filepath.Join(dir, "other"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other.Name(), filepath.Join(dir, "lock")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(daemon.Socket(w.cfg), daemon.Socket(w.cfg)+".was"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(daemon.Socket(w.cfg), []byte("of another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.ended(); err == nil || !strings.Contains(w.said.String(), "another custos is writing") {
		t.Errorf("it ended with %v:\n%s", err, w.said)
	}
	if b, err := os.ReadFile(daemon.Socket(w.cfg)); err != nil || string(b) != "of another" {
		t.Errorf("what lies in the place of its socket: %q, %v", b, err)
	}
}

// TestWhereTheFolderMayNotBeReadNobodySaysThatNoDaemonRuns: the one that lives is found
// and ended; where none is found, that is no proof that there is none.
func TestWhereTheFolderMayNotBeReadNobodySaysThatNoDaemonRuns(t *testing.T) {
	for _, name := range []string{".", "run"} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, quickLimits)
			dir := filepath.Join(w.cfg.StateDir, name)
			w.forbid(name)
			defer func() { _ = os.Chmod(dir, 0o700) }()
			runs := fmt.Sprintf("a daemon runs (process %d), and does not answer", w.up.Process.Pid)
			none := []string{"no daemon is running", "none is running", "no daemon runs", "no patrol on record"}
			w.tells(0, []string{runs}, none, "status")
			w.tells(3, []string{"silent: " + runs}, none, "health")
			w.tells(1, []string{"a daemon runs, and does not answer"}, none, "doctor", "version")
			w.tells(0, []string{"The daemon is down"}, none, "down")
			_ = w.ended()
			why := "whether a daemon runs cannot be told: "
			w.tells(0, []string{why, "permission denied"}, none, "status")
			w.tells(3, []string{"unknown: " + why, "permission denied"}, none, "health")
			w.tells(0, []string{"cannot tell version daemon " + why}, append(none, "ok version daemon"), "doctor", "version")
			w.tells(3, []string{"cannot stop the daemon: " + why}, none, "down")
		})
	}
}
