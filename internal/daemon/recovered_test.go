package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/store"
)

// TestOneRowWhileItRecovers: from its death until its recovery is verified an agent
// is one row, and nothing that Custos did itself is told as somebody else's.
func TestOneRowWhileItRecovers(t *testing.T) {
	w := newTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"30m\"\nboot = \"30m\"\n") // it is not verified before it was looked at
	w.spawn("builder", "work 1h", false)
	first := w.awaitState("builder", "working")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c, rows := w.client(), map[string]bool{}
	runs := func() (again bool) {
		all, err := c.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all.Agents {
			rows[a.Name] = true
			again = again || a.Name == "builder" && a.PID > 0 && a.PID != first.PID
		}
		return again
	}
	await(t, func() string { return fmt.Sprintf("%v\n%s", rows, w.said) }, runs)
	for range 20 {
		if !runs() || !w.acting() {
			t.Fatalf("it does not run, or its recovery is over: %+v\n%s", w.agent("builder"), w.said)
		}
	}
	if len(rows) != 1 {
		t.Errorf("while it recovered, these were shown: %v", rows)
	}
	all, err := c.Alerts(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all.Alerts {
		if strings.HasPrefix(a.Subject, "agent/") && a.Subject != "agent/builder" || strings.Contains(a.Rule, "session") {
			t.Errorf("an alert of its own making: %s of %s: %s", a.Rule, a.Subject, a.Summary)
		}
	}
	if err := syscall.Kill(w.pidOf("builder"), syscall.SIGKILL); err != nil { // a daemon that is to end finishes what it has begun
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { return !w.acting() })
}

// TestADaemonThatWasKilledWhileItRecoversAnswers: what the next one takes up may go on for
// minutes. It listens meanwhile, and the agent is recovered once.
func TestADaemonThatWasKilledWhileItRecoversAnswers(t *testing.T) {
	w := newTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"30m\"\nboot = \"30m\"\n")
	w.spawn("builder", "work 1h", false)
	first := w.awaitState("builder", "working")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := func() bool { pid := w.agent("builder").PID; return pid > 0 && pid != first.PID }
	await(t, w.said.String, again)
	second := w.agent("builder").PID
	w.kill()
	began := time.Now()
	w.start()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the next daemon answered after %v\n%s", took, w.said)
	}
	if !w.acting() {
		t.Errorf("nothing was taken up\n%s", w.said)
	}
	if is := w.pidOf("builder"); is != second {
		t.Errorf("it is process %d, and was %d", is, second)
	}
	if err := syscall.Kill(second, syscall.SIGKILL); err != nil { // a daemon that is to end finishes what it has begun
		t.Fatal(err)
	}
	await(t, w.said.String, func() bool { return !w.acting() })
}

// acting says whether an action is under way.
func (w *town) acting() bool {
	s, err := status(w.Context(), w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	return s.InFlight > 0
}

// TestTheTaskGoesOn: kill -9 before the first turn: the rule that starts it again
// brings its task back, though the CLI finds no conversation to go on with.
func TestTheTaskGoesOn(t *testing.T) {
	w := newTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"1s\"\n")
	how := w.doesAs("boot 1h")
	o := w.order(api.OrderRequest{Do: "spawn", Agent: "early",
		Spawn: &api.SpawnRequest{Kind: "claude", Argv: []string{filepath.Join(w.dir, "claude")}, Dir: filepath.Join(w.dir, "work"), Prompt: "mend the tests"}})
	if o.State != "done" {
		t.Fatalf("%+v\n%s", o, w.said)
	}
	await(t, w.said.String, func() bool { // the script has read how
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.agent("early").PID))
		return strings.Contains(string(b), "boot 1h")
	})
	if err := os.WriteFile(how, []byte("lost 3s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(w.pidOf("early"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	log := func() string {
		b, _ := os.ReadFile(filepath.Join(w.dir, ".fakeagent/log.jsonl")) // none before the first prompt
		return string(b)
	}
	await(t, func() string { return log() + w.said.String() }, func() bool { return strings.Contains(log(), "mend the tests") && !w.acting() })
	if n := len(w.recoveries("early")); n != 1 {
		t.Errorf("it took %d recoveries", n)
	}
	w.diedOnce("early")
}

// diedOnce: an agent's death is told once, and the try to resume its conversation that
// its recovery made is told as that.
func (w *town) diedOnce(name string) {
	w.Helper()
	bad, err := w.client().Failures(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	var verdicts []string
	for _, f := range bad.Failures {
		verdicts = append(verdicts, f.Verdict)
	}
	if got := strings.Join(verdicts, " "); got != "crashed resume_failed" {
		w.Errorf("on record are %q: %+v", got, bad.Failures)
	}
	book, err := store.OpenReadOnly(w.Context(), store.Options{Path: filepath.Join(w.cfg.StateDir, "custos.db")})
	if err != nil {
		w.Fatal(err)
	}
	defer book.Close()
	told, err := book.Events(w.Context(), 0, 0, store.EventFilter{Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name}, Rule: "agent-crashed"})
	if err != nil {
		w.Fatal(err)
	}
	told = slices.DeleteFunc(told, func(e fleet.Event) bool { return e.Kind != "alert.firing" })
	all, err := book.Registrations(w.Context())
	i := slices.IndexFunc(all, func(r fleet.Registration) bool { return r.Name == name })
	if err != nil || i < 0 || len(told) != 1 || len(all[i].Deaths) != 1 {
		w.Errorf("it died once, is %d of %+v (%v), and was told of by %+v", i, all, err, told)
	}
}

// TestAHungGitHoldsUpItsOwnAgentOnly: three agents die; where two of them worked git
// never answers. The third runs again while their backups hang.
func TestAHungGitHoldsUpItsOwnAgentOnly(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	answers := filepath.Join(bin, "answers")
	hangs := "#!/bin/sh\ncase \"$PWD $*\" in *slow*) until [ -e " + answers + " ]; do sleep 0.1; done;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(hangs), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := newTown(t, "[limits]\nsettle = \"100ms\"\nstagger = \"0s\"\ndeaths = \"9 in 1s\"\nhold = \"1s\"\n[recover]\nsettle = \"1s\"\nbackup_wait = \"10m\"\n")
	t.Cleanup(func() { _ = os.WriteFile(answers, nil, 0o600) }) // a daemon that is to end finishes what it has begun
	pids := map[string]int{}
	for _, name := range []string{"slow-one", "slow-two", "quick"} {
		dir := filepath.Join(w.dir, name)
		if out, err := exec.Command(real, "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		o := w.order(api.OrderRequest{Do: "spawn", Agent: name, Spawn: &api.SpawnRequest{Kind: "claude", Dir: dir, Prompt: "fake reply well"}})
		if o.State != "done" {
			t.Fatalf("%+v\n%s", o, w.said)
		}
		pids[name] = w.awaitState(name, "idle").PID
	}
	for _, name := range []string{"slow-one", "slow-two"} {
		if err := syscall.Kill(pids[name], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		await(t, w.said.String, func() bool { return len(w.recoveries(name)) > 0 })
	}
	if err := syscall.Kill(pids["quick"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, func() string { return fmt.Sprintf("%+v\n%s", w.agent("quick"), w.said) }, func() bool {
		a := w.agent("quick")
		return a.PID > 0 && a.PID != pids["quick"]
	})
	for _, name := range []string{"slow-one", "slow-two"} {
		if a := w.agent(name); a.PID != 0 {
			t.Errorf("%s runs: its git did not hang, and nothing was shown", name)
		}
	}
}

// TestAnEndInItsRecoveryIsNoneByItself: who ends with status 0 before its recovery is
// proved has not done its task. It is told, and started again, though its policy is to
// do so on failure only.
func TestAnEndInItsRecoveryIsNoneByItself(t *testing.T) {
	w := newTown(t, "[limits]\nsettle = \"100ms\"\n[recover]\nsettle = \"2s\"\n[rule.agent-crashed]\ncooldown = \"1s\"\n")
	how := w.doesAs("work 1h")
	w.spawnArgv("brief", filepath.Join(w.dir, "claude"))
	first := w.awaitState("brief", "idle", "working").PID
	if err := os.WriteFile(how, []byte("exit 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		bad, err := w.client().Failures(t.Context(), "brief")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v\n%s", bad.Failures, w.said)
	}
	await(t, told, func() bool { return strings.Contains(told(), "ended with status 0, too early") })
	if err := os.WriteFile(how, []byte("work 1h"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, told, func() bool { return w.agent("brief").PID > 0 && !w.acting() })
}

// doesAs makes an agent's program that does as the file says that it returns.
func (w *town) doesAs(first string) (how string) {
	w.Helper()
	how = filepath.Join(w.dir, "how")
	for path, text := range map[string]string{how: first, filepath.Join(w.dir, "claude"): "#!/bin/sh\nexec claude --fake \"$(cat " + how + ")\" \"$@\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			w.Fatal(err)
		}
	}
	return how
}
