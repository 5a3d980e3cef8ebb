package transcripts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"

	"pgregory.net/rapid"
)

// ledger keeps what is written down, as the database does, and may die before or after it
// has.
type ledger struct {
	rows    map[string]fleet.Usage
	cursors map[string]fleet.UsageCursor
	writes  int
	faults  []fleet.UsageFault
	dies    func(write int) (before, after bool)
}

func newLedger() *ledger {
	return &ledger{rows: map[string]fleet.Usage{}, cursors: map[string]fleet.UsageCursor{}}
}

var errDead = errors.New("killed")

func (l *ledger) AddUsage(_ context.Context, rows []fleet.Usage, cursors []fleet.UsageCursor) error {
	l.writes++
	var before, after bool
	if l.dies != nil {
		before, after = l.dies(l.writes)
	}
	if before {
		return errDead
	}
	for _, r := range rows {
		if before, ok := l.rows[r.Key]; ok {
			r = before.Merged(r)
		}
		l.rows[r.Key] = r
	}
	for _, c := range cursors {
		l.cursors[fmt.Sprint(c.Device, c.Inode)] = c
	}
	if after {
		return errDead
	}
	return nil
}

func (l *ledger) NoteUsageFaults(_ context.Context, list []fleet.UsageFault) error {
	l.faults = append(l.faults, list...)
	return nil
}

func (l *ledger) UsageCursors(context.Context) (list []fleet.UsageCursor, err error) {
	for _, c := range l.cursors {
		list = append(list, c)
	}
	return list, nil
}

func (l *ledger) sum() (sum fleet.Tokens) {
	for _, r := range l.rows {
		sum = sum.Add(r.Tokens)
	}
	return sum
}

func (w *world) usage(l *ledger) *Usage {
	w.t.Helper()
	u, err := NewUsage(w.options(), l, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *world) counts(u *Usage) Counted {
	w.t.Helper()
	n, err := u.Read(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Real conversations, with one that was forked from another and a sub-agent: each response
// counts once, and what was counted is not read again, by this reader or the next one.
func TestEachResponseIsCountedOnce(t *testing.T) {
	w, l := newWorld(t), newLedger()
	w.put(claudeFile, w.recorded("claude-2.1.330-headless")...)
	w.put(".claude/projects/-home-dev-project/5228af1e.jsonl", w.recorded("claude-2.1.330-forked")...)
	w.put(".claude/projects/-home-dev-project/5228af1e/subagents/agent-a.jsonl", w.recorded("claude-2.1.330-subagent")...)
	w.put(codexFile, w.recorded("codex-0.169.0-headless")...)
	u := w.usage(l)
	n := w.counts(u)
	want := fleet.Tokens{}
	for i := int64(1); i <= 9; i++ { // the mock's own account
		want = want.Add(fleet.Tokens{Input: 3 + i, CacheRead: 2000 + i, CacheWrite5m: 1000, CacheWrite1h: 500, Output: 50 + i})
	}
	for i := int64(1); i <= 3; i++ {
		want = want.Add(fleet.Tokens{Input: 1000 + i, CacheRead: 2000, Output: 100 + i, Reasoning: 40})
	}
	if len(l.rows) != 12 || l.sum() != want || n.Files != 4 {
		t.Errorf("%d rows of %+v, %+v, want %+v", len(l.rows), n, l.sum(), want)
	}
	if r := l.rows["claude:msg_mock0006"]; !r.Side || r.Session == "" || r.Model != "claude-opus-5-5" || r.CWD != "/home/dev/project" {
		t.Errorf("%+v", r)
	}
	if r := l.rows["codex:resp_mock0002"]; r.Model != "mock-model" || r.Session != "01a20a43-4a9e-7122-9411-d62e730ba96f" || r.CWD != "/home/dev/project" {
		t.Errorf("%+v", r)
	}
	for _, again := range []*Usage{u, w.usage(l)} {
		if n := w.counts(again); n != (Counted{}) {
			t.Errorf("read again: %+v", n)
		}
	}
}

// A reader that begins in the middle of a file knows of what conversation, and of what model,
// the rest of it is.
func TestTheMiddleOfAFile(t *testing.T) {
	w, l := newWorld(t), newLedger()
	lines := w.recorded("codex-0.169.0-headless")
	w.put(codexFile, lines[:9]...)
	w.counts(w.usage(l))
	w.put(codexFile, lines[9:]...)
	w.counts(w.usage(l))
	if len(l.rows) != 3 {
		t.Errorf("%d rows", len(l.rows))
	}
	for key, r := range l.rows {
		if r.Session != "01a20a43-4a9e-7122-9411-d62e730ba96f" || r.Model != "mock-model" || r.CWD != "/home/dev/project" {
			t.Errorf("%s: %+v", key, r)
		}
	}
}

// One conversation, its sub-agents with it, is read on without the others, by its name.
func TestOneConversationIsReadOn(t *testing.T) {
	w, l := newWorld(t), newLedger()
	const side = ".claude/projects/-home-dev-project/5228af1e/subagents/agent-a.jsonl"
	own, sub, codex := w.recorded("claude-2.1.330-headless"), w.recorded("claude-2.1.330-subagent"), w.recorded("codex-0.169.0-headless")
	w.put(claudeFile, own[:len(own)-6]...)
	w.put(side, sub[:len(sub)-6]...)
	w.put(codexFile, codex[:9]...)
	u := w.usage(l)
	w.counts(u)
	before := len(l.rows)
	session := ""
	for _, r := range l.rows {
		if r.Kind == "claude" && !r.Side {
			session = r.Session
		}
	}
	w.put(claudeFile, own[len(own)-6:]...)
	w.put(codexFile, codex[9:]...)
	for _, other := range []string{"", "another"} {
		if told, err := u.ReadOn(context.Background(), "claude", other, "toolu_mock0002"); err != nil || told || len(l.rows) != before {
			t.Errorf("of %q it read %d rows, %v", other, len(l.rows)-before, err)
		}
	}
	for call, want := range map[string]bool{"toolu_mock0002": true, "toolu_later": false, "": false} {
		told, err := u.ReadOn(context.Background(), "claude", session, call)
		if err != nil || told != want || len(l.rows) <= before || len(l.rows) == 12 {
			t.Errorf("of %q: %v, %v, %d rows after %d", call, told, err, len(l.rows), before)
		}
	}
	w.put(side, sub[len(sub)-6:]...)
	w.counts(u)
	if err := os.Remove(filepath.Join(w.home, claudeFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.ReadOn(context.Background(), "claude", session, ""); err != nil {
		t.Errorf("of a file that is gone: %v", err)
	}
}

// Of the lines that tell of one response, and are read at once, the earliest says when it was, and the one with the most
// tokens what it used, as of those that are read apart.
func TestAResponseIsOfItsFirstLine(t *testing.T) {
	w, l := newWorld(t), newLedger()
	line := func(at string, output int) []byte {
		return fmt.Appendf(nil, `{"type":"assistant","message":{"id":"a","role":"assistant","model":"m","usage":{"input_tokens":10,"output_tokens":%d}},"timestamp":"2026-11-%sZ","sessionId":"s","uuid":"u"}`+"\n", output, at)
	}
	w.put(".claude/projects/p/a.jsonl", line("20T23:59:59", 2), line("21T00:00:01", 90), line("21T00:00:02", 90), line("21T00:00:03", 2))
	w.counts(w.usage(l))
	got := l.rows["claude:a"]
	if at := got.At.Format(time.RFC3339); at != "2026-11-20T23:59:59Z" || got.Tokens != (fleet.Tokens{Input: 10, Output: 90}) {
		t.Errorf("%s, %+v", at, got.Tokens)
	}
}

// A response whose time is not told, or cannot be read, counts from when it is read; one whose
// file has told a time before, from then.
func TestResponsesWithoutATime(t *testing.T) {
	w, l := newWorld(t), newLedger()
	line := func(id, at string) []byte {
		return []byte(`{"type":"assistant","message":{"id":"` + id + `","role":"assistant","model":"m","usage":{"input_tokens":1000,"output_tokens":1}},"timestamp":` + at + `,"sessionId":"s","uuid":"u"}` + "\n")
	}
	w.put(".claude/projects/p/a.jsonl", line("yesterday", `"yesterday"`), line("number", `5`), line("old", `"1960-01-01T00:00:00Z"`), line("none", `""`))
	w.put(".claude/projects/p/b.jsonl", line("told", `"2026-11-20T09:00:00Z"`), line("after", `""`))
	w.counts(w.usage(l))
	if len(l.rows) != 6 {
		t.Errorf("%d responses of 6 are counted: %v", len(l.rows), l.rows)
	}
	if len(l.faults) != 1 || !strings.HasSuffix(l.faults[0].Key, "/a.jsonl") || !strings.Contains(l.faults[0].Why, "no time") {
		t.Errorf("that no time is told is not said: %+v", l.faults)
	}
	now := w.options().Now().Wall
	for key, r := range l.rows {
		want := now
		if strings.HasSuffix(key, "told") || strings.HasSuffix(key, "after") {
			want = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
		}
		if !r.At.Equal(want) {
			t.Errorf("%s counts from %v, want %v", key, r.At, want)
		}
	}
}

// What was written in some folders is read there and below, and nowhere else; all is read as before then.
func TestTranscriptsBelowSomeFolders(t *testing.T) {
	w, l := newWorld(t), newLedger()
	const side = ".claude/projects/-home-dev-project/5228af1e/subagents/agent-a.jsonl"
	claude, sub, codex := w.recorded("claude-2.1.330-headless"), w.recorded("claude-2.1.330-subagent"), w.recorded("codex-0.169.0-headless")
	w.put(claudeFile, claude...)
	w.put(side, sub...)
	w.put(codexFile, codex...)
	u := w.usage(l)
	reads := func(folders ...string) {
		t.Helper()
		if _, err := u.ReadBelow(context.Background(), folders); err != nil {
			t.Fatal(err)
		}
	}
	reads()
	if reads(filepath.Join(w.home, ".claude/projects/-home-dev")); len(l.rows) > 0 {
		t.Errorf("of no folder, and of one whose name begins alike, %d rows were read", len(l.rows))
	}
	reads(filepath.Join(w.home, filepath.Dir(claudeFile)))
	kinds, sides := map[string]int{}, 0
	for _, r := range l.rows {
		kinds[r.Kind]++
		if r.Side {
			sides++
		}
	}
	if kinds["claude"] == 0 || kinds["codex"] > 0 || sides == 0 {
		t.Errorf("below the folder of a conversation %v were read, %d of them of a sub-agent", kinds, sides)
	}
	before := len(l.rows)
	if w.counts(u); len(l.rows) <= before {
		t.Errorf("of all, no more than these %d rows are read", before)
	}
}

// A file that is written over, or replaced, is read from its beginning, and a line in two
// pieces once.
func TestAFileThatIsAnotherOne(t *testing.T) {
	w, l := newWorld(t), newLedger()
	lines := w.recorded("claude-2.1.330-headless")
	path := w.put(claudeFile, bytes.Join(lines, nil)[:9000])
	u := w.usage(l)
	w.counts(u)
	w.put(claudeFile, bytes.Join(lines, nil)[9000:])
	w.counts(u)
	if len(l.rows) != 3 {
		t.Errorf("in two pieces: %d rows", len(l.rows))
	}
	other := w.recorded("claude-2.1.330-subagent")
	if err := os.WriteFile(path, bytes.Join(other, nil)[:8000], 0o600); err != nil {
		t.Fatal(err)
	}
	w.counts(u)
	if err := os.WriteFile(path+".new", bytes.Join(other, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	w.counts(u)
	if len(l.rows) != 6 {
		t.Errorf("%d rows", len(l.rows))
	}
}

// A conversation under several names, as a copy, a hard link, a symbolic link to it and one to its folder, is counted
// once, is read on under whichever name it is written to, and under those that are left.
func TestAConversationUnderSeveralNames(t *testing.T) {
	w, l := newWorld(t), newLedger()
	text := bytes.Join(w.recorded("claude-2.1.330-headless"), nil)
	path := w.put(claudeFile, text[:2000])
	link := filepath.Join(filepath.Dir(path), "zz-linked.jsonl")
	for _, err := range []error{os.Link(path, link), os.Symlink(path, filepath.Join(filepath.Dir(path), "aa-pointed.jsonl")), os.Symlink(filepath.Dir(path), filepath.Dir(path)+"-moved")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.put(filepath.Dir(claudeFile)+"/copied.jsonl", text[:2000])
	u := w.usage(l)
	w.counts(u)
	f, err := os.OpenFile(link, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(some []byte) {
		t.Helper()
		if _, err := f.Write(some); err != nil {
			t.Fatal(err)
		}
	}
	write(text[2000 : len(text)-2000])
	w.counts(u)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(text[len(text)-2000:])
	w.counts(u)
	w.counts(w.usage(l))
	alone := newLedger()
	other := newWorld(t)
	other.put(claudeFile, text)
	other.counts(other.usage(alone))
	if len(l.rows) != len(alone.rows) || len(l.rows) == 0 || l.sum() != alone.sum() || len(l.faults) > 0 {
		t.Errorf("%d rows of %+v, want %d of %+v; %+v", len(l.rows), l.sum(), len(alone.rows), alone.sum(), l.faults)
	}
}

// Killed at any moment, before or after anything is written down, while files grow: in the
// end each response is counted once, and none is missing.
func TestKilledAnywhereNothingIsCountedTwiceOrLost(t *testing.T) {
	recordings := [][][]byte{}
	for _, name := range []string{"claude-2.1.330-headless", "claude-2.1.330-subagent", "claude-2.1.330-forked"} {
		recordings = append(recordings, newWorld(t).recorded(name))
	}
	var want fleet.Tokens
	for i := int64(1); i <= 9; i++ {
		want = want.Add(fleet.Tokens{Input: 3 + i, CacheRead: 2000 + i, CacheWrite5m: 1000, CacheWrite1h: 500, Output: 50 + i})
	}
	rapid.Check(t, func(rt *rapid.T) {
		w, l := newWorld(t), newLedger()
		l.dies = func(int) (bool, bool) { return rapid.Bool().Draw(rt, "before"), rapid.Bool().Draw(rt, "after") }
		at := make([]int, len(recordings))
		u := w.usage(l)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(recordings)-1).Draw(rt, "file")
			text := bytes.Join(recordings[i], nil)
			n := min(len(text), at[i]+rapid.IntRange(0, 6000).Draw(rt, "bytes"))
			w.put(fmt.Sprintf(".claude/projects/p/%d.jsonl", i), text[at[i]:n])
			at[i] = n
			if rapid.Bool().Draw(rt, "killed") {
				u = w.usage(l)
			}
			_, _ = u.Read(context.Background()) // it may have been killed
		}
		for i := range recordings {
			w.put(fmt.Sprintf(".claude/projects/p/%d.jsonl", i), bytes.Join(recordings[i], nil)[at[i]:])
		}
		l.dies = nil
		w.counts(w.usage(l))
		if len(l.rows) != 9 || l.sum() != want {
			rt.Errorf("%d rows, %+v, want %+v", len(l.rows), l.sum(), want)
		}
		w.counts(u)
		if l.sum() != want {
			rt.Errorf("by the old reader: %+v, want %+v", l.sum(), want)
		}
	})
}

// What cannot be read keeps nothing else from being read, and is said.
func TestTroubleIsSaid(t *testing.T) {
	w, l := newWorld(t), newLedger()
	w.put(claudeFile, w.recorded("claude-2.1.330-headless")...)
	if err := os.Symlink("/dev/zero", filepath.Join(w.home, ".claude/projects/-home-dev-project/link.jsonl")); err != nil {
		t.Fatal(err)
	}
	w.put(".claude/projects/-home-dev-project/broken.jsonl", []byte("{\"type\":\"assistant\",\"message\":{\"usage\"\n\x00\x00\n"))
	u := w.usage(l)
	if n := w.counts(u); len(l.rows) != 3 || n.Broken != 1 || u.Trouble() != "" || len(l.faults) != 1 || l.faults[0].Kind != "claude" || !strings.HasSuffix(l.faults[0].Key, "broken.jsonl") ||
		!strings.HasPrefix(l.faults[0].Why, "a line of its conversations could not be read: ") {
		t.Errorf("%d rows, %+v, %q, %+v", len(l.rows), n, u.Trouble(), l.faults)
	}
	l.dies = func(int) (bool, bool) { return true, false }
	w.put(".claude/projects/p/x.jsonl", w.recorded("claude-2.1.330-subagent")...)
	if _, err := u.Read(context.Background()); !errors.Is(err, errDead) || u.Trouble() == "" {
		t.Errorf("%v, %q", err, u.Trouble())
	}
	l.dies = nil
	if w.counts(u); len(l.rows) != 6 || u.Trouble() != "" {
		t.Errorf("%d rows, %q", len(l.rows), u.Trouble())
	}
}

// corpus writes files of a year of many agents, with so many responses.
func corpus(tb testing.TB, home string, nfiles, rows int) {
	tb.Helper()
	filler := bytes.Repeat([]byte("x"), 600)
	for i := range nfiles {
		path := filepath.Join(home, ".claude/projects", fmt.Sprintf("-p%d", i%60), fmt.Sprintf("%08d.jsonl", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		var b bytes.Buffer
		for r := range rows / nfiles {
			at := time.Date(2026, 11, 1, 0, 0, i*100+r, 0, time.UTC).Format(time.RFC3339Nano)
			fmt.Fprintf(&b, `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"%s"},"uuid":"u","timestamp":"%s","cwd":"/p","sessionId":"s%d","version":"2.1.330"}`+"\n", filler, at, i)
			fmt.Fprintf(&b, `{"parentUuid":"u","isSidechain":false,"message":{"id":"msg_%d_%d","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","usage":{"input_tokens":4,"cache_creation_input_tokens":1500,"cache_read_input_tokens":2001,"output_tokens":51,"cache_creation":{"ephemeral_1h_input_tokens":500,"ephemeral_5m_input_tokens":1000}}},"requestId":"r","type":"assistant","uuid":"v","timestamp":"%s","cwd":"/p","sessionId":"s%d","version":"2.1.330"}`+"\n", i, r, filler, at, i)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkColdScan is the first reading of 3000 files with 150 000 responses, without what
// the database takes; it may take 5 s.
func BenchmarkColdScan(b *testing.B) { coldScan(b, 3000, 150_000) }

// BenchmarkColdScanSmall is a tenth of that.
func BenchmarkColdScanSmall(b *testing.B) { coldScan(b, 300, 15_000) }

func coldScan(b *testing.B, nfiles, rows int) {
	w := newWorld(&testing.T{})
	w.home = b.TempDir()
	corpus(b, w.home, nfiles, rows)
	for b.Loop() {
		l := newLedger()
		u, err := NewUsage(w.options(), l, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := u.Read(context.Background()); err != nil || len(l.rows) != rows {
			b.Fatal(len(l.rows), err)
		}
	}
}

// BenchmarkNothingNew is a reading of 3000 files to which nothing was written: of all, and of
// those below the folder of one conversation, as is done when something was written there.
func BenchmarkNothingNew(b *testing.B) {
	w := newWorld(&testing.T{})
	w.home = b.TempDir()
	corpus(b, w.home, 3000, 3000)
	u, err := NewUsage(w.options(), newLedger(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := u.Read(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if _, err := u.Read(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
	var folder []string
	for _, c := range u.known {
		folder = []string{filepath.Dir(c.path)}
	}
	b.Run("folder", func(b *testing.B) {
		for b.Loop() {
			if _, err := u.ReadBelow(context.Background(), folder); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whose account a response is the folder of its conversation tells, whether or not its process
// was ever seen; of two accounts in one folder nobody can tell.
func TestTheFolderTellsWhoseAccount(t *testing.T) {
	w, l := newWorld(t), newLedger()
	w.put(".claude-work/projects/-home-dev-project/a.jsonl", w.recorded("claude-2.1.330-headless")...)
	w.put(".claude/projects/-home-dev-project/b.jsonl", w.recorded("claude-2.1.330-subagent")...)
	w.put(codexFile, w.recorded("codex-0.169.0-headless")...)
	o := w.options()
	o.Roots = map[string][]string{"claude": {"~/.claude-work"}}
	o.Accounts = fleet.Accounts{{Name: "one", Kind: "codex"}, {Name: "own", Kind: "claude"}, {Name: "two", Kind: "codex"}, {Name: "work", Kind: "claude", ConfigDir: filepath.Join(w.home, ".claude-work")}}
	u, err := NewUsage(o, l, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.counts(u)
	of := map[string]int{}
	for _, r := range l.rows {
		of[r.Kind+" "+r.Account]++
	}
	if of["claude work"] == 0 || of["claude own"] == 0 || of["codex "] != 3 || len(of) != 3 {
		t.Errorf("of accounts are %v", of)
	}
}

// Behind a symbolic link nothing is read; that conversations lie there is said, twice a day.
func TestALinkIsPassedAloud(t *testing.T) {
	w, l := newWorld(t), newLedger()
	w.put("shared/a.jsonl", w.recorded("claude-2.1.330-headless")...)
	w.put(".claude/projects/-x/b.txt", []byte("of no matter\n"))
	for to, link := range map[string]string{"shared": ".claude/projects/-shared", "shared/a.jsonl": ".claude/projects/-x/a.jsonl", "shared/gone": ".claude/projects/-x/gone.jsonl", ".claude/projects/-x/b.txt": ".claude/projects/-b"} {
		if err := os.Symlink(filepath.Join(w.home, to), filepath.Join(w.home, link)); err != nil {
			t.Fatal(err)
		}
	}
	u := w.usage(l)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 2}, {time.Hour, 2}, {12 * time.Hour, 4}} {
		w.now = w.now.Add(c.after)
		w.counts(u)
		if len(l.rows) != 0 || len(l.faults) != c.want {
			t.Errorf("after %v: %d rows, faults %+v", c.after, len(l.rows), l.faults)
		}
	}
	for _, f := range l.faults {
		if !strings.Contains(f.Why, "behind a symbolic link") || filepath.Base(f.Key) != "-shared" && filepath.Base(f.Key) != "a.jsonl" {
			t.Errorf("%+v", f)
		}
	}
}
