package transcripts

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"custos/internal/fleet"
)

// opencode makes a database as opencode wrote it, and leaves it open as opencode does.
func (w *world) opencode() *sql.DB {
	w.t.Helper()
	path := filepath.Join(w.home, ".local/share/opencode/opencode.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	text, err := os.ReadFile("../../sys/opencode/testdata/opencode-1.18.33-life.sql")
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec(string(text))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

// A conversation of opencode is one of many in its database.
func TestConversationsOfOpenCode(t *testing.T) {
	w := newWorld(t)
	db := w.opencode()
	all := w.conversations()
	ask := func(wanted ...Wanted) map[fleet.ProcessID]fleet.Conversation {
		t.Helper()
		known, err := all.Of(context.Background(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	const tool, limited = "ses_df5c0652affehJqu4I4zdPtyzQ", "ses_df5ba781cffeko3OO0SXwsgek4"
	got := ask(Wanted{Process: pid(1), Kind: "opencode", Session: tool}, Wanted{Process: pid(2), Kind: "opencode", Session: limited}, Wanted{Process: pid(3), Kind: "opencode", Session: "ses_none"})
	if c := got[pid(1)]; c.Session != tool || c.Turns != 1 || c.Model != "mock-model" || c.Used != fleet.Known[int64](1003) || c.CWD != "/home/dev/project" || c.Version != "1.18.33" || c.Failure != nil {
		t.Errorf("%+v", c)
	}
	if c := got[pid(2)]; c.Failure == nil || c.Failure.Name != "rate_limit" || !c.Failure.Until.IsZero() {
		t.Errorf("%+v, %+v", c, c.Failure)
	}
	if _, ok := got[pid(3)]; ok {
		t.Errorf("%+v", got)
	}
	folder := Wanted{Process: pid(1), Kind: "opencode", CWD: "/home/dev/project", Since: before}
	last := ask(folder)[pid(1)]
	if last.Session != "ses_df5b9dde5ffewILMyIbgy8ZHH6" {
		t.Errorf("the last one in the folder is %+v", last)
	}
	if got := ask(folder, Wanted{Process: pid(2), Kind: "opencode", CWD: "/home/dev/project", Since: before}); len(got) > 0 {
		t.Errorf("two agents in one folder have %+v", got)
	}
	if _, err := db.Exec(`INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) SELECT 'prt_new', id, session_id, 1795470000000, 1795470000000,
'{"type":"step-finish","reason":"stop","tokens":{"input":5000,"output":1}}' FROM message WHERE session_id = '` + last.Session + `' AND data->>'$.role' = 'assistant'`); err != nil {
		t.Fatal(err)
	}
	if c := ask(folder)[pid(1)]; c.Used != fleet.Known[int64](5000) || c.Failure != nil {
		t.Errorf("after an answer: %+v, %+v", c, c.Failure)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(folder); len(got) > 0 {
		t.Errorf("of a database that is closed: %+v", got)
	}
}

// Answers in a database count once each, whatever was written down of them before: after a
// restart, and where they could not be written down.
func TestAnswersOfOpenCodeAreCountedOnce(t *testing.T) {
	w, book := newWorld(t), newLedger()
	db := w.opencode()
	// Of nine answers, as the mock gave them; see TestTokensOfTranscripts.
	want := fleet.Tokens{Input: 5111, CacheRead: 2789, CacheWrite5m: 162, Output: 449, Reasoning: 113}
	for round := range 3 {
		u, err := NewUsage(w.options(), book, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := u.Read(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := book.sum(); got != want || len(book.rows) != 9 {
				t.Fatalf("round %d: %d rows with %+v, want %+v", round, len(book.rows), got, want)
			}
		}
	}
	u, err := NewUsage(w.options(), book, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) SELECT 'prt_new', id, session_id, 1795470000000, 1795470000000,
'{"type":"step-finish","reason":"stop","tokens":{"input":5000,"output":1}}' FROM message WHERE rowid = 2`); err != nil {
		t.Fatal(err)
	}
	book.dies = func(int) (before, after bool) { return true, false }
	if _, err := u.Read(context.Background()); err == nil {
		t.Error("what could not be written down was no trouble")
	}
	book.dies = nil
	if n, err := u.Read(context.Background()); err != nil || book.sum().Input != want.Input+5000 {
		t.Errorf("%+v, %v: %+v", n, err, book.sum())
	}
	row := book.rows["opencode:prt_new"]
	if row.Session != "ses_df5c0652affehJqu4I4zdPtyzQ" || row.Model != "mock-model" || row.CWD != "/home/dev/project" || row.Kind != "opencode" || row.Side {
		t.Errorf("%+v", row)
	}
	if n, err := u.Read(context.Background()); err != nil || n.Rows > 0 {
		t.Errorf("nothing was written, and %+v, %v", n, err)
	}
}
