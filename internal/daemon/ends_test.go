package daemon_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
)

const quickLimits = "[limits]\nhold = \"1s\"\nstagger = \"0s\"\nspawn_memory = \"0\"\n"

// tmux runs a command on the town's own terminal server.
func (w *town) tmux(args ...string) string {
	w.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", filepath.Join(w.cfg.RuntimeDir, "tmux.sock")}, args...)...).CombinedOutput()
	if err != nil {
		w.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// awaitAgain waits until an agent runs again, as another process.
func (w *town) awaitAgain(name string, was int) {
	w.Helper()
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", w.agent(name), w.said) }, func() bool {
		a := w.agent(name)
		return a.State == "idle" && a.PID != 0 && a.PID != was
	})
}

// The terminal server ends, and all agents in it: one P1 stands for it, the deaths
// hang under it, and every one of them comes back.
func TestTheTerminalServerDies(t *testing.T) {
	w := newTown(t, quickLimits)
	pids := map[string]int{}
	for _, name := range []string{"a", "b", "c"} {
		w.spawn(name, "reply hello", false)
		pids[name] = w.awaitState(name, "idle").PID
	}
	server, err := strconv.Atoi(w.tmux("display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	await(t, w.said.String, func() bool { return len(w.alerts("terminal-server-gone")) == 1 })
	if a := w.alerts("terminal-server-gone")[0]; a.Priority != "P1" || !strings.Contains(a.Summary, "tmux.sock") {
		t.Errorf("%+v", a)
	}
	var crashed []api.Alert
	await(t, func() string { return fmt.Sprintf("%+v\n%s", crashed, w.said) }, func() bool {
		crashed = w.alerts("agent-crashed")
		under := func(a api.Alert) bool {
			return slices.ContainsFunc(a.CausedBy, func(k string) bool { return strings.HasPrefix(k, "terminal-server-gone") })
		}
		return len(crashed) == len(pids) && !slices.ContainsFunc(crashed, func(a api.Alert) bool { return !under(a) })
	})
	for name, pid := range pids {
		w.awaitAgain(name, pid)
		t.Logf("%s runs again after %s", name, time.Since(killed).Round(time.Second))
	}
	w.isOver()
	w.oneP1()
}

// A script ends an agent by a signal that a person could have sent: it is told, and
// it comes back. What a person ends by its own exit command stays down, and is no
// failure; neither is what a person orders stopped.
func TestWhoEndsAnAgentDecidesWhatBecomesOfIt(t *testing.T) {
	w := newTown(t, quickLimits)
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		name := fmt.Sprint("signalled", i)
		w.spawn(name, "reply hello", false)
		pid := w.awaitState(name, "idle").PID
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		w.awaitAgain(name, pid)
	}
	if n := len(w.alerts("agent-crashed")); n != 3 {
		t.Errorf("%d deaths are told, want 3", n)
	}
	for _, name := range []string{"quit", "ordered"} {
		w.spawn(name, "reply hello", false)
		w.awaitState(name, "idle")
	}
	var session string
	for _, s := range strings.Fields(w.tmux("list-sessions", "-F", "#{session_name}")) {
		if strings.HasPrefix(s, "quit~") {
			session = s
		}
	}
	w.tmux("send-keys", "-t", "="+session+":", "/exit")
	w.tmux("send-keys", "-t", "="+session+":", "Enter")
	if a := w.awaitState("quit", "stopped"); !strings.Contains(a.Reason, "a person ended it") {
		t.Errorf("%+v", a)
	}
	if o := w.order(api.OrderRequest{Do: "stop", Agent: "ordered"}); o.State != "done" {
		t.Fatalf("%+v", o)
	}
	w.awaitState("ordered", "stopped")
	if n := len(w.alerts("agent-crashed")); n != 3 {
		t.Errorf("%d deaths are told, want those 3 still", n)
	}
	all, err := w.client().Failures(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	crashed := 0
	for _, f := range all.Failures {
		if !strings.HasPrefix(f.Agent, "signalled") {
			t.Errorf("the record of failures has %+v", f)
		}
		if f.Verdict == "crashed" { // what a recovery itself tried in vain is told as that
			crashed++
		}
	}
	if crashed != 3 {
		t.Errorf("%d crashes, want 3: %+v", crashed, all.Failures)
	}
}

// One that is killed while it starts is a failure on record.
func TestKilledWhileItStarts(t *testing.T) {
	w := newTown(t, quickLimits+"[rule.agent-crashed]\nmode = \"observe\"\n")
	s := &api.SpawnRequest{Kind: "claude", Argv: []string{"sh", "-c", "kill -9 $$"}, Dir: filepath.Join(w.dir, "work")}
	o := w.order(api.OrderRequest{Do: "spawn", Agent: "stillborn", Spawn: s})
	t.Logf("%+v", o)
	await(t, w.said.String, func() bool {
		all, err := w.client().Failures(t.Context(), "")
		return err == nil && slices.ContainsFunc(all.Failures, func(f api.Failure) bool { return f.Agent == "stillborn" })
	})
}
