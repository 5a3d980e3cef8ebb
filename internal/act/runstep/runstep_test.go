package runstep_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/endstep"
	"custos/internal/act/runstep"
	"custos/internal/fleet"
	"custos/internal/observe/runs"
	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/session/sessiontest"
	"custos/internal/sys/host"
	"custos/internal/sys/shim"
)

// binary is the shim, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "runstep-*")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, shim.Program)
	cmd := exec.Command("go", "build", "-o", binary, "custos/cmd/custos-shim")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		os.Stderr.Write(out)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// ground is where steps run: the real shim, and folders of the test's own.
type ground struct {
	t       *testing.T
	binary  string
	dir     string
	environ []string
	start   *runstep.Action
	end     *endstep.Action
	probe   *runs.Probe
	run     fleet.Run
}

func newGround(t *testing.T, steps ...fleet.RunStep) *ground {
	t.Helper()
	g := &ground{t: t, binary: binary, dir: t.TempDir(),
		environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "SECRET=s3cret", "WANTED=yes", "CUSTOS_AGENT=me:you"}}
	clock, err := host.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	now := func() fleet.Instant {
		m := clock.Now()
		return fleet.Instant{Wall: m.Wall, Up: fleet.Duration(m.Up), Boot: m.Boot}
	}
	g.run = fleet.Run{ID: "r-1", Formula: "f", At: now(), Dir: fleet.Path(filepath.Join(g.dir, "runs", "r-1")), Work: fleet.Path(g.dir), State: fleet.RunOpen, Steps: steps}
	for i := range g.run.Steps {
		g.run.Steps[i].Do, g.run.Steps[i].State, g.run.Steps[i].Attempt = fleet.StepRun, fleet.StepRunning, 1
	}
	g.start = g.opened()
	if g.end, err = endstep.New(endstep.Options{Term: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	g.probe, err = runs.New(runs.Options{Now: now, Runs: func(contextT) ([]fleet.Run, error) { return []fleet.Run{g.run}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all, _ := shim.List(g.run.StepsDir())
		for _, r := range all {
			sessiontest.End(t, r.Dir)
		}
	})
	return g
}

// opened is the action as another Custos has it.
func (g *ground) opened() *runstep.Action {
	g.t.Helper()
	x, err := runstep.New(runstep.Options{Environ: func() []string { return g.environ }, Open: func(root string) (session.Provider, error) {
		return process.New(process.Options{Root: root, Shim: g.binary, Start: "30s"})
	}})
	if err != nil {
		g.t.Fatal(err)
	}
	return x
}

func (g *ground) action(do, step string, attempt int) fleet.Action {
	return fleet.Action{ID: "a", Do: do, Target: fleet.Target{Step: &fleet.StepTarget{Run: g.run, Step: step, Attempt: attempt}}}
}

// begin starts the first attempt at a step.
func (g *ground) begin(step string) string {
	g.t.Helper()
	return acttest.Do(g.t, g.start, g.action(runstep.Do, step, 1))
}

// facts are what the probe sees of the attempts at a step.
func (g *ground) facts(step string) []fleet.StepFacts {
	g.t.Helper()
	put, err := g.probe.Look(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return slices.DeleteFunc(s.Runs.Value[0].Steps, func(f fleet.StepFacts) bool { return f.Step != step })
}

// await waits until the newest attempt at a step is in a state.
func (g *ground) await(step string, state fleet.ProcState) fleet.StepFacts {
	g.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		f := g.facts(step)[0]
		if f.State == state {
			return f
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("step %s is %+v, want %s", step, f, state)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (g *ground) output(f fleet.StepFacts) string {
	g.t.Helper()
	b, err := os.ReadFile(fleet.RawPath(f.Output))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// file waits until a file is there, and returns what is in it.
func (g *ground) file(name string) string {
	g.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(g.dir, name)); err == nil && len(b) > 0 {
			return strings.TrimSpace(string(b))
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("there is no %s", name)
		}
	}
}

func TestSuite(t *testing.T) {
	g := newGround(t, fleet.RunStep{ID: "one", Script: "echo begun >> begun; exec sleep 1000"})
	n := 0
	acttest.Test(t, acttest.Case{
		Action: g.start,
		Setup: func(*testing.T) fleet.Action {
			n++
			return g.action(runstep.Do, "one", n)
		},
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			all, err := shim.List(a.Target.Step.Run.StepsDir())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range all {
				names = append(names, r.Dir)
			}
			return strings.Join(names, "\n")
		},
		Changed: map[string]func(*testing.T, fleet.Action){"given up": func(t *testing.T, a fleet.Action) {
			dir := g.run.StepDir("one", a.Target.Step.Attempt)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := shim.Void(dir); err != nil {
				t.Fatal(err)
			}
		}},
	})
}

// What a step gets is what it was given: its script, its arguments, its
// variables as data, and nothing else of the environment.
func TestValuesAreData(t *testing.T) {
	g := newGround(t,
		fleet.RunStep{ID: "script", Env: []string{"WANTED", "UNSET"}, Script: `printf '%s\n' "$CUSTOS_VAR_evil" "$CUSTOS_RUN_ID/$CUSTOS_STEP" "$WANTED" "${SECRET-none}" "$CUSTOS_AGENT" "$PROJECT_REPO_ROOT"; pwd`},
		fleet.RunStep{ID: "argv", Argv: []string{"printf", "%s", "$(touch x) `touch x`; touch x"}, Dir: "sub"})
	evil := "$(touch x)'\"`touch x`;touch x\n&& touch x"
	g.run.Vars = map[string]string{"evil": evil}
	if err := os.Mkdir(filepath.Join(g.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if effect := g.begin("script"); !strings.Contains(effect, "UNSET") || strings.Contains(effect, "touch") {
		t.Errorf("effect %q", effect)
	}
	g.begin("argv")
	want := evil + "\nr-1/script\nyes\nnone\nrun/r-1:script.1\n" + g.dir + "\n" + g.dir + "\n"
	f := g.await("script", fleet.ProcEnded)
	if got := g.output(f); got != want {
		t.Errorf("the script printed %q, want %q", got, want)
	}
	if got := g.output(g.await("argv", fleet.ProcEnded)); got != "$(touch x) `touch x`; touch x" {
		t.Errorf("the program printed %q", got)
	}
	for _, dir := range []string{g.dir, filepath.Join(g.dir, "sub"), fleet.RawPath(g.run.Dir)} {
		if _, err := os.Lstat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("a value was run in %s", dir)
		}
	}
	if info, err := os.Stat(filepath.Join(g.run.StepDir("script", 1), "script.sh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the script is %v, %v", info, err)
	}
	for _, c := range g.start.Commands(g.action(runstep.Do, "script", 1)) {
		if text, _ := json.Marshal(c); strings.Contains(string(text), "touch x") {
			t.Errorf("a value is shown in %s", text)
		}
	}
}

func TestHowItEnds(t *testing.T) {
	g := newGround(t,
		fleet.RunStep{ID: "three", Script: "exit 3"}, fleet.RunStep{ID: "fails", Script: "false\necho never"},
		fleet.RunStep{ID: "killed", Script: "kill -9 $$"}, fleet.RunStep{ID: "input", Script: "cat; echo over"},
		fleet.RunStep{ID: "dir", Script: "true", Dir: "nowhere"}, fleet.RunStep{ID: "program", Argv: []string{"no-such-program"}},
		fleet.RunStep{ID: "not begun", Script: "true"})
	for id, want := range map[string]int{"three": 3, "fails": 1, "input": 0} {
		g.begin(id)
		f := g.await(id, fleet.ProcEnded)
		if got, known := f.Status.Get(); !known || got != want || len(f.Left) > 0 || f.At.IsZero() {
			t.Errorf("%s: %+v", id, f)
		}
	}
	g.begin("killed")
	if got, known := g.await("killed", fleet.ProcEnded).Signal.Get(); !known || got != 9 {
		t.Errorf("signal %d, %v", got, known)
	}
	for _, id := range []string{"dir", "program"} {
		r, err := g.start.Prepare(t.Context(), g.action(runstep.Do, id, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Do(t.Context()); err == nil {
			t.Errorf("%s was started", id)
		}
		r.Close()
		if f := g.await(id, fleet.ProcFailed); f.Why == "" {
			t.Errorf("%s: %+v", id, f)
		}
		if _, err := g.start.Prepare(t.Context(), g.action(runstep.Do, id, 1)); !errors.Is(err, act.ErrRefused) {
			t.Errorf("%s, again: %v", id, err)
		}
	}
	if f := g.facts("not begun")[0]; f.State != fleet.ProcNone {
		t.Errorf("%+v", f)
	}
}

// An attempt that is started twice, at the same moment even, is one process; and
// another Custos, after a crash, finds it.
func TestOneKeyOneProcess(t *testing.T) {
	g := newGround(t, fleet.RunStep{ID: "once", Script: "echo here >> here; exec sleep 1000"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := g.start.Prepare(t.Context(), g.action(runstep.Do, "once", 1))
			if err == nil {
				_ = r.Do(t.Context()) // that another was first is no matter
				r.Close()
			}
		})
	}
	wg.Wait()
	g.await("once", fleet.ProcRunning)
	next := g.opened()
	if _, err := next.Prepare(t.Context(), g.action(runstep.Do, "once", 1)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("after a crash: %v", err)
	}
	if got := g.file("here"); got != "here" {
		t.Errorf("it ran as often as %q", got)
	}
}

// A step that prints without end fills no disk.
func TestOutputIsCapped(t *testing.T) {
	if testing.Short() {
		t.Skip("prints a gigabyte")
	}
	g := newGround(t, fleet.RunStep{ID: "loud", Script: "yes 0123456789 | head -c 1000000000; sleep 1; echo the end"})
	g.begin("loud")
	f := g.await("loud", fleet.ProcEnded)
	if text := g.output(f); !strings.HasSuffix(text, "the end\n") {
		t.Errorf("its end is missing: %q", text[max(0, len(text)-50):])
	}
	total := int64(0)
	for _, name := range []string{"stdout.log", "stdout.log.1"} {
		if info, err := os.Stat(filepath.Join(g.run.StepDir("loud", 1), name)); err == nil {
			total += info.Size()
		}
	}
	if total > 5<<20 {
		t.Errorf("%d bytes are kept", total)
	}
}
