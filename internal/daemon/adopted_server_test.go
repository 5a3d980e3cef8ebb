package daemon_test

import (
	"fmt"
	"os"
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

// TestAdoptedAgentsLoseTheirServer: the tmux server of a Gas Town is killed, with three
// polecats and a person's crew session in it. One P1 stands for it, each polecat's work
// is backed up, and they come back, the first alone. What is a person's stays as it is:
// the crew's session is not started, nor is a server in the town's place, and a person's
// own terminal goes on.
func TestAdoptedAgentsLoseTheirServer(t *testing.T) {
	w := settle(t, "gastown")
	rig, polecats := filepath.Join(w.dir, "gt/shop"), []string{"ace", "max", "nux"}
	main, crew := filepath.Join(rig, "mayor/rig"), filepath.Join(rig, "crew/ann")
	pids := map[string]int{}
	for i, name := range polecats {
		tree := filepath.Join(rig, "polecats", name, "shop")
		if i == 0 {
			w.repository(main, tree, "polecat/"+name)
		} else {
			git(t, main, "worktree", "add", "-q", "-b", "polecat/"+name, tree)
		}
		w.note(tree, "unsaved "+name)
		w.theirs("sh-"+name, tree, "work 1h")
	}
	git(t, main, "clone", "-q", ".", crew)
	w.note(crew, "ann's")
	w.theirs("sh-crew-ann", crew, "work 1h")
	own := &abroad{town: w.town, socket: filepath.Join(w.dir, "ann.sock")}
	own.theirs("ann", crew, "reply hello")
	w.start()
	for _, name := range polecats {
		pids[name] = w.registered("sh-" + name).PID
	}
	before, screen := fingerprint(t, crew), own.asks("capture-pane", "-p", "-t", "ann")
	server, anns := w.server(), own.asks("list-panes", "-a", "-F", "#{pid} #{pane_pid} #{pane_dead}")

	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, name := range polecats {
		w.cameBack("sh-"+name, pids[name])
	}
	w.isOver()
	if gone := w.alerts("terminal-server-gone")[0]; gone.Priority != "P1" || !strings.Contains(gone.Summary, w.socket) {
		t.Errorf("%+v", gone)
	}
	w.toldOnce(polecats)
	w.firstAlone(polecats)
	for _, name := range polecats {
		w.isSaved(main, name)
	}

	if after := fingerprint(t, crew); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the person's clone was changed: %v, before %v", after, before)
	}
	if out, err := exec.Command("tmux", "-S", w.socket, "list-sessions").CombinedOutput(); err == nil {
		t.Errorf("there is a server in the town's place again: %s", out)
	}
	if n := len(w.recoveries("sh-crew-ann")); n != 0 || w.agent("sh-crew-ann").Registered {
		t.Errorf("the crew's session was recovered %d times: %+v", n, w.agent("sh-crew-ann"))
	}
	if now := own.asks("list-panes", "-a", "-F", "#{pid} #{pane_pid} #{pane_dead}"); now != anns {
		t.Errorf("the person's terminal has %q, before %q", now, anns)
	}
	if now := own.asks("capture-pane", "-p", "-t", "ann"); now != screen {
		t.Errorf("the person's screen has %q, before %q", now, screen)
	}
}

// note leaves a file in a folder that no commit has.
func (w *abroad) note(dir, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// asks asks the tmux server of the other system.
func (w *abroad) asks(args ...string) string {
	w.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", w.socket}, args...)...).CombinedOutput()
	if err != nil {
		w.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// server is the process of that server.
func (w *abroad) server() int {
	w.Helper()
	pid, err := strconv.Atoi(w.asks("display-message", "-p", "#{pid}"))
	if err != nil {
		w.Fatal(err)
	}
	return pid
}

// cameBack waits until an agent runs again, as one that Custos has started.
func (w *abroad) cameBack(name string, was int) {
	w.Helper()
	var a api.AgentRow
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", a, w.said) }, func() bool {
		a = w.agent(name)
		return a.PID != 0 && a.PID != was && a.Owner == "custos" && a.Role == "polecat"
	})
}

// isOver waits until nothing of a server's end is told any more: what is told for a
// while after is told for a minute, and a loaded machine is late.
func (w *town) isOver() {
	w.Helper()
	await(w.T, w.said.String, func() bool {
		for _, rule := range []string{"terminal-server-gone", "correlated-failure"} {
			if slices.ContainsFunc(w.alerts(rule), func(a api.Alert) bool { return a.Status != "resolved" }) {
				return false
			}
		}
		return len(w.alerts("terminal-server-gone")) == 1 && !w.acting()
	})
}

// oneP1: people were told once that a terminal server had ended, and of no other P1.
func (w *town) oneP1() {
	w.Helper()
	var begun []string
	ended := false
	for _, line := range strings.Split(w.said.String(), "\n") {
		if head, is := strings.CutSuffix(line, ":"); is && !strings.Contains(head, " ") {
			ended = head == "Ended"
		}
		if strings.HasPrefix(line, "- [P1] ") && !ended {
			begun = append(begun, line)
		}
	}
	if len(begun) != 1 || !strings.HasPrefix(begun[0], "- [P1] terminal-server-gone") {
		w.Errorf("people were told of %d P1s, want one:\n%s", len(begun), w.said)
	}
}

// toldOnce: people were told of one P1, and of no death beside it.
func (w *abroad) toldOnce(names []string) {
	w.Helper()
	w.oneP1()
	for _, name := range names {
		if strings.Contains(w.said.String(), "agent-crashed: sh-"+name) {
			w.Errorf("the death of %s is told beside its cause:\n%s", name, w.said)
		}
	}
}

// firstAlone: the first recovery had ended before another began, and each came once.
func (w *abroad) firstAlone(names []string) {
	w.Helper()
	var began []time.Time
	var ended time.Time
	for _, name := range names {
		at := w.recoveries("sh-" + name)
		if len(at) != 1 {
			w.Errorf("%s was recovered at %v, want once", name, at)
			continue
		}
		if end := w.recovered("sh-" + name); ended.IsZero() || end.Before(ended) {
			ended = end
		}
		began = append(began, at[0])
	}
	slices.SortFunc(began, time.Time.Compare)
	if len(began) > 1 && began[1].Before(ended) {
		w.Errorf("recoveries began at %v, the first had ended at %v", began, ended)
	}
}

// recovered is when the recovery of an agent had ended; zero: it has not.
func (w *abroad) recovered(name string) (at time.Time) {
	w.Helper()
	feed, err := w.client().Feed(w.Context(), api.FeedQuery{View: api.FeedTrace, Of: name, Limit: 1000})
	if err != nil {
		w.Fatal(err)
	}
	began := w.recoveries(name)
	for _, e := range feed.Entries {
		if len(began) > 0 && e.Kind == "action.ended" && e.At.After(began[0]) && (at.IsZero() || e.At.Before(at)) {
			at = e.At
		}
	}
	return at
}

// isSaved: what a polecat had not committed is there still, and in a backup too.
func (w *abroad) isSaved(main, name string) {
	w.Helper()
	want := "unsaved " + name
	tree := filepath.Join(filepath.Dir(filepath.Dir(main)), "polecats", name, "shop")
	if b, err := os.ReadFile(filepath.Join(tree, "notes.txt")); err != nil || string(b) != want {
		w.Errorf("the unsaved work of %s is %q, %v", name, b, err)
	}
	var found []string
	for _, ref := range strings.Fields(git(w.T, main, "for-each-ref", "--format=%(refname)", "refs/custos/backup")) {
		out, _ := exec.Command("git", "-C", main, "show", ref+":notes.txt").Output()
		found = append(found, ref+" "+string(out))
		if string(out) == want {
			return
		}
	}
	w.Errorf("no backup has the unsaved work of %s: %q", name, found)
}
