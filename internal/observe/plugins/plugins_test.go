package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

func look(t *testing.T, checks ...fleet.PluginCheck) map[string]fleet.GateCheck {
	t.Helper()
	p, err := New(Options{Now: func() fleet.Instant { return fleet.Instant{} }, Checks: func(context.Context) []fleet.PluginCheck { return checks }})
	if err != nil {
		t.Fatal(err)
	}
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	out := map[string]fleet.GateCheck{}
	for _, c := range s.Checks.Value {
		out[c.Gate] = c
	}
	return out
}

// Only an exit status is an answer: what hangs, floods, is killed or is not there
// is unknown, and opens no gate.
func TestChecks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CUSTOS_TEST_GIVEN", "x")
	t.Setenv("CUSTOS_TEST_SECRET", "y")
	sh := func(name, script string, env ...string) fleet.PluginCheck {
		return fleet.PluginCheck{Formula: name, Argv: []string{"/bin/sh", "-c", script}, Dir: dir, Env: env, Timeout: fleet.Duration(20 * time.Second)}
	}
	hangs := sh("hangs", "sleep 1000 & echo $! > pid; wait")
	hangs.Timeout = fleet.Duration(time.Second)
	got := look(t, sh("open", "test $(pwd) = "+dir), sh("shut", "exit 3"), hangs, sh("killed", "kill -9 $$"), sh("floods", "head -c 1000000 /dev/zero"),
		fleet.PluginCheck{Formula: "none", Argv: []string{"/nowhere/prog"}, Dir: dir, Timeout: 1e9}, sh("env", "test \"$CUSTOS_TEST_GIVEN$CUSTOS_TEST_SECRET\" = x", "CUSTOS_TEST_GIVEN"))
	for name, want := range map[string]string{"open": "true", "env": "true", "shut": "false", "hangs": "longer than 1s", "killed": "could not be run", "floods": "could not be run", "none": "could not be run"} {
		is, known := got[name].Holds.Get()
		said := got[name].Holds.Why()
		if known {
			said = map[bool]string{true: "true", false: "false"}[is]
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	untilGone(t, "/proc/"+strings.TrimSpace(string(pid))+"/stat")
}

// A killed process is listed as running until it was scheduled once more.
func untilGone(t *testing.T, stat string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		b, err := os.ReadFile(stat)
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("what it began lives: %s", b)
		}
	}
}

func TestNoChecks(t *testing.T) {
	p, err := New(Options{Now: func() fleet.Instant { return fleet.Instant{} }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context()); !errors.Is(err, observe.ErrAbsent) {
		t.Error(err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("without a clock")
	}
}
