package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recorded = `{"snapshot": {"from": {"uid": 7},
 "processes": {"sight": {"status": "ok"}, "value": [
  {"id": {"pid": 10, "start": 1}, "uid": 7}, {"id": {"pid": 11, "start": 1}, "uid": 7}, {"id": {"pid": 12, "start": 1}, "uid": 0}, {"id": {"pid": 13, "start": 9}, "uid": 7}, {"id": {"pid": 14, "start": 1}, "uid": 7}, {"id": {"pid": 15, "start": 1}, "uid": 7}]},
 "sessions": {"sight": {"status": "absent", "why": "no tmux"}, "value": [{"id": {"socket": "/tmp/t"}}, {"id": {"socket": "/tmp/t"}}]},
 "agents": {"sight": {"status": "stale", "why": "a probe hung"}, "value": [
  {"name": "a", "kind": "claude", "version": "2.1", "owner": "foreign", "process": {"pid": 10, "start": 1}, "cwd": "/home/me/shop/sub"},
  {"name": "b", "kind": "codex", "owner": "foreign", "process": {"pid": 11, "start": 1}, "cwd": "/tmp/wt"},
  {"name": "root's", "kind": "claude", "owner": "foreign", "process": {"pid": 12, "start": 1}, "cwd": "/home/me/both"},
  {"name": "mine", "kind": "claude", "owner": "foreign", "process": {"pid": 14, "start": 1}, "cwd": "/home/me/both"},
  {"name": "reused pid", "kind": "claude", "owner": "foreign", "process": {"pid": 13, "start": 1}, "cwd": "/home/me/other"},
  {"name": "globbed", "kind": "claude", "owner": "foreign", "process": {"pid": 15, "start": 1}, "cwd": "/home/me/a*"},
  {"name": "nowhere", "kind": "claude", "owner": "foreign", "process": {"pid": 10, "start": 1}, "cwd": {"unknown": "permission denied"}},
  {"name": "gone", "kind": "claude", "owner": "foreign", "process": {"pid": 0}, "cwd": "/x"},
  {"name": "of Custos", "kind": "claude", "owner": "custos", "process": {"pid": 10, "start": 1}, "cwd": "/y"}]},
 "repos": {"sight": {"status": "ok"}, "value": {"repos": [{"path": "/home/me/shop"}, {"path": "/home/me/idle"}], "worktrees": [{"path": "/tmp/wt", "repo": "/home/me/shop"}]}}}}`

// Yours is where agents work that are all known to be of this user: what is not known, and a
// number that another process has now, is not.
func TestWhatIsYours(t *testing.T) {
	s, err := Read([]byte(recorded), "/home/me")
	if err != nil {
		t.Fatal(err)
	}
	want := []Place{
		{Path: "/home/me/shop", Repository: true, Worktrees: 1, Agents: 2, Elsewhere: []string{"/tmp/wt"}, Mine: true},
		{Path: "/home/me/idle", Repository: true},
		{Path: "/home/me/both", Agents: 2},
		{Path: "/home/me/other", Agents: 1},
		{Path: "/home/me/a*", Agents: 1, Unfit: "its path cannot be named in custos.toml by itself: /home/me/a*"},
	}
	if d := cmp.Diff(want, s.Places); d != "" {
		t.Error(d)
	}
	if len(s.Agents) != 7 || len(s.Servers) != 1 {
		t.Errorf("agents %v, servers %v", s.Agents, s.Servers)
	}
	if d := cmp.Diff([]string{"agents: stale, a probe hung"}, s.NotSeen); d != "" {
		t.Error(d)
	}
}

// A home, or what it lies in, is not yours by itself, though an agent of yours works there: all
// that is below would be.
func TestAHomeIsNotYoursByItself(t *testing.T) {
	text := `{"snapshot": {"from": {"uid": 7}, "processes": {"value": [{"id": {"pid": 10, "start": 1}, "uid": 7}]},
 "agents": {"value": [{"name": "a", "kind": "claude", "owner": "foreign", "process": {"pid": 10, "start": 1}, "cwd": "FOLDER/dotfiles"}]},
 "repos": {"value": {"repos": [{"path": "FOLDER"}]}}}}`
	for folder, want := range map[string]bool{"/home/me": false, "/home": false, "/home/me/shop": true, "/home/men": true} {
		s, err := Read([]byte(strings.ReplaceAll(text, "FOLDER", folder)), "/home/me")
		if err != nil || len(s.Places) != 1 || s.Places[0].Mine != want || s.Places[0].Wide == want || s.Places[0].Unfit != "" {
			t.Errorf("%s: %+v, %v", folder, s.Places, err)
		}
	}
}

func TestWhatIsNoRecordingIsSaid(t *testing.T) {
	if _, err := Read([]byte("{"), ""); err == nil || !strings.HasPrefix(err.Error(), "cannot read what was seen: ") {
		t.Error(err)
	}
}

const written = `# Written by custos setup: what differs from the defaults. All keys: custos help config.md
# Check it with: custos config check. Take it back with: custos setup --undo

# How far Custos may go by itself: observe (look and say; the default), ask (act when you
# approve), auto (act).
mode = "ask"

[git]
# Your repositories. What is not named is only looked at; what is, Custos may mend when you
# say so (custos patrol --apply, custos approve), and by itself in the modes that allow it.
repos = ["~/shop"]

[agents]
# Agents that work in these folders are yours, although you start them by hand.
adopt = [
  "/tmp/wt",
  "/tmp/wt/*",
  "~/a \"b\"",
  "~/shop",
  "~/shop/*",
]

[notifier.me]
# Where you are told of alerts from P2 on. Try it: custos tell --try me
type = "matrix"
server = "https://m.test"
room = "!a:m.test"
token_file = "~/t"
`

func TestASmallConfiguration(t *testing.T) {
	c := Choice{Mode: "ask", Places: []Place{{Path: "/home/me/shop", Repository: true, Elsewhere: []string{"/tmp/wt"}}, {Path: `/home/me/a "b"`}},
		Receiver: &Receiver{Type: "matrix", Server: "https://m.test", Room: "!a:m.test", TokenFile: "/home/me/t"}}
	if d := cmp.Diff(written, Config(c, "/home/me")); d != "" {
		t.Error(d)
	}
	if got := Config(Choice{Mode: "observe"}, "/home/me"); got != "" {
		t.Errorf("the defaults are written: %s", got)
	}
	if got := Config(Choice{Places: []Place{{Path: "/home/men"}}}, "/home/me"); !strings.Contains(got, `adopt = ["/home/men"]`) {
		t.Error(got)
	}
}

func TestWhereNtfyIs(t *testing.T) {
	for _, c := range [][3]string{
		{"https://ntfy.sh", "custos-x_1", "ntfy://ntfy.sh/custos-x_1?scheme=https"},
		{"http://127.0.0.1:80/", "t", "ntfy://127.0.0.1:80/t?scheme=http"},
		{"https://user@ntfy.sh", "t", ""}, {"", "t", ""}, {"https://ntfy.sh", "a/b", ""}, {"https://ntfy.sh", "", ""},
	} {
		got, err := Ntfy(c[0], c[1])
		if got != c[2] || (err == nil) != (c[2] != "") {
			t.Errorf("%s %s is %q, %v", c[0], c[1], got, err)
		}
	}
}

func TestWhereAShellLooks(t *testing.T) {
	for shell, file := range map[string]string{"/bin/bash": "/d/bash-completion/completions/custos", "/usr/bin/fish": "/c/fish/completions/custos.fish", "zsh": "/z/.zshrc", "/bin/dash": "", "": ""} {
		c, ok := CompletionOf(shell, "/d", "/c", "/z")
		if c.File != file || ok != (file != "") || (c.Line != "") != (shell == "zsh") {
			t.Errorf("%q: %+v", shell, c)
		}
	}
}
