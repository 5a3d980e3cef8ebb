package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// agentData is where the parser of these records has its cases.
const agentData = "../../agent/conversation/testdata/transcripts/"

var update = flag.Bool("update", false, "write what is read of the recorded databases to "+agentData)

// database makes one as opencode has it, of the SQL that was recorded, and leaves it open as
// opencode does: what was written is in the log beside it.
func database(t testing.TB, recorded string) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "opencode.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	text, err := os.ReadFile("testdata/" + recorded + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, string(text))
	return path, db
}

func write(t testing.TB, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// read reads on, to the end.
func read(t testing.TB, r *Reader, after int64) (text string, next int64) {
	t.Helper()
	var all []byte
	for {
		lines, next, more, err := r.Read(context.Background(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			all = append(append(all, line...), '\n')
		}
		if after = next; !more {
			return string(all), next
		}
	}
}

// TestRecordedDatabases: the records of databases that opencode wrote are those that its
// parser has as cases.
func TestRecordedDatabases(t *testing.T) {
	for _, name := range []string{"opencode-1.18.33-life", "opencode-1.18.33-forked"} {
		path, _ := database(t, name)
		got, _ := read(t, open(t, path), 0)
		if *update {
			if err := os.WriteFile(agentData+name+".jsonl", []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(agentData + name + ".jsonl"); err != nil || string(want) != got {
			t.Errorf("%s (%v) is read as\n%s", name, err, got)
		}
	}
}

// TestOnlyNews: what was told is not told again, but a call of a tool when it has ended and
// a message when it failed, and what is written where rows were deleted.
func TestOnlyNews(t *testing.T) {
	path, db := database(t, "opencode-1.18.33-forked")
	r := open(t, path)
	_, at := read(t, r, 0)
	if again, next := read(t, r, at); again != "" || next != at {
		t.Fatalf("told again, to %d instead of %d:\n%s", next, at, again)
	}
	write(t, db, `INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
SELECT 'prt_new', id, session_id, 1795470000000, 1795470000000, '{"type":"tool","tool":"bash","callID":"c9","state":{"status":"running","input":{"command":"make"}}}' FROM message WHERE rowid = 8`)
	begun, at := read(t, r, at)
	if !strings.Contains(begun, `"status":"running"`) || strings.Count(begun, "\n") != 1 {
		t.Errorf("a tool that began is told as %q", begun)
	}
	write(t, db, `UPDATE part SET time_updated = 1795470001000, data = json_set(data, '$.state.status', 'completed') WHERE id = 'prt_new'`)
	if ended, _ := read(t, r, at); !strings.Contains(ended, `"status":"completed"`) || strings.Count(ended, "\n") != 1 {
		t.Errorf("a tool that ended is told as %q", ended)
	}
	write(t, db, `UPDATE message SET time_updated = 1795470002000, data = json_set(data, '$.error', json('{"name":"APIError","data":{"statusCode":429,"message":"x","responseBody":"y"}}')) WHERE rowid = 8`)
	if failed, _ := read(t, r, at); !strings.Contains(failed, `"statusCode":429`) || strings.Contains(failed, "responseBody") || strings.Count(failed, "\n") != 1 {
		t.Errorf("a message that failed is told as %q", failed)
	}
	write(t, db, `DELETE FROM part WHERE id = 'prt_new'; INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
SELECT 'prt_other', id, session_id, 1795470003000, 1795470003000, '{"type":"step-finish","reason":"stop","tokens":{"input":1,"output":1}}' FROM message WHERE rowid = 8`)
	if other, _ := read(t, r, at); !strings.Contains(other, "prt_other") || strings.Count(other, "\n") != 1 {
		t.Errorf("what got the number of a deleted row is told as %q", other)
	}
}

// TestManyRows: a long history is read in pieces, each row once, and what tools printed is
// not read.
func TestManyRows(t *testing.T) {
	path, db := database(t, "opencode-1.18.33-forked")
	write(t, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) SELECT 'prt_n' || i, m.id, m.session_id, 1795470000000 + i, 1795470000000 + i,
'{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"x"},"output":"`+strings.Repeat("much ", 50)+`"}}' FROM n, message m WHERE m.rowid = 8`)
	r := open(t, path)
	lines, next, more, err := r.Read(context.Background(), 0)
	if err != nil || len(lines) != mostRows || !more {
		t.Fatalf("%d rows, more %v, %v", len(lines), more, err)
	}
	rest, _ := read(t, r, next)
	all := string(bytes.Join(lines, []byte("\n"))) + "\n" + rest
	if strings.Contains(all, "much") {
		t.Error("the output of a tool was read")
	}
	for _, i := range []int{1, mostRows, mostRows + 1, 4999, 5000} {
		if n := strings.Count(all, fmt.Sprintf(`"prt_n%d"`, i)); n != 1 {
			t.Errorf("row %d was told %d times", i, n)
		}
	}
}

// TestNothingIsWritten: neither the database nor what lies beside it is another after it was
// read; and where reading would make files, as after opencode closed it, it is not read.
func TestNothingIsWritten(t *testing.T) {
	path, db := database(t, "opencode-1.18.33-forked")
	for _, closed := range []bool{false, true} {
		if closed {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before := fingerprint(t, filepath.Dir(path))
		r := open(t, path)
		lines, next, _, err := r.Read(context.Background(), 3)
		if closed && (!errors.Is(err, ErrAtRest) || next != 3) || !closed && (err != nil || len(lines) == 0) {
			t.Errorf("closed %v: %d lines, to %d, %v", closed, len(lines), next, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if after := fingerprint(t, filepath.Dir(path)); after != before {
			t.Errorf("closed %v: it was\n%s\nit is\n%s", closed, before, after)
		}
	}
}

// fingerprint is what lies in a folder. The index of the log (-shm) is shared memory, in
// which who reads says so.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-shm") {
			text = nil
		}
		fmt.Fprintf(&b, "%s %x\n", e.Name(), sha256.Sum256(text))
	}
	return b.String()
}

// TestWhatIsNoDatabase: an error, soon, and nothing that is waited for.
func TestWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	pipe, none, text := filepath.Join(dir, "pipe"), filepath.Join(dir, "none.db"), filepath.Join(dir, "text.db")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text, []byte("no database, but as long as the head of one would be, so that it is read at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("a pipe: %v", err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.WriteFile(text+end, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{none, text} {
		r := open(t, path)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if lines, next, _, err := r.Read(ctx, 7); err == nil || len(lines) > 0 || next != 7 || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d lines, to %d, %v", path, len(lines), next, err)
		}
		cancel()
	}
	if _, err := os.Lstat(none); err == nil {
		t.Error("a database was made by reading it")
	}
}

// TestOddRows: a row that is no JSON hides no other one.
func TestOddRows(t *testing.T) {
	path, db := database(t, "opencode-1.18.33-forked")
	write(t, db, `UPDATE part SET data = '{"type":' WHERE rowid = 9`)
	text, _ := read(t, open(t, path), 0)
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if !strings.Contains(text, "hello again") {
		t.Errorf("read %s", text)
	}
}

// TestOneConversation: that of a folder which was changed last, and its newest records.
func TestOneConversation(t *testing.T) {
	path, db := database(t, "opencode-1.18.33-forked")
	r, ctx := open(t, path), context.Background()
	const fork, first = "ses_df5aa31b7ffeY25mjJFo48IcMl", "ses_df5aa9de9ffeCnbqPKwQMsLEk5"
	for _, c := range []struct {
		folder string
		since  int64
		want   string
	}{{"/home/dev/project", 0, fork}, {"/home/dev/project", 1895470000000, ""}, {"/home/dev", 0, ""}} {
		if got, err := r.Session(ctx, c.folder, time.UnixMilli(c.since)); err != nil || got != c.want {
			t.Errorf("in %s since %d it is %q, %v; want %q", c.folder, c.since, got, err, c.want)
		}
	}
	for session, want := range map[string]int{fork: 6, first: 4, "ses_none": 0} {
		lines, whole, err := r.Conversation(ctx, session)
		if err != nil || !whole || len(lines) != want {
			t.Errorf("%s has %d records, whole %v, %v; want %d", session, len(lines), whole, err, want)
		}
	}
	write(t, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) SELECT 'prt_n' || i, m.id, m.session_id, 1795470000000 + i, 1795470000000 + i,
'{"type":"compaction"}' FROM n, message m WHERE m.rowid = 8`)
	lines, whole, err := r.Conversation(ctx, fork)
	if err != nil || whole || len(lines) != tailRows || !strings.Contains(string(lines[tailRows-1]), `"prt_n1000"`) {
		t.Errorf("%d records, whole %v, %v", len(lines), whole, err)
	}
}
