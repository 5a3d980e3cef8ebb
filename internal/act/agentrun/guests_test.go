package agentrun

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"custos/internal/session"
	"custos/internal/session/sessiontest"
	"custos/internal/session/tmux"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// An agent has started a tmux server, and made two sessions on it; a person has
// made one there, too, detached. All of them descend from the agent's server and
// carry its marker.
func TestASessionOfAPersonIsNoPartOfTheAgent(t *testing.T) {
	s := sessiontest.NewTmux(t)
	folder := filepath.Join(s.Dir, "work")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	root := sleeper(t, "one:a1")
	start(t, s, folder, shim.Marker+"=one:a1", "first")
	start(t, s, folder, shim.Marker+"=one:a1", "second")
	start(t, s, "/", "PERSON=yes", "mine")
	pids := map[string]int{}
	for line := range strings.Lines(s.Run(t, "list-panes", "-a", "-F", "#{session_name} #{pane_pid}")) {
		name, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
		pids[name], _ = strconv.Atoi(pid)
	}
	server, _ := strconv.Atoi(s.Run(t, "display-message", "-p", "#{pid}"))

	tree := Tree{Also: []proc.ID{root.ID()}, Marker: Marker("one", "a1"), Hosted: tmux.Hosted, Folder: folder}
	defer tree.Close()
	if err := tree.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"first": true, "second": true, "mine": false} {
		if got := holds(&tree, pids[name]); got != want {
			t.Errorf("session %s: held %v, want %v", name, got, want)
		}
	}
	if holds(&tree, server) || !slices.ContainsFunc(tree.Left, func(why string) bool { return strings.Contains(why, "mine") }) {
		t.Errorf("the server is held, or nobody is told: %q", tree.Left)
	}
	if _, err := tree.End(t.Context(), 10*time.Second, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := tree.Over(t.Context()); err != nil {
		t.Errorf("not over: %v", err)
	}
	if got := s.Run(t, "list-sessions", "-F", "#{session_name}"); got != "mine" {
		t.Errorf("sessions %q, want the person's alone", got)
	}
}

// Where only the agent uses its server, that ends with it.
func TestAServerOfTheAgentAloneEndsWithIt(t *testing.T) {
	s := sessiontest.NewTmux(t)
	root := sleeper(t, "one:a1")
	start(t, s, s.Dir, shim.Marker+"=one:a1", "first")
	tree := Tree{Also: []proc.ID{root.ID()}, Marker: Marker("one", "a1"), Hosted: tmux.Hosted, Folder: s.Dir}
	defer tree.Close()
	err := tree.Begin(t.Context())
	if err == nil {
		_, err = tree.End(t.Context(), 10*time.Second, 10*time.Second)
	}
	if err = errors.Join(err, tree.Over(t.Context())); err != nil || len(tree.Left) > 0 {
		t.Errorf("%v, left %q", err, tree.Left)
	}
}

// A server that is just making a pane has a fork of its own name: that is no server, and
// nobody asks it who uses it.
func TestAForkOfAServerIsNone(t *testing.T) {
	tree := Tree{Hosted: func(_ context.Context, server int) ([]session.Hosted, error) {
		if server != 10 {
			t.Errorf("%d was asked", server)
		}
		return []session.Hosted{{PID: 11, First: true}}, nil
	}}
	members := []proc.Member{{ID: proc.ID{PID: 10}, PPID: 1, Name: serverName}, {ID: proc.ID{PID: 11}, PPID: 10, Name: serverName}}
	if got := tree.withoutGuests(t.Context(), members); len(got) != 2 || len(tree.Left) > 0 {
		t.Errorf("%+v, left %q", got, tree.Left)
	}
}

func TestWhoseASessionIs(t *testing.T) {
	for name, c := range map[string]struct {
		pane session.Hosted
		own  bool
	}{
		"the first":                  {session.Hosted{First: true, Folder: "/x"}, true},
		"the first, looked at":       {session.Hosted{First: true, Folder: "/w", Visited: true}, false},
		"made in the folder":         {session.Hosted{Folder: "/w"}, true},
		"made below the folder":      {session.Hosted{Folder: "/w/a"}, true},
		"made beside the folder":     {session.Hosted{Folder: "/w-2"}, false},
		"in the folder, looked at":   {session.Hosted{Folder: "/w", Visited: true}, false},
		"made elsewhere, never seen": {session.Hosted{Folder: "/home/me"}, false},
	} {
		c.pane.PID, c.pane.Session = 7, "s"
		if g := sortOut([]session.Hosted{c.pane}, "/w"); g.own[7] != c.own || (g.why == "") != c.own {
			t.Errorf("%s: %+v, want it the agent's: %v", name, g, c.own)
		}
	}
	tree := Tree{}
	if g := tree.theirs(t.Context(), proc.ID{PID: 7}); g.why == "" {
		t.Error("a server that nobody can ask is taken for the agent's alone")
	}
}

func holds(t *Tree, pid int) bool {
	for id := range t.held {
		if id.PID == pid {
			return true
		}
	}
	return false
}

// start makes a detached session as somebody whose environment holds one entry more.
func start(t *testing.T, s *sessiontest.Tmux, dir, env, name string) {
	t.Helper()
	cmd := exec.Command("tmux", "-u", "-S", s.Socket, "-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "80", "-y", "24", "sh", "-c", "sleep 900 & wait")
	cmd.Dir, cmd.Env = dir, append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "TMUX") }), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
