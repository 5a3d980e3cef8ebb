package transcripts

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// world is a home folder with transcripts in it.
type world struct {
	t     *testing.T
	home  string
	kinds *agent.Kinds
	now   fleet.Instant
}

func newWorld(t *testing.T) *world {
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, home: t.TempDir(), kinds: kinds, now: fleet.Instant{Wall: time.Now(), Up: fleet.Duration(time.Hour), Boot: "b"}}
}

func (w *world) options() Options {
	return Options{Enabled: true, Kinds: w.kinds, Home: w.home, Now: func() fleet.Instant { return w.now }}
}

// recorded are the lines of a recording.
func (w *world) recorded(name string) [][]byte {
	w.t.Helper()
	text, err := os.ReadFile("../../agent/conversation/testdata/transcripts/" + name + ".jsonl")
	if err != nil {
		w.t.Fatal(err)
	}
	return bytes.SplitAfter(text, []byte("\n"))
}

// put appends lines to a file below the home folder.
func (w *world) put(name string, lines ...[]byte) string {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Join(lines, nil)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) conversations() *Conversations {
	w.t.Helper()
	c, err := NewConversations(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

const (
	claudeFile = ".claude/projects/-home-dev-project/11111111-1111-4111-8111-111111111111.jsonl"
	codexFile  = ".codex/sessions/2026/11/23/rollout-2026-11-23T21-15-11-01a20a43-4a9e-7122-9411-d62e730ba96f.jsonl"
)

func pid(n int) fleet.ProcessID { return fleet.ProcessID{PID: n, Start: 1, Boot: "b"} }

// before is when the recordings had not begun yet.
var before = time.Date(2026, 11, 23, 21, 0, 0, 0, time.UTC)

func TestAConversationIsFoundByItsName(t *testing.T) {
	w := newWorld(t)
	w.put(claudeFile, w.recorded("claude-2.1.330-headless")...)
	w.put(".claude/projects/-home-dev-project/11111111-1111-4111-8111-111111111111/subagents/agent-x-11111111-1111-4111-8111-111111111111.jsonl", w.recorded("claude-2.1.330-subagent")...)
	w.put(codexFile, w.recorded("codex-0.169.0-headless")...)
	got, err := w.conversations().Of(context.Background(), []Wanted{
		{Process: pid(1), Kind: "claude", Session: "11111111-1111-4111-8111-111111111111"},
		{Process: pid(2), Kind: "codex", Session: "01a20a43-4a9e-7122-9411-d62e730ba96f"},
		{Process: pid(3), Kind: "claude", Session: "33333333-3333-4333-8333-333333333333"},
		{Process: pid(4), Kind: "aider", Session: "11111111-1111-4111-8111-111111111111"},
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if c := got[pid(1)]; c.Turns != 2 || c.Model != "claude-opus-5-5" || c.Used.Or(0) != 3509 || c.CWD != "/home/dev/project" {
		t.Errorf("%+v", c)
	}
	if c := got[pid(2)]; c.Turns != 2 || c.Window.Or(0) != 258400 || c.Session != "01a20a43-4a9e-7122-9411-d62e730ba96f" {
		t.Errorf("%+v", c)
	}
}

// An agent started by hand, of whose conversation nothing has told the name: the one that was
// written in its folder since it began, where there is no other agent that may have written it.
func TestAConversationIsFoundByItsFolder(t *testing.T) {
	for name, c := range map[string]struct {
		wanted []Wanted
		found  int
	}{
		"alone":                     {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/project", Since: before}}, 1},
		"elsewhere":                 {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/other", Since: before}}, 0},
		"nowhere":                   {[]Wanted{{Process: pid(1), Kind: "claude", Since: before}}, 0},
		"began later":               {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/project", Since: time.Now().Add(time.Hour)}}, 0},
		"two that may be it":        {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/project", Since: before}, {Process: pid(2), Kind: "claude", CWD: "/home/dev/project", Since: before}}, 0},
		"one of them of a name":     {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/project", Since: before}, {Process: pid(2), Kind: "claude", CWD: "/home/dev/project", Session: "11111111-1111-4111-8111-111111111111"}}, 1},
		"of another kind beside it": {[]Wanted{{Process: pid(1), Kind: "claude", CWD: "/home/dev/project", Since: before}, {Process: pid(2), Kind: "codex", CWD: "/home/dev/project", Since: before}}, 1},
	} {
		w := newWorld(t)
		w.put(claudeFile, w.recorded("claude-2.1.330-headless")...)
		got, err := w.conversations().Of(context.Background(), c.wanted)
		if err != nil || len(got) != c.found {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A conversation is read on, line by line, with its last line in two pieces; one that was
// written over is read anew, and one that is gone is not known any more.
func TestAConversationIsReadOn(t *testing.T) {
	w := newWorld(t)
	lines, c := w.recorded("claude-2.1.330-headless"), w.conversations()
	wanted := []Wanted{{Process: pid(1), Kind: "claude", Session: "11111111-1111-4111-8111-111111111111"}}
	var path string
	for i, line := range lines {
		path = w.put(claudeFile, line[:len(line)/2])
		c.Of(context.Background(), wanted)
		w.put(claudeFile, line[len(line)/2:])
		w.now = w.now.Add(time.Minute)
		got, err := c.Of(context.Background(), wanted)
		if err != nil || len(got) != 1 {
			t.Fatalf("line %d: %v, %v", i, got, err)
		}
	}
	got, _ := c.Of(context.Background(), wanted)
	if conv := got[pid(1)]; conv.Turns != 2 || len(conv.Events) != 6 {
		t.Errorf("%+v", conv)
	}
	if err := os.WriteFile(path, bytes.Join(lines[:4], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Of(context.Background(), wanted); err != nil || got[pid(1)].Turns != 1 {
		t.Errorf("cut: %+v, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Of(context.Background(), wanted); err != nil || len(got) != 0 {
		t.Errorf("gone: %+v, %v", got, err)
	}
}

// Of a large file the first line and the last ones are read: what it is at is known, and how
// many turns it has at least.
func TestALargeConversation(t *testing.T) {
	w := newWorld(t)
	lines := w.recorded("codex-0.169.0-headless")
	w.put(codexFile, lines...)
	filler := []byte(`{"timestamp":"2026-11-23T21:15:18Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"` + strings.Repeat("x", 4000) + `"}}` + "\n")
	w.put(codexFile, bytes.Repeat(filler, 2*window/len(filler)))
	w.put(codexFile, []byte(`{"timestamp":"2026-11-23T21:16:00Z","type":"event_msg","payload":{"type":"task_complete"}}`+"\n"))
	got, err := w.conversations().Of(context.Background(), []Wanted{{Process: pid(1), Kind: "codex", CWD: "/home/dev/project", Since: before}})
	if err != nil {
		t.Fatal(err)
	}
	c := got[pid(1)]
	if c.Session != "01a20a43-4a9e-7122-9411-d62e730ba96f" || c.Turns != 1 || c.Used.IsKnown() || len(c.Events) != 1 || c.Events[0].Event != fleet.HookStop {
		t.Errorf("%+v", c)
	}
}

// The variable of Custos's own environment counts too: what it names is the kind's folder, or
// that of many programs.
func TestFoldersOfItsOwnEnvironment(t *testing.T) {
	w := newWorld(t)
	for kind, want := range map[string]string{"qwen": "/else", "opencode": "/else/opencode"} {
		for _, value := range []string{"/else", ""} {
			o := w.options()
			o.Getenv = func(string) string { return value }
			f, err := newFinder(o)
			if err != nil {
				t.Fatal(err)
			}
			k, _ := w.kinds.Get(kind)
			if got := f.roots(k, nil); slices.Contains(got, want) != (value != "") || len(got) != 1+len(value)/len("/else") {
				t.Errorf("%s, %q: %q", kind, value, got)
			}
		}
	}
}

// Another account's conversations are found in the folder that its environment, or
// custos.toml, names; a folder that is a glob by its name is taken at its word.
func TestOtherFolders(t *testing.T) {
	w := newWorld(t)
	w.put("other [a]*/projects/p/11111111-1111-4111-8111-111111111111.jsonl", w.recorded("claude-2.1.330-headless")...)
	other := filepath.Join(w.home, "other [a]*")
	wanted := Wanted{Process: pid(1), Kind: "claude", Session: "11111111-1111-4111-8111-111111111111"}
	if got, err := w.conversations().Of(context.Background(), []Wanted{wanted}); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	wanted.Home = other
	if got, err := w.conversations().Of(context.Background(), []Wanted{wanted}); err != nil || len(got) != 1 {
		t.Errorf("by its environment: %+v, %v", got, err)
	}
	wanted.Home = ""
	o := w.options()
	o.Roots = map[string][]string{"claude": {"~/other [a]*"}}
	c, err := NewConversations(o)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Of(context.Background(), []Wanted{wanted}); err != nil || len(got) != 1 {
		t.Errorf("by custos.toml: %+v, %v", got, err)
	}
	if folders := c.Folders(); len(folders) != 1 || folders[0] != other+"/projects/p" {
		t.Errorf("%q", folders)
	}
	for kind, root := range map[string]string{"aider": "/x", "none": "/x", "claude": "x"} {
		o.Roots = map[string][]string{kind: {root}}
		if _, err := NewConversations(o); err == nil {
			t.Errorf("roots.%s = %q is taken", kind, root)
		}
	}
}

// What cannot be read is said, and known of nothing.
func TestAFolderThatCannotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	w := newWorld(t)
	path := w.put(claudeFile, w.recorded("claude-2.1.330-headless")...)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	got, err := w.conversations().Of(context.Background(), []Wanted{{Process: pid(1), Kind: "claude", Session: "11111111-1111-4111-8111-111111111111"}})
	if err == nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The files of other kinds: Qwen Code's and pi's are named as claude's are; those of Gemini end in
// the beginning of a conversation's name, and a file above them says where they are held.
func TestConversationsOfOtherKinds(t *testing.T) {
	for _, c := range []struct{ kind, session, file, recorded, cwd string }{
		{"gemini", "11111111-2222-4333-8444-555555555555", ".gemini/tmp/p/chats/session-2026-11-23T21-11-11111111.jsonl", "gemini-0.61.0-headless", "/home/dev/project"},
		{"qwen", "6adf0649-251a-4c91-b68d-d1c07000806b", ".qwen/projects/-p/chats/6adf0649-251a-4c91-b68d-d1c07000806b.jsonl", "qwen-0.24.4-headless", "/home/dev/project"},
		{"pi", "01a20a3b-86f5-7424-8e0b-6b6261678bdd", ".pi/agent/sessions/--p--/2026-11-23T21-06-43-061Z_01a20a3b-86f5-7424-8e0b-6b6261678bdd.jsonl", "pi-0.73.1-tool", "/home/dev/project"},
	} {
		w := newWorld(t)
		w.put(".gemini/tmp/p/.project_root", []byte("/home/dev/project"))
		w.put(".gemini/tmp/p/chats/session-2026-11-23T21-10-11111111.jsonl", []byte(`{"sessionId":"11111111-9999","startTime":"2026-11-23T21:10:01.775Z","kind":"main"}`+"\n"))
		w.put(c.file, w.recorded(c.recorded)...)
		all, err := NewConversations(w.options())
		if err != nil {
			t.Fatal(err)
		}
		id := fleet.ProcessID{PID: 7}
		for _, wanted := range []Wanted{{Process: id, Kind: c.kind, Session: c.session}, {Process: id, Kind: c.kind, CWD: c.cwd}} {
			known, err := all.Of(context.Background(), []Wanted{wanted})
			if conv := known[id]; err != nil || conv.Session != c.session || conv.CWD != c.cwd || conv.Turns == 0 {
				t.Errorf("%s by %+v: %+v, %v", c.kind, wanted, conv, err)
			}
		}
	}
}
