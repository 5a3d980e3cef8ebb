package legio

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tables as Legio 0.1, Legio 0.3 and Overstory 0.11 keep them.
const (
	legio01 = `CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_name TEXT NOT NULL UNIQUE, capability TEXT NOT NULL, worktree_path TEXT NOT NULL,
		branch_name TEXT NOT NULL, bead_id TEXT NOT NULL, tmux_session TEXT NOT NULL,
		state TEXT NOT NULL DEFAULT 'booting' CHECK (state IN ('booting','working','completed','stalled','zombie')), pid INTEGER,
		parent_agent TEXT, depth INTEGER NOT NULL DEFAULT 0, run_id TEXT, started_at TEXT NOT NULL, last_activity TEXT NOT NULL,
		escalation_level INTEGER NOT NULL DEFAULT 0, stalled_since TEXT)`
	overstory = `CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_name TEXT NOT NULL UNIQUE, capability TEXT NOT NULL, worktree_path TEXT NOT NULL,
		branch_name TEXT NOT NULL, task_id TEXT NOT NULL, tmux_session TEXT NOT NULL, state TEXT NOT NULL, pid INTEGER, parent_agent TEXT,
		depth INTEGER NOT NULL DEFAULT 0, run_id TEXT, started_at TEXT NOT NULL, last_activity TEXT NOT NULL, transcript_path TEXT)`
)

// made makes a store in a folder of its own, as its supervisor would.
func made(t *testing.T, journal, schema string) (string, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".legio", "sessions.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	run(t, db, "PRAGMA journal_mode="+journal, schema)
	return path, db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func insert(agent, state, more string) string {
	return `INSERT INTO sessions (id, agent_name, capability, worktree_path, branch_name, bead_id, tmux_session, state, pid, parent_agent, run_id, started_at, last_activity)
		VALUES ('s-` + agent + `', '` + agent + `', 'builder', '/w/` + agent + `', 'legio/` + agent + `', 'b-1', 'legio-p-` + agent + `', '` + state + `', ` + more + `)`
}

const ordinary = `4711, 'lead', 'run-1', '2026-02-19T10:00:00.000Z', '2026-02-19T10:05:00.250Z'`

func filesIn(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name()+" "+info.ModTime().String())
	}
	return names
}

// A store is read while its supervisor has it open, and after it was closed; what
// was written since is seen; and no file beside it appears, goes or changes.
func TestSessions(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		t.Run(journal, func(t *testing.T) {
			path, db := made(t, journal, legio01)
			run(t, db, insert("one", "working", ordinary), insert("two", "zombie", `NULL, NULL, NULL, '2026-02-19T09:00:00.000', '2026-02-19T09:00:00.000'`))
			r := NewReader()
			look := func(what string) []Session {
				t.Helper()
				before := filesIn(t, path)
				list, err := r.Sessions(t.Context(), path)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if after := filesIn(t, path); !slices.Equal(before, after) {
					t.Errorf("%s: reading changed the folder from %q to %q", what, before, after)
				}
				return list
			}
			want := Session{Agent: "one", Capability: "builder", Worktree: "/w/one", Branch: "legio/one", Task: "b-1", Tmux: "legio-p-one", State: "working",
				PID: 4711, Parent: "lead", Run: "run-1", Started: time.Date(2026, 2, 19, 10, 0, 0, 0, time.UTC), LastActivity: time.Date(2026, 2, 19, 10, 5, 0, 250e6, time.UTC)}
			list := look("open")
			if len(list) != 2 || list[0] != want {
				t.Fatalf("read %+v, want %+v and another", list, want)
			}
			if two := list[1]; two.PID != 0 || two.Parent != "" || two.LastActivity.Hour() != 9 {
				t.Errorf("read %+v", two)
			}
			run(t, db, "UPDATE sessions SET state = 'completed' WHERE agent_name = 'one'")
			if got := look("changed")[0].State; got != "completed" {
				t.Errorf("after a change it reads %q", got)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if got := look("closed")[0].State; got != "completed" {
				t.Errorf("closed, it reads %q", got)
			}
		})
	}
}

func TestOverstory(t *testing.T) {
	path, db := made(t, "WAL", overstory)
	run(t, db, strings.Replace(insert("one", "between_turns", ordinary), "bead_id", "task_id", 1))
	list, err := NewReader().Sessions(t.Context(), path)
	if err != nil || len(list) != 1 || list[0].Task != "b-1" || list[0].State != "between_turns" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestUnreadable: whatever is wrong with a store, it has a name.
func TestUnreadable(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string, db *sql.DB)
		want  error
	}{
		"missing": {func(t *testing.T, path string, db *sql.DB) { db.Close(); os.Remove(path) }, errMissing},
		"empty":   {func(t *testing.T, path string, db *sql.DB) { write(t, path, "") }, errSchema},
		"short":   {func(t *testing.T, path string, db *sql.DB) { write(t, path, "SQLite") }, errDamaged},
		"text":    {func(t *testing.T, path string, db *sql.DB) { write(t, path, strings.Repeat("sessions ", 900)) }, errDamaged},
		"link": {func(t *testing.T, path string, db *sql.DB) {
			os.Rename(path, path+"2")
			os.Symlink(path+"2", path)
		}, errStranger},
		"folder": {func(t *testing.T, path string, db *sql.DB) { os.Remove(path); os.Mkdir(path, 0o700) }, errStranger},
		"torn": {func(t *testing.T, path string, db *sql.DB) {
			text, _ := os.ReadFile(path)
			for i := 100; i < len(text); i++ {
				text[i] = 0xa5
			}
			write(t, path, string(text))
		}, errDamaged},
		"locked": {func(t *testing.T, path string, db *sql.DB) { run(t, db, "BEGIN EXCLUSIVE") }, errLocked},
		"writing": {func(t *testing.T, path string, db *sql.DB) {
			run(t, db, "BEGIN", "DELETE FROM sessions", "PRAGMA cache_spill=0")
			write(t, path+"-journal", "hot")
		}, errLocked},
		"no table": {func(t *testing.T, path string, db *sql.DB) { run(t, db, "DROP TABLE sessions") }, errSchema},
		"no column": {func(t *testing.T, path string, db *sql.DB) {
			run(t, db, "ALTER TABLE sessions DROP COLUMN last_activity")
		}, errSchema},
		"a view": {func(t *testing.T, path string, db *sql.DB) {
			run(t, db, "ALTER TABLE sessions RENAME TO s", "CREATE VIEW sessions AS SELECT * FROM s")
		}, errSchema},
		"no time": {func(t *testing.T, path string, db *sql.DB) {
			run(t, db, insert("x", "working", `1, NULL, NULL, 'soon', 'later'`))
		}, errSchema},
		"no pid": {func(t *testing.T, path string, db *sql.DB) {
			run(t, db, insert("x", "working", `'many', NULL, NULL, '', ''`))
		}, errSchema},
	} {
		t.Run(name, func(t *testing.T) {
			path, db := made(t, "DELETE", legio01)
			c.spoil(t, path, db)
			r := NewReader()
			for range 2 {
				list, err := r.Sessions(t.Context(), path)
				if !errors.Is(err, c.want) || list != nil {
					t.Fatalf("%v, %v; want %v", list, err, c.want)
				}
			}
			if err := func() error { _, err := r.Sessions(t.Context(), path); return err }(); !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

// A log that its supervisor left behind in a crash is not taken up here: what it
// holds is then not known.
func TestLeftLog(t *testing.T) {
	path, db := made(t, "WAL", legio01)
	run(t, db, insert("one", "working", ordinary))
	other := filepath.Join(t.TempDir(), "sessions.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := filesIn(t, other)
	if list, err := NewReader().Sessions(t.Context(), other); !errors.Is(err, errLocked) {
		t.Errorf("%v, %v", list, err)
	}
	if after := filesIn(t, other); !slices.Equal(before, after) {
		t.Errorf("reading changed the folder from %q to %q", before, after)
	}
}

// Reading never holds up the supervisor, and is over when the context is.
func TestNeverInTheWay(t *testing.T) {
	path, db := made(t, "WAL", legio01)
	run(t, db, "PRAGMA busy_timeout=0", insert("one", "working", ordinary), "BEGIN IMMEDIATE", "UPDATE sessions SET state = 'zombie'")
	list, err := NewReader().Sessions(t.Context(), path)
	if err != nil || list[0].State != "working" {
		t.Errorf("during a change: %v, %v", list, err)
	}
	run(t, db, "COMMIT")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewReader().Sessions(ctx, path); !errors.Is(err, errLocked) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestIn(t *testing.T) {
	dir := t.TempDir()
	if got := In(dir); got != nil {
		t.Errorf("found %v in nothing", got)
	}
	for _, name := range folders() {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := []Store{{filepath.Join(dir, ".legio/sessions.db"), "legio"}, {filepath.Join(dir, ".overstory/sessions.db"), "overstory"}}
	if got := In(dir); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// FuzzSessions: no file makes reading panic, or appear beside it.
func FuzzSessions(f *testing.F) {
	f.Add([]byte("SQLite format 3\x00\x10\x00\x01\x01"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "sessions.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := NewReader().Sessions(t.Context(), path); err == nil && list != nil {
			t.Skip("a store")
		}
		if n := len(filesIn(t, path)); n != 1 {
			t.Errorf("%d files lie there", n)
		}
	})
}
