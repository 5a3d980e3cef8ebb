package daemon_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"custos/internal/agent/agenttest"
	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/rules"
)

// abroad is a town beside another system's agents, in a tmux server of theirs.
type abroad struct {
	*town
	socket string
}

// settle founds a town with a layout as it is shipped, but for where its home and
// temporary folder are, what agents are started with, and how often things are done.
func settle(t *testing.T, layout string) *abroad {
	t.Helper()
	text, err := config.Layout(layout)
	if err != nil {
		t.Fatal(err)
	}
	w := &abroad{town: foundTown(t, "")}
	w.socket = filepath.Join(w.dir, "their.sock")
	if err := os.MkdirAll(filepath.Join(w.dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	shipped := strings.NewReplacer("\"/tmp/", "\""+w.dir+"/tmp/", `"--dangerously-skip-permissions"`, `"--fake", "reply again"`,
		"mode = \"observe\"", "mode = \"auto\"\ngrace = \"0s\"\nstate_dir = \""+w.dir+"/s\"").Replace(string(text))
	shipped += "\n[tmux]\nsockets = [\"" + w.socket + "\"]\n[limits]\nhold = \"1s\"\nsettle = \"100ms\"\nstagger = \"0s\"\nspawn_memory = \"0\"\n[recover]\nsettle = \"200ms\"\n" + toldShortly(t)
	if err := os.WriteFile(filepath.Join(w.dir, "custos.toml"), []byte(shipped), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cfg = load(t, w.dir)
	return w
}

// toldShortly has the end of a terminal server told for ten seconds after it, where the
// rule that is built in says a minute.
func toldShortly(t *testing.T) string {
	t.Helper()
	const rule = "[rule.terminal-server-gone]\n"
	_, text, _ := strings.Cut(string(rules.Builtin()), rule)
	_, text, _ = strings.Cut(text, "\nexpr ")
	expr, _, _ := strings.Cut(text, "\n")
	if !strings.Contains(expr, "duration('1m')") {
		t.Fatalf("the rule says %q", expr)
	}
	return rule + "expr " + strings.ReplaceAll(expr, "duration('1m')", "duration('10s')") + "\n"
}

// theirs runs an agent as another system does: a session of its own tmux server.
func (w *abroad) theirs(session, dir, fake string) {
	w.Helper()
	cmd := exec.Command("tmux", "-S", w.socket, "-f", "/dev/null", "new-session", "-d", "-s", session, "-c", dir, "-x", "120", "-y", "30",
		agenttest.Build(w), "--fake", fake)
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "TMUX=", "TERM=xterm-256color")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("tmux", "-S", w.socket, "set-option", "-g", "remain-on-exit", "on").CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
}

// repository makes a repository with a worktree.
func (w *abroad) repository(top, tree, branch string) {
	w.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main", top}, {"-C", top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"},
		{"-C", top, "worktree", "add", "-q", "-b", branch, tree}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			w.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
}

// registered waits until an agent is one of Custos, as its system has it.
func (w *abroad) registered(name string) (a api.AgentRow) {
	w.Helper()
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", a, w.said) }, func() bool {
		a = w.agent(name)
		return a.Registered && a.PID != 0
	})
	return a
}

// dies kills an agent and waits until Custos has started it again.
func (w *abroad) dies(d api.AgentRow) (again api.AgentRow) {
	w.Helper()
	if err := syscall.Kill(d.PID, syscall.SIGKILL); err != nil {
		w.Fatal(err)
	}
	await(w.T, func() string { return fmt.Sprintf("%+v\n%s", again, w.said) }, func() bool {
		again = w.agent(d.Name)
		return again.PID != 0 && again.PID != d.PID && again.Owner == "custos" && !w.acting()
	})
	return again
}

// failure returns what is on record of the death of an agent.
func (w *abroad) failure(name string) api.Failure {
	w.Helper()
	f, err := w.client().Failures(w.Context(), name)
	if err != nil || len(f.Failures) != 1 {
		w.Fatalf("failures %+v, %v", f, err)
	}
	return f.Failures[0]
}

func TestLegioIsAdopted(t *testing.T) {
	w := settle(t, "legio")
	project := filepath.Join(w.dir, "src/shop")
	lead, builder := filepath.Join(project, ".legio/worktrees/lead-1"), filepath.Join(project, ".legio/worktrees/builder-1")
	w.repository(project, builder, "legio/builder-1")
	if out, err := exec.Command("git", "-C", project, "worktree", "add", "-q", "-b", "legio/lead-1", lead).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(project, ".legio/sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exe := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exe("PRAGMA journal_mode=WAL")
	exe(`CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_name TEXT NOT NULL UNIQUE, capability TEXT NOT NULL, worktree_path TEXT NOT NULL,
		branch_name TEXT NOT NULL, bead_id TEXT NOT NULL, tmux_session TEXT NOT NULL, state TEXT NOT NULL, pid INTEGER, parent_agent TEXT,
		depth INTEGER NOT NULL DEFAULT 0, run_id TEXT, started_at TEXT NOT NULL, last_activity TEXT NOT NULL)`)
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for _, a := range []struct{ name, role, dir, task, parent string }{{"lead-1", "lead", lead, "shop-1", ""}, {"builder-1", "builder", builder, "shop-2", "lead-1"}} {
		exe("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, 'working', NULL, NULLIF(?, ''), 0, 'run-1', ?, ?)",
			"s-"+a.name, a.name, a.role, a.dir, "legio/"+a.name, a.task, "legio-shop-"+a.name, a.parent, now, now)
		w.theirs("legio-shop-"+a.name, a.dir, "work 1h")
	}
	notes := filepath.Join(project, ".legio/agents/builder-1")
	if err := os.MkdirAll(notes, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"agentName":"builder-1","beadId":"shop-2","timestamp":"` + now + `","progressSummary":"the parser is done","filesModified":["parse.go"],"pendingWork":"its tests"}`
	if err := os.WriteFile(filepath.Join(notes, "checkpoint.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.registered("legio-shop-lead-1")
	d := w.registered("legio-shop-builder-1")
	await(t, func() string { return fmt.Sprintf("%+v", d) }, func() bool {
		d = w.registered("legio-shop-builder-1")
		return d.Parent == "legio-shop-lead-1"
	})
	if detail, err := w.client().Agent(t.Context(), d.Name); err != nil || detail.Record == nil || detail.Record.Checkpoint == nil || detail.Record.Checkpoint.Files == nil {
		t.Errorf("its checkpoint is not on record: %+v, %v", detail.Record, err)
	}
	if d.Role != "builder" || d.Task != "shop-2" || d.Owner != "adopted" || d.Project != "shop" {
		t.Errorf("%+v", d)
	}
	again := w.dies(d)
	if again.Role != "builder" || again.Task != "shop-2" || again.Parent != "legio-shop-lead-1" {
		t.Errorf("%+v", again)
	}
	if f := w.failure(d.Name); f.Role != "builder" || f.Task != "shop-2" || f.Verdict != "crashed" || f.Tier != 0 {
		t.Errorf("%+v", f)
	}
	w.told("legio-shop-lead-1")
}

// TestGasTownIsAdopted: a polecat's bead is its task, and the rig's witness its parent.
func TestGasTownIsAdopted(t *testing.T) {
	w := settle(t, "gastown")
	rig := filepath.Join(w.dir, "gt/shop")
	polecat, witness := filepath.Join(rig, "polecats/nux/shop"), filepath.Join(rig, "witness")
	w.repository(filepath.Join(rig, "mayor/rig"), polecat, "polecat/nux")
	for _, file := range []string{filepath.Join(rig, "polecats/nux/README.md"), filepath.Join(witness, "state.json")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.theirs("sh-witness", witness, "work 1h")
	w.theirs("sh-nux", polecat, "work 1h")
	w.start()
	d := w.registered("sh-nux")
	if d.Role != "polecat" || d.Project != "shop" || d.Parent != "sh-witness" || d.Owner != "adopted" {
		t.Errorf("%+v", d)
	}
	if again := w.dies(d); again.Role != "polecat" || again.Parent != "sh-witness" {
		t.Errorf("%+v", again)
	}
	if f := w.failure("sh-nux"); f.Role != "polecat" || f.Verdict != "crashed" {
		t.Errorf("%+v", f)
	}
	w.told("sh-witness")
	all, err := w.client().Agents(t.Context())
	if err != nil || len(all.Agents) != 2 {
		t.Errorf("the terminal that it left is told as an agent: %+v, %v", all.Agents, err)
	}
	for _, a := range w.alerts("blind-part") {
		t.Errorf("a file is taken for a repository: %+v", a)
	}
}

// TestDisintoIsAdopted: a dev agent has its issue, and people are told of it; one
// whose phase says that it is done is not started again.
func TestDisintoIsAdopted(t *testing.T) {
	w := settle(t, "disinto")
	tmp := filepath.Join(w.dir, "tmp")
	w.repository(filepath.Join(w.dir, "projects/shop"), filepath.Join(tmp, "shop-worktree-12"), "fix/issue-12")
	if out, err := exec.Command("git", "-C", filepath.Join(w.dir, "projects/shop"), "worktree", "add", "-q", "-b", "done", filepath.Join(tmp, "shop-worktree-13")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range map[string]string{"dev-session-shop-12.phase": "PHASE:awaiting_ci\n", "dev-session-shop-12.context": "the parser is done", "dev-session-shop-13.phase": "PHASE:done\n"} {
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.theirs("dev-shop-12", filepath.Join(tmp, "shop-worktree-12"), "work 1h")
	w.theirs("dev-shop-13", filepath.Join(tmp, "shop-worktree-13"), "work 1h")
	w.start()
	d, done := w.registered("dev-shop-12"), w.registered("dev-shop-13")
	if d.Role != "dev" || d.Project != "shop" || d.Task != "shop#12" || d.Parent != "overseer" || d.Owner != "adopted" {
		t.Errorf("%+v", d)
	}
	if detail, err := w.client().Agent(t.Context(), d.Name); err != nil || detail.Record == nil || detail.Record.Checkpoint == nil {
		t.Errorf("what it wrote down is not on record: %+v, %v", detail.Record, err)
	}
	if err := syscall.Kill(done.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if again := w.dies(d); again.Task != "shop#12" {
		t.Errorf("%+v", again)
	}
	if f := w.failure("dev-shop-12"); f.Role != "dev" || f.Task != "shop#12" || f.Verdict != "crashed" {
		t.Errorf("%+v", f)
	}
	if a := w.agent("dev-shop-13"); a.PID != 0 {
		t.Errorf("one that is done was started again: %+v", a)
	}
}

// told waits until an agent was told of a recovery and of what came of it.
func (w *abroad) told(parent string) {
	w.Helper()
	var kinds []string
	await(w.T, func() string { return fmt.Sprint(kinds) }, func() bool {
		d, err := w.client().Agent(w.Context(), parent)
		kinds = nil
		for _, m := range d.Messages {
			kinds = append(kinds, m.Kind)
		}
		return err == nil && strings.Contains(fmt.Sprint(kinds), "recovery_attempt") && strings.Contains(fmt.Sprint(kinds), "recovery_success")
	})
}
