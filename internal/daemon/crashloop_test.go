package daemon_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
)

// recoveries are the moments at which an agent was recovered, or that was tried.
func (w *town) recoveries(name string) (at []time.Time) {
	w.Helper()
	feed, err := w.client().Feed(w.Context(), api.FeedQuery{View: api.FeedTrace, Of: name, Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range feed.Entries {
		if e.Kind == "action.started" && strings.HasPrefix(e.Text, "recover") {
			at = append(at, e.At)
		}
	}
	return at
}

// status is what custos status prints.
func (w *town) status() string {
	w.Helper()
	out, err := exec.Command(filepath.Join(w.bin, "custos"), "--config", filepath.Join(w.dir, "custos.toml"), "status").CombinedOutput()
	if err != nil {
		w.Fatalf("status: %v\n%s", err, out)
	}
	return string(out)
}

// TestCrashLoopWhole: the waits between recoveries grow, the agent is given up
// once and people are told once, a daemon that is killed changes none of it, the
// window opens by itself, and status shows all of it.
func TestCrashLoopWhole(t *testing.T) {
	const window = 50 * time.Second
	w := newTown(t, strings.Replace(strings.Replace(loopConfig, "2 in 1h", "3 in 50s", 1), `cooldown = "1s"`, `cooldown = "2s"`, 1))
	w.spawnArgv("loop", "claude", "--fake", "boot 300ms; kill")
	await(t, w.said.String, func() bool { return w.agent("loop").Failed != "" })
	tries := w.recoveries("loop")
	if len(tries) != 3 {
		t.Fatalf("it was recovered at %v before it was given up, want 3 times\n%s", tries, w.said)
	}
	first, second := tries[1].Sub(tries[0]), tries[2].Sub(tries[1])
	if first < 2*time.Second || second < 4*time.Second || second <= first {
		t.Errorf("between the recoveries passed %v and %v, want at least 2s, then at least 4s", first, second)
	}
	t.Logf("between the recoveries passed %v and %v", first, second)
	w.isGivenUp("before the kill")

	w.kill()
	before := w.said
	w.start()
	w.isGivenUp("after the kill")
	told := func() int { return strings.Count(before.String()+w.said.String(), "- [P1] agent-crash-loop") }
	await(t, w.said.String, func() bool { return told() > 0 })

	await(t, func() string { return w.status() + w.said.String() }, func() bool { return len(w.recoveries("loop")) > 3 })
	if again := w.recoveries("loop")[3].Sub(tries[0]); again < window {
		t.Errorf("it was recovered %v after the first time, within the window of %v", again, window)
	}
	if n := told(); n != 1 {
		t.Errorf("people were told %d times:\n%s%s", n, before, w.said)
	}
}

// isGivenUp: one alert, no process, and status says who, why, how often and until when.
func (w *town) isGivenUp(when string) {
	w.Helper()
	if a := w.agent("loop"); a.Failed == "" || a.PID != 0 {
		w.Errorf("%s: %+v", when, a)
	}
	await(w.T, func() string { return fmt.Sprintf("%s: %+v\n%s", when, w.alerts("agent-crash-loop"), w.said) }, func() bool { return len(w.alerts("agent-crash-loop")) == 1 })
	said := w.status()
	for _, want := range []string{"given up", "agent loop: 3 of 3 tries in 50s are used up; it is tried again from 20", "failures on record", "custos --config"} {
		if !strings.Contains(said, want) {
			w.Errorf("%s, status is without %q:\n%s", when, want, said)
		}
	}
}
