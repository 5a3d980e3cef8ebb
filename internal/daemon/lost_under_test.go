package daemon_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// damages are the ways in which a database is damaged where it lies, under the daemon
// that has it open.
var damages = map[string]func(path string) error{
	"noise":   func(path string) error { return overwrite(path, path+"-wal") },
	"emptied": func(path string) error { return os.Truncate(path, 0) },
}

// overwrite writes noise over files, each of which stays the file that it is.
func overwrite(paths ...string) error {
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte("noise "), int(info.Size())/6), 0)
		}
		if err = f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (w *town) db() string { return filepath.Join(w.cfg.StateDir, "custos.db") }

// TestADaemonWhoseDatabaseIsDamagedBeginsAnew: the damaged file lies aside, a new one is
// begun, and people are told; whom it cared for is only looked at until they are handed
// over again, and cared for after that. It is the same process, and the brakes work.
func TestADaemonWhoseDatabaseIsDamagedBeginsAnew(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, quickLimits+"settle = \"200ms\"\n[recover]\nsettle = \"200ms\"\n")
			w.spawn("builder", "reply hello", false)
			w.spawn("night", "reply hello; work 1h", true)
			was := w.awaitState("builder", "idle")
			first := w.up.Process.Pid
			if err := damage(w.db()); err != nil {
				t.Fatal(err)
			}
			w.tells(0, []string{"Stopped"}, nil, "stop", "night")
			w.tells(0, []string{"Frozen"}, nil, "freeze", "because")
			w.tells(0, []string{"Thawed"}, nil, "thaw")
			await(t, w.said.String, func() bool { return w.fires("self-amnesia") })
			w.tells(0, []string{"well: ", "what was done before is lost: "}, nil, "health")
			if aside, err := filepath.Glob(w.db() + ".corrupt-*"); err != nil || len(aside) == 0 {
				t.Errorf("nothing was set aside: %v, %v", aside, err)
			}
			w.acknowledgesTheLoss("builder")
			w.tells(0, nil, nil, "adopt", "builder")
			now := w.awaitState("builder", "idle")
			if now.PID != was.PID || now.Owner != "adopted" || w.up.ProcessState != nil || w.up.Process.Pid != first {
				t.Errorf("the agent was %+v and is %+v; the daemon was %d and is %d", was, now, first, w.up.Process.Pid)
			}
			w.tells(0, []string{"is down"}, nil, "down")
		})
	}
}

// TestADatabaseThatIsDeletedUnderADaemonIsNotLost: what is ordered meanwhile is kept, and
// what was known is known after a kill.
func TestADatabaseThatIsDeletedUnderADaemonIsNotLost(t *testing.T) {
	w := newTown(t, quickLimits)
	w.spawn("builder", "reply hello", false)
	was := w.awaitState("builder", "idle")
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(w.db() + end); err != nil {
			t.Fatal(err)
		}
	}
	w.tells(0, nil, nil, "spawn", "late", "--kind", "claude", "--dir", filepath.Join(w.dir, "work"), "--prompt", "fake reply hello")
	await(t, w.said.String, func() bool { return w.fires("self-moved") })
	w.tells(0, []string{"well: ", "custos.db was deleted under Custos"}, nil, "health")
	w.tells(1, []string{"custos.db was deleted under Custos"}, []string{"none yet"}, "doctor", "databases")
	w.kill()
	w.start()
	for _, name := range []string{"builder", "late"} {
		if now := w.awaitState(name, "idle"); now.Owner != "custos" || name == "builder" && now.PID != was.PID {
			t.Errorf("it is %+v", now)
		}
	}
	if w.fires("self-amnesia") {
		t.Error("something was lost")
	}
}
