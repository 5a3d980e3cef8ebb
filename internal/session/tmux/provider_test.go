package tmux_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
	"custos/internal/sys/shim"

	"pgregory.net/rapid"
)

func provider(t testing.TB, s *sessiontest.Tmux, binary string) *tmux.Provider {
	t.Helper()
	p, err := tmux.NewProvider(tmux.ProviderOptions{Socket: s.Socket, Shim: binary, Deadline: "3s", Start: "20s"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProviderSuite(t *testing.T) {
	sessiontest.TestProvider(t, func(t *testing.T, binary string) sessiontest.Ground {
		s := sessiontest.NewTmux(t)
		return sessiontest.Ground{
			Provider: provider(t, s, binary), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true,
			Stop: func(t *testing.T) func() {
				pid := serverPID(t, s)
				signal(t, pid, syscall.SIGSTOP)
				thawed := false
				thaw := func() {
					if !thawed {
						signal(t, pid, syscall.SIGCONT)
					}
					thawed = true
				}
				t.Cleanup(thaw)
				return thaw
			},
			Kill: func(t *testing.T) { signal(t, serverPID(t, s), syscall.SIGKILL) },
		}
	})
}

func TestProviderOptionsAreChecked(t *testing.T) {
	for _, o := range []tmux.ProviderOptions{{}, {Socket: "relative"}, {Socket: "/s", Deadline: "soon"}, {Socket: "/s", Start: "-1s"}} {
		if _, err := tmux.NewProvider(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// A session's name tells the agent's name and instance, whatever they hold.
func TestSessionNameIsReversible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name, instance := rapid.StringN(1, 50, -1).Draw(t, "name"), rapid.StringMatching(`[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}`).Draw(t, "instance")
		s := tmux.SessionName(name, instance)
		// +XX is %XX of an address, whose reader is not ours.
		a, b, _ := strings.Cut(strings.ReplaceAll(s, "+", "%"), "~")
		n, badName := url.PathUnescape(a)
		i, badInstance := url.PathUnescape(b)
		if badName != nil || badInstance != nil || n != name || i != instance {
			t.Fatalf("%q, %q became %q, which is %q, %q, %v, %v", name, instance, s, n, i, badName, badInstance)
		}
	})
}

// Somebody who scrolls back is not disturbed; a pane that somebody left scrolled
// back is typed into.
func TestScrolledBack(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	s := sessiontest.NewTmux(t)
	g := sessiontest.Ground{Provider: provider(t, s, binary), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	got := g.Launch(t, g.Plan(t, "one", "cat"))
	s.Run(t, "copy-mode", "-t", got.Pane.Pane)
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "left alone"}); err != nil {
		t.Errorf("with nobody there: %v", err)
	}
	sessiontest.Await(t, func() (string, bool) {
		text, _ := g.Provider.Screen(t.Context(), got.Pane, 10)
		return text, text == "left alone"
	})
	outer := sessiontest.NewTmux(t)
	outer.New(t, "outer", "sh", "-c", "unset TMUX; exec tmux -S "+s.Socket+" attach")
	sessiontest.Await(t, func() (int, bool) {
		panes, _ := g.Provider.Panes(t.Context())
		return len(panes), len(panes) == 1 && panes[0].Attached == 1
	})
	s.Run(t, "copy-mode", "-t", got.Pane.Pane)
	if err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "x"}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("with somebody there: %v, want ErrBusy", err)
	}
}

// The provider uses its own server only.
func TestProviderKeepsToItsServer(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	other := sessiontest.NewTmux(t)
	other.New(t, "other", "sleep", "1000")
	before := other.Run(t, "show-options", "-g") + other.Run(t, "list-panes", "-a")
	s := sessiontest.NewTmux(t)
	t.Setenv("TMUX", other.Socket+",1,0")
	g := sessiontest.Ground{Provider: provider(t, s, binary), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	g.Launch(t, g.Plan(t, "one", "sleep", "1000"))
	if after := other.Run(t, "show-options", "-g") + other.Run(t, "list-panes", "-a"); after != before {
		t.Errorf("the other server changed from %q to %q", before, after)
	}
}

// The terminal is the agent's, as it would be without a shim: it hears of a new
// size, and Ctrl-Z does not stop it, because nobody could start it again.
func TestTheTerminalIsTheAgents(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	s := sessiontest.NewTmux(t)
	g := sessiontest.Ground{Provider: provider(t, s, binary), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	l := g.Plan(t, "one", "sh", "-c", `trap 'stty size >size' WINCH; stty size >size; while :; do echo >>alive; sleep 0.02; done`)
	got := g.Launch(t, l)
	size := func(want string) {
		t.Helper()
		sessiontest.Await(t, func() (string, bool) {
			b, _ := os.ReadFile(filepath.Join(l.Dir, "size"))
			return string(b), string(b) == want
		})
	}
	size("50 200\n")
	s.Run(t, "resize-window", "-t", got.Pane.Pane, "-x", "90", "-y", "30")
	size("30 90\n")
	s.Run(t, "send-keys", "-t", got.Pane.Pane, "C-z")
	sessiontest.Await(t, func() (string, bool) {
		text, _ := g.Provider.Screen(t.Context(), got.Pane, 5)
		return text, strings.Contains(text, "^Z")
	})
	alive := func() int64 {
		info, err := os.Stat(filepath.Join(l.Dir, "alive"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := alive()
	sessiontest.Await(t, func() (int64, bool) { return alive(), alive() > before+5 })
}

// With its shim killed an agent loses its pane, and what becomes of it is
// unknown rather than guessed.
func TestShimInAPaneIsKilled(t *testing.T) {
	binary := sessiontest.BuildShim(t)
	s := sessiontest.NewTmux(t)
	g := sessiontest.Ground{Provider: provider(t, s, binary), Root: filepath.Join(t.TempDir(), "agents"), Terminal: true}
	l := g.Plan(t, "one", "sleep", "1000")
	got := g.Launch(t, l)
	signal(t, got.Shim.PID, syscall.SIGKILL)
	sessiontest.Await(t, func() (error, bool) {
		err := g.Provider.Type(t.Context(), got.Pane, session.Input{Text: "x"})
		return err, errors.Is(err, session.ErrGone)
	})
	if _, x, err := shim.Read(l.Shim); x != nil || err != nil {
		t.Errorf("its end is said to be %+v, %v", x, err)
	}
	if err := g.Provider.Close(t.Context(), got.Pane); err != nil {
		t.Errorf("closing what is left: %v", err)
	}
	if panes, _ := g.Provider.Panes(t.Context()); len(panes) != 0 {
		t.Errorf("after that there is %+v", panes)
	}
}
