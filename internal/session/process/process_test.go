package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/session"
	"custos/internal/session/process"
	"custos/internal/session/sessiontest"
	"custos/internal/sys/shim"
)

// TestMain lets the test binary be a daemon that launches one agent and is
// killed the moment after.
func TestMain(m *testing.M) {
	root := os.Getenv("CUSTOS_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	p, err := process.New(process.Options{Root: root, Shim: os.Getenv("CUSTOS_TEST_SHIM")})
	if err == nil {
		_, err = p.Launch(context.Background(), session.Launch{
			Name: "survivor", Instance: "s1", Argv: []string{"sh", "-c", "cat; exit 6"}, Env: os.Environ(),
			Dir: "/", Shim: shim.Dir(root, "s1"), Input: true,
		})
	}
	fmt.Println("launched:", err)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// Whoever launched an agent may die: the next one finds it, talks to it, and
// learns how it ended.
func TestAgentSurvivesItsLauncher(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	g := ground(t, binary)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sessiontest.End(t, shim.Dir(g.Root, "s1")) })
	launcher := exec.Command(self)
	launcher.Env = append(os.Environ(), "CUSTOS_TEST_ROOT="+g.Root, "CUSTOS_TEST_SHIM="+binary)
	out, err := launcher.CombinedOutput()
	if !strings.Contains(string(out), "launched: <nil>") || launcher.ProcessState.Success() {
		t.Fatalf("the launcher said %q, %v", out, err)
	}
	p := sessiontest.Panes(t, g.Provider, 1)[0]
	if p.Dead || p.Session != "survivor" {
		t.Fatalf("found %+v", p)
	}
	for _, in := range []session.Input{{Text: "hello"}, {Key: session.KeyEnd}} {
		if err := g.Provider.Type(t.Context(), p.ID, in); err != nil {
			t.Fatal(err)
		}
	}
	if x := sessiontest.AwaitExit(t, shim.Dir(g.Root, "s1")); x.Status == nil || *x.Status != 6 {
		t.Errorf("it ended %+v", x)
	}
	if text, err := g.Provider.Screen(t.Context(), p.ID, 5); text != "hello" || err != nil {
		t.Errorf("it printed %q, %v", text, err)
	}
}

func ground(t *testing.T, binary string) sessiontest.Ground {
	t.Helper()
	root := filepath.Join(t.TempDir(), "agents")
	p, err := process.New(process.Options{Root: root, Shim: binary, Deadline: "300ms", Start: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	return sessiontest.Ground{Provider: p, Root: root}
}

func TestProviderSuite(t *testing.T) { sessiontest.TestProvider(t, ground) }

// stage opens agents that print, for the suite of viewers.
type stage struct {
	sessiontest.Ground
	n     int
	panes map[string]session.Launched
}

func (s *stage) Open(t *testing.T, name, text string) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.n++
	l := s.Plan(t, "i"+strings.Repeat("x", s.n), "sh", "-c", `cat "$1"; exec sleep 1000`, "sh", file)
	l.Name = name
	s.panes[name] = s.Launch(t, l)
}

func (s *stage) Close(t *testing.T, name string) {
	if err := s.Provider.Close(t.Context(), s.panes[name].Pane); err != nil {
		t.Fatal(err)
	}
}

func TestViewerSuite(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	sessiontest.Test(t, func(t *testing.T) (session.Viewer, sessiontest.Stage) {
		g := ground(t, binary)
		return g.Provider, &stage{Ground: g, panes: map[string]session.Launched{}}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []process.Options{{}, {Root: "here"}, {Root: "/r", Deadline: "soon"}, {Root: "/r", Start: "0s"}} {
		if _, err := process.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// An agent that does not read fills its input: first nothing waits, then what
// does not fit is refused or in doubt, and nothing hangs.
func TestAgentThatDoesNotRead(t *testing.T) {
	g := ground(t, sessiontest.BuildShim(t))
	got := g.Launch(t, g.Plan(t, "deaf", "sleep", "1000"))
	text := session.Input{Text: strings.Repeat("x", 400<<10)}
	var errs []error
	for range 4 {
		errs = append(errs, g.Provider.Type(t.Context(), got.Pane, text))
	}
	if errs[0] != nil || errs[1] != nil {
		t.Errorf("800 KiB do not fit: %v", errs)
	}
	if !errors.Is(errs[2], session.ErrInDoubt) {
		t.Errorf("a part of a text: %v, want ErrInDoubt", errs[2])
	}
	if errs[3] == nil || errors.Is(errs[3], session.ErrInDoubt) || errors.Is(errs[3], session.ErrGone) {
		t.Errorf("nothing of a text: %v, want a plain error", errs[3])
	}
}

func TestEndOfInput(t *testing.T) {
	g := ground(t, sessiontest.BuildShim(t))
	l := g.Plan(t, "cat", "sh", "-c", "cat; echo over; exit 5")
	got := g.Launch(t, l)
	for _, in := range []session.Input{{Text: "last words"}, {Key: session.KeyEnter}, {Key: session.KeyEnd}} {
		if err := g.Provider.Type(t.Context(), got.Pane, in); err != nil {
			t.Fatal(err)
		}
	}
	if x := sessiontest.AwaitExit(t, l.Shim); x.Status == nil || *x.Status != 5 {
		t.Errorf("it ended %+v", x)
	}
	if text, err := g.Provider.Screen(t.Context(), got.Pane, 5); text != "last words\nover" || err != nil {
		t.Errorf("it printed %q, %v", text, err)
	}
}

func TestWithoutInput(t *testing.T) {
	g := ground(t, sessiontest.BuildShim(t))
	l := g.Plan(t, "none", "sh", "-c", "cat && exec sleep 1000")
	l.Input = false
	got := g.Launch(t, l)
	for _, in := range []session.Input{{Text: "x"}, {Key: session.KeyEnd}} {
		if err := g.Provider.Type(t.Context(), got.Pane, in); err == nil || errors.Is(err, session.ErrGone) {
			t.Errorf("typed %+v: %v", in, err)
		}
	}
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Key: "Up"}); err == nil {
		t.Error("a headless agent got a cursor key")
	}
}

// kill -9 of the shim does not end the agent, and is not mistaken for its end.
func TestShimIsKilled(t *testing.T) {
	g := ground(t, sessiontest.BuildShim(t))
	l := g.Plan(t, "orphan", "sh", "-c", "while :; do echo alive; sleep 0.05; done")
	got := g.Launch(t, l)
	if err := syscall.Kill(got.Shim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(l.Shim, "stdout.log")
	before, _ := os.Stat(log)
	sessiontest.Await(t, func() (int64, bool) { // it goes on printing
		now, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		return now.Size(), now.Size() > before.Size()+20
	})
	if p := sessiontest.Panes(t, g.Provider, 1)[0]; p.Dead || p.ID != got.Pane {
		t.Errorf("it is seen as %+v", p)
	}
	if s, x, err := shim.Read(l.Shim); err != nil || x != nil {
		t.Errorf("the shim's folder says %+v, %+v, %v", s, x, err)
	}
	sessiontest.End(t, l.Shim)
	p := sessiontest.Await(t, func() (bool, bool) {
		p := sessiontest.Panes(t, g.Provider, 1)[0]
		return p.Dead, p.Dead && !p.ExitStatus.IsKnown() && !p.ExitSignal.IsKnown()
	})
	if !p {
		t.Error("its end is not seen")
	}
}
