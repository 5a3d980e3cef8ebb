package agents

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"custos/internal/fleet"
)

// project is a folder that Legio runs agents in, with its real store.
type project struct {
	t   *testing.T
	dir string
	db  *sql.DB
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(p.dir, ".legio"), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.db, err = sql.Open("sqlite", "file:"+p.store()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.db.Close() })
	p.db.SetMaxOpenConns(1)
	p.run("PRAGMA journal_mode=WAL")
	p.run(`CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_name TEXT NOT NULL UNIQUE, capability TEXT NOT NULL, worktree_path TEXT NOT NULL,
		branch_name TEXT NOT NULL, bead_id TEXT NOT NULL, tmux_session TEXT NOT NULL, state TEXT NOT NULL, pid INTEGER, parent_agent TEXT,
		depth INTEGER NOT NULL DEFAULT 0, run_id TEXT, started_at TEXT NOT NULL, last_activity TEXT NOT NULL)`)
	return p
}

func (p *project) store() string { return filepath.Join(p.dir, ".legio", "sessions.db") }

func (p *project) run(query string, args ...any) {
	p.t.Helper()
	if _, err := p.db.Exec(query, args...); err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
}

// row records an agent, as Legio names its session; pid 0 is none.
func (p *project) row(agent, state string, pid int, last time.Time) {
	p.t.Helper()
	var number any
	if pid != 0 {
		number = pid
	}
	at := last.UTC().Format("2006-01-02T15:04:05.000Z")
	p.run("INSERT OR REPLACE INTO sessions VALUES (?, ?, 'builder', ?, 'b', 'bead', ?, ?, ?, NULL, 0, NULL, ?, ?)",
		"s-"+agent, agent, filepath.Join(p.dir, ".legio", "worktrees", agent), "legio-p-"+agent, state, number, at, at)
}

// agent starts one in its worktree, in the session that Legio gives it.
func (p *project) agent(w *world, name string, root int) {
	dir := filepath.Join(p.dir, ".legio", "worktrees", name)
	w.proc(root, 1, "bash")
	w.proc(root+1, root, "claude").CWD = fleet.Known(fleet.Path(dir))
	w.pane("legio-p-"+name, root).Title = "✳ x"
}

func legioToo(o *Options) { o.RecordedBy = recordedByLegio }

// What Legio has recorded of the agents that are there, and what of it does not
// fit what is seen. Investigate, never kill: a conflict is all that follows.
func TestRecordedByLegio(t *testing.T) {
	w, p := newWorld(), newProject(t)
	for i, state := range []string{"working", "completed", "zombie", "booting", "strange", "stalled"} {
		p.agent(w, state, 10*(i+1))
		p.row(state, state, 10*(i+1), w.now.Wall.Add(-time.Minute))
	}
	w.proc(80, 1, "bash") // a shell is left
	left := w.pane("legio-p-left", 80)
	w.records = append(w.records, fleet.AgentRecord{Name: "legio-p-left", Kind: "claude", Process: id(900), Pane: &left.ID, CWD: p.dir})
	p.row("left", "working", 80, w.now.Wall.Add(-time.Minute))
	probe := w.probe(t, legioToo)
	found := see(t, probe)
	for name, want := range map[string]struct {
		recorded fleet.AgentState
		conflict string
	}{
		"working": {fleet.StateWorking, ""}, "completed": {fleet.StateFinished, ""}, "booting": {fleet.StateStarting, ""},
		"strange": {fleet.StateUnknown, ""}, "stalled": {fleet.StateStuck, ""},
		"zombie": {fleet.StateZombie, "legio's record says zombie, and its process 31 lives"},
		"left":   {fleet.StateWorking, "legio's record says working, and it is zombie: its process is gone and only a shell is left in its pane"},
	} {
		a := found["legio-p-"+name]
		if a.Recorded != want.recorded || a.Conflict != want.conflict {
			t.Errorf("%s: recorded %q, conflict %q; want %q, %q", name, a.Recorded, a.Conflict, want.recorded, want.conflict)
		}
		if n := len(a.Signals); n == 0 || a.Signals[n-1].Source != "legio" || time.Duration(a.Signals[n-1].Age.Or(0)) != time.Minute {
			t.Errorf("%s: signals %+v", name, a.Signals)
		}
	}
	if len(found) != 7 {
		t.Errorf("%d agents: %v", len(found), found)
	}
	for i := range w.procs {
		w.procs[i].CPUTime += fleet.Duration(20 * time.Second)
	}
	w.pass(30 * time.Second)
	found = see(t, probe)
	for _, name := range []string{"completed", "stalled"} {
		if a := found["legio-p-"+name]; a.State == fleet.StateWorking && !strings.Contains(a.Conflict, "works") || a.State != fleet.StateWorking {
			t.Errorf("%s works (%s), and its conflict is %q", name, a.State, a.Conflict)
		}
	}
	if a := found["legio-p-working"]; a.Conflict != "" {
		t.Errorf("what works is recorded to work: %q", a.Conflict)
	}
}

// An agent that only Legio has on record is missed when nothing of it is there,
// and not when that cannot be told.
func TestLostByLegio(t *testing.T) {
	w, p := newWorld(), newProject(t)
	just := w.now.Wall.Add(-time.Minute)
	p.row("lost", "working", 500, just)
	p.row("over", "completed", 501, just)
	p.row("dead", "zombie", 502, just)
	p.row("old", "working", 503, w.now.Wall.Add(-25*time.Hour))
	p.row("later", "working", 504, w.now.Wall.Add(time.Hour))
	p.row("other", "working", 505, just) // its session is there, with a program that is no known agent
	w.proc(505, 1, "bash")
	w.proc(506, 505, "vim", "x")
	w.pane("legio-p-other", 505)
	p.row("reused", "working", 600, just)
	w.proc(600, 1, "vim", "x").Age = fleet.Duration(time.Second) // began after the row was written
	p.row("headless", "working", 700, just)
	w.proc(700, 1, "node", "x.js")
	p.run("UPDATE sessions SET tmux_session = '' WHERE agent_name = 'headless'")
	p.row("turns", "between_turns", 0, just)
	p.run("UPDATE sessions SET tmux_session = '' WHERE agent_name = 'turns'")
	probe := w.probe(t, func(o *Options) { legioToo(o); o.RecordedIn = []string{filepath.Dir(p.dir) + "/*"} })
	found := see(t, probe)
	a := found["legio-p-lost"]
	if a.State != fleet.StateUnknown || a.Recorded != fleet.StateWorking || a.Process.PID != 0 || a.Owner != fleet.OwnerForeign ||
		a.Conflict != "legio's record says working, and there is no tmux session legio-p-lost and no process 500 of it" {
		t.Errorf("lost: %+v", a)
	}
	if b := found["legio-p-reused"]; b.Conflict == "" {
		t.Errorf("a reused pid hides an agent that is gone: %+v", b)
	}
	if len(found) != 2 {
		t.Errorf("%d agents: %v", len(found), found)
	}
	w.panes, w.paneErr = nil, errors.New("cannot ask tmux server /s")
	if found := see(t, probe); len(found) != 0 {
		t.Errorf("with tmux unseen: %v", found)
	}
}

// A store that cannot be read makes the record unknown, says why, and blinds
// nothing else.
func TestLegioUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(p *project)
		want  string
	}{
		"missing": {func(p *project) { p.db.Close(); os.Remove(p.store()) }, "there is no session store"},
		"locked": {func(p *project) {
			p.run("PRAGMA journal_mode=DELETE")
			p.run("BEGIN EXCLUSIVE")
		}, "is locked"},
		"damaged": {func(p *project) {
			p.db.Close()
			if err := os.WriteFile(p.store(), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}, "is damaged"},
		"schema": {func(p *project) { p.run("ALTER TABLE sessions RENAME COLUMN state TO mood") }, "unknown schema: sessions has no column state"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(), newProject(t)
			p.agent(w, "one", 10)
			p.row("one", "zombie", 10, w.now.Wall)
			c.spoil(p)
			w.proc(50, 1, "codex").CWD = fleet.Known("/elsewhere")
			found := see(t, w.probe(t, legioToo))
			a := found["legio-p-one"]
			if last := a.Signals[len(a.Signals)-1]; a.Recorded != fleet.StateUnknown || a.Conflict != "" || !strings.Contains(last.Says, c.want) || last.Source != "legio" {
				t.Errorf("recorded %q, conflict %q, signal %+v; want %q", a.Recorded, a.Conflict, last, c.want)
			}
			if b := found["codex@elsewhere"]; b.Recorded != "" || len(found) != 2 {
				t.Errorf("an agent of no project: %+v", b)
			}
		})
	}
}

// Nothing is read unless it is asked for, and options are checked.
func TestLegioOnlyWhenAsked(t *testing.T) {
	w, p := newWorld(), newProject(t)
	p.agent(w, "one", 10)
	p.row("one", "zombie", 10, w.now.Wall)
	if a := see(t, w.probe(t, nil))["legio-p-one"]; a.Recorded != "" || a.Conflict != "" {
		t.Errorf("it was read: %+v", a)
	}
	for _, bad := range []Options{{RecordedBy: "gastown"}, {RecordedIn: []string{"/x"}}, {RecordedBy: recordedByLegio, RecordedIn: []string{"x/*"}},
		{RecordedBy: recordedByLegio, RecordedIn: []string{"/[x"}}} {
		o := w.probe(t, nil).o
		o.RecordedBy, o.RecordedIn = bad.RecordedBy, bad.RecordedIn
		if _, err := New(o); err == nil {
			t.Errorf("recorded %q in %q gave no error", bad.RecordedBy, bad.RecordedIn)
		}
	}
}
