package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
)

// mode is what status says of it.
func (w *town) mode() string {
	s, err := status(w.Context(), w.cfg)
	if err != nil {
		return err.Error()
	}
	return s.Mode
}

// TestConfigurationComesIntoForceByItself: a new custos.toml that is good is read
// without a word, one that is not is told of by an alert and by health, and what was
// in force stays; agents know nothing of it. SIGHUP has it read at once.
func TestConfigurationComesIntoForceByItself(t *testing.T) {
	w := newTown(t, "[limits]\nspawn_memory = \"0\"\n")
	w.spawn("builder", "reply hello", false)
	was := w.awaitState("builder", "idle")
	first := w.up.Process.Pid
	is := func(mode string) func() bool { return func() bool { return w.mode() == mode } }
	said := func() string { return w.mode() + w.said.String() }

	w.rewrite("mode = \"observe\"\n")
	await(t, said, is("observe"))

	for name, bad := range map[string]string{
		"no TOML": "mode = = \n", "an unknown key": "modus = 3\n", "a refused section": "[agents]\nevery = \"sometimes\"\n", "another folder": "journal_dir = \"/elsewhere\"\n",
	} {
		w.rewrite("mode = \"auto\"\n" + bad)
		await(t, said, func() bool {
			out, _ := w.says("health")
			return strings.Contains(strings.Join(strings.Fields(out), " "), "is not in force: ")
		})
		out, code := w.says("health")
		if code != 0 || !strings.Contains(out, "well: ") {
			t.Errorf("%s: health ended with %d and said %s", name, code, out)
		}
		await(t, said, func() bool { return w.fires("self-config") })
		if m := w.mode(); m != "observe" {
			t.Errorf("%s: the mode is %s", name, m)
		}
	}

	w.rewrite("mode = \"ask\"\n")
	await(t, said, is("ask"))
	await(t, said, func() bool { return !w.fires("self-config") })
	if err := os.WriteFile(filepath.Join(w.dir, "custos.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, said, func() bool {
		s, err := status(w.Context(), w.cfg)
		return err == nil && strings.Contains(strings.Join(s.Notes, ""), "it is empty")
	})
	if m := w.mode(); m != "ask" {
		t.Errorf("an empty file was taken: the mode is %s", m)
	}

	w.rewrite("mode = \"auto\"\n")
	w.signal(syscall.SIGHUP)
	await(t, said, is("auto"))
	if w.up.ProcessState != nil || w.up.Process.Pid != first {
		t.Error("the daemon is another process")
	}
	if now := w.awaitState("builder", "idle"); now.PID != was.PID || now.Owner != "custos" {
		t.Errorf("the agent was %+v and is %+v", was, now)
	}
	if n := len(w.alerts("agent-crashed")); n != 0 {
		t.Errorf("%d alerts of a crash", n)
	}
}

// TestUpWaitsForAShortCommand: a command that writes for a moment does not keep the
// daemon from starting; another daemon does, at once.
func TestUpWaitsForAShortCommand(t *testing.T) {
	w := foundTown(t, "")
	run := filepath.Join(w.dir, "s", "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(filepath.Join(run, "lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.WriteFile(filepath.Join(run, "lock"), fmt.Appendf(nil, "custos (one command), pid %d\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.said = &writer{}
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		await(t, w.said.String, func() bool { return strings.Contains(w.said.String(), "waiting for custos (one command)") })
		_ = lock.Unlock()
	}()
	w.start()
	<-waiting
	if out, code := w.says("up"); code != 3 || !strings.Contains(out, "custos up, pid ") {
		t.Errorf("a second daemon ended with %d and said %s", code, out)
	}
}
