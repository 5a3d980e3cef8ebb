package runstep_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/endstep"
	"custos/internal/act/runstep"
	"custos/internal/fleet"
	"custos/internal/sys/proc"
)

type contextT = context.Context

// stop ends the first attempt at a step, and checks that nothing is left.
func (g *ground) stop(step string) string {
	g.t.Helper()
	return acttest.Do(g.t, g.end, g.action(endstep.Do, step, 1))
}

// lives says whether a process that wrote its pid into a file runs.
func (g *ground) lives(pidFile string) bool {
	pid, err := strconv.Atoi(g.file(pidFile))
	if err != nil {
		g.t.Fatal(err)
	}
	_, err = proc.Holder(pid)
	return !errors.Is(err, proc.ErrGone)
}

func TestEndSuite(t *testing.T) {
	g := newGround(t, fleet.RunStep{ID: "one", Script: "sleep 1000 & exec sleep 1000"})
	n := 0
	acttest.Test(t, acttest.Case{
		Action: g.end,
		Setup: func(t *testing.T) fleet.Action {
			n++
			acttest.Do(t, g.start, g.action(runstep.Do, "one", n))
			return g.action(endstep.Do, "one", n)
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			g.run.Steps[0].Attempt = a.Target.Step.Attempt
			return string(g.facts("one")[0].State)
		},
		Gone: func(t *testing.T, a fleet.Action) { acttest.Do(t, g.end, a) },
	})
}

// However a step's processes try to get away, all of them are ended, and how the
// step itself ended is known.
func TestAllOfItIsEnded(t *testing.T) {
	for name, script := range map[string]string{
		"children":      `sleep 1000 & echo $! > child; wait`,
		"setsid":        `setsid sh -c 'echo $$ > child; exec sleep 1000' & exec sleep 1000`,
		"double fork":   `(setsid sh -c 'echo $$ > child; exec sleep 1000' &); exec sleep 1000`,
		"no marker":     `(env -i /bin/sh -c 'setsid sh -c "echo \$\$ > child; exec sleep 1000" &' &); exec sleep 1000`,
		"ignores TERM":  `trap '' TERM; sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' & while :; do sleep 1; done`,
		"stopped":       `sh -c 'echo $$ > child; kill -STOP $$; sleep 1000' & exec sleep 1000`,
		"forks on TERM": `trap 'sleep 1000 & exit 0' TERM; sleep 1000 & echo $! > child; while :; do sleep 0.1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, fleet.RunStep{ID: "s", Script: script})
			g.begin("s")
			if !g.lives("child") {
				t.Fatal("it has no child")
			}
			if f := g.await("s", fleet.ProcRunning); f.Process.PID == 0 {
				t.Errorf("%+v", f)
			}
			effect := g.stop("s")
			if g.lives("child") {
				t.Errorf("its child lives, after %s", effect)
			}
			if f := g.await("s", fleet.ProcEnded); len(f.Left) > 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// What a step leaves behind is a fact, and is ended; the step's own end stands.
func TestWhatItLeftIsEnded(t *testing.T) {
	g := newGround(t, fleet.RunStep{ID: "s", Script: `setsid sh -c 'echo $$ > child; exec sleep 1000' & while [ ! -s child ]; do sleep 0.01; done; exit 4`})
	g.begin("s")
	f := g.await("s", fleet.ProcEnded)
	if got, _ := f.Status.Get(); got != 4 || len(f.Left) == 0 {
		t.Fatalf("%+v", f)
	}
	g.stop("s")
	if f := g.await("s", fleet.ProcEnded); len(f.Left) > 0 || g.lives("child") {
		t.Errorf("%+v", f)
	}
	if _, err := g.end.Prepare(t.Context(), g.action(endstep.Do, "s", 1)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a second time: %v", err)
	}
}

// kill -9 of the shim: while the step runs it runs; then its end is in doubt,
// what it left is known by its marker, and nothing starts it again.
func TestShimIsKilled(t *testing.T) {
	g := newGround(t, fleet.RunStep{ID: "s", Script: `setsid sh -c 'echo $$ > child; exec sleep 1000' & while [ ! -e go ]; do sleep 0.01; done`})
	g.begin("s")
	running := g.await("s", fleet.ProcRunning)
	g.file("child")
	pid := parentOf(t, running.Process.PID)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if f := g.await("s", fleet.ProcRunning); f.Process != running.Process {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := g.await("s", fleet.ProcInDoubt)
	if len(f.Left) == 0 || f.Status.IsKnown() || f.Signal.IsKnown() {
		t.Errorf("%+v", f)
	}
	if _, err := g.start.Prepare(t.Context(), g.action(runstep.Do, "s", 1)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("starting it again: %v", err)
	}
	g.stop("s")
	if f := g.await("s", fleet.ProcInDoubt); len(f.Left) > 0 || g.lives("child") {
		t.Errorf("%+v", f)
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	s, err := proc.NewReader(proc.TableOptions{}).Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return s.PPID
}

// Two Custoses and two runs with steps of one name never touch each other's.
func TestAnotherRunIsLeftAlone(t *testing.T) {
	g, other := newGround(t, fleet.RunStep{ID: "s", Script: "exec sleep 1000"}), newGround(t, fleet.RunStep{ID: "s", Script: "exec sleep 1000"})
	other.run.ID = "r-2"
	g.begin("s")
	other.begin("s")
	if effect := g.stop("s"); !strings.Contains(effect, "of 1 process") {
		t.Errorf("effect %q", effect)
	}
	other.await("s", fleet.ProcRunning)
}
