package agent

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// The command lines of the four best known kinds, as their own --help (versions
// in kinds/*.toml) describes them.
func TestLaunch(t *testing.T) {
	const u = "0b0f7a9e-1111-4222-8333-444455556666"
	for _, c := range []struct {
		kind string
		o    LaunchOptions
		want string // argv, joined by " | "; then what is typed or read
	}{
		{"claude", LaunchOptions{}, "claude"},
		{"claude", LaunchOptions{Prompt: "-p do it", Autonomous: true}, "claude | --dangerously-skip-permissions | -- | -p do it"},
		{"claude", LaunchOptions{Resume: u, Extra: []string{"--model", "opus"}}, "claude | --model | opus | --resume | " + u},
		{"claude", LaunchOptions{Continue: true}, "claude | --continue"},
		{"claude", LaunchOptions{Session: u, Program: "/opt/claude"}, "/opt/claude | --session-id | " + u},
		{"claude", LaunchOptions{Session: u, Resume: "other"}, "claude | --resume | other"},
		{"claude", LaunchOptions{Headless: true, Prompt: "x y"}, "claude | -p | --output-format | stream-json | --verbose < x y"},
		{"codex", LaunchOptions{Resume: u, Autonomous: true, Prompt: "go"}, "codex | --no-daemon | --dangerously-bypass-approvals-and-sandbox | resume | " + u + " | -- | go"},
		{"codex", LaunchOptions{Headless: true, Hooks: []string{"-c", "x=1"}, Extra: []string{"-m", "o"}, Prompt: "go"}, "codex | -c | x=1 | exec | --json | --skip-git-repo-check | -m | o | - < go"},
		{"codex", LaunchOptions{Headless: true, Resume: u, Prompt: "go"}, "codex | exec | --json | --skip-git-repo-check | resume | " + u + " | - < go"},
		{"codex", LaunchOptions{Headless: true, Continue: true, Prompt: "go"}, "codex | exec | --json | --skip-git-repo-check | resume | --last | - < go"},
		{"gemini", LaunchOptions{Prompt: "--evil", Autonomous: true}, "gemini | --approval-mode=yolo | --prompt-interactive=--evil"},
		{"gemini", LaunchOptions{Headless: true, Prompt: "hi", Resume: u}, "gemini | --output-format=stream-json | --resume=" + u + " | --prompt=hi"},
		{"opencode", LaunchOptions{Resume: "ses_e07", Prompt: "hi"}, "opencode | --session=ses_e07 | --prompt=hi"},
		{"opencode", LaunchOptions{Headless: true, Prompt: "-x"}, "opencode | run | --format=json | -- | -x"},
		{"pi", LaunchOptions{Prompt: "hi"}, "pi ~ hi"},
		{"claude", LaunchOptions{Prompt: strings.Repeat("x", 200<<10)}, "claude ~ " + strings.Repeat("x", 200<<10)},
	} {
		got, err := Launch(kindOf(t, c.kind), c.o)
		line := strings.Join(got.Argv, " | ")
		if got.Stdin != "" {
			line += " < " + got.Stdin
		}
		if got.Typed != "" {
			line += " ~ " + got.Typed
		}
		if err != nil || line != c.want {
			t.Errorf("%s %+v: %v\ngot  %.300s\nwant %.300s", c.kind, c.o, err, line, c.want)
		}
	}
}

func TestLaunchRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		kind string
		o    LaunchOptions
		want string
	}{
		{"claude", LaunchOptions{Resume: "--dangerously-skip-permissions"}, "is no ID"},
		{"claude", LaunchOptions{Resume: "a/../b"}, "is no ID"},
		{"claude", LaunchOptions{Session: "a b"}, "is no ID"},
		{"claude", LaunchOptions{Headless: true}, "needs a prompt"},
		{"claude", LaunchOptions{Prompt: "a\x00b"}, "zero byte"},
		{"claude", LaunchOptions{Autonomous: true, Root: true}, "as root"},
		{"aider", LaunchOptions{Resume: "x"}, "not known how it resumes"},
		{"goose", LaunchOptions{Autonomous: true}, "does not ask"},
		{"opencode", LaunchOptions{Headless: true, Prompt: strings.Repeat("x", 200<<10)}, "too many"},
	} {
		got, err := Launch(kindOf(t, c.kind), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "cannot start "+c.kind) || got.Argv != nil {
			t.Errorf("%s %+v: %+v, error %v, want %q", c.kind, c.o, got, err, c.want)
		}
	}
}

// Every command line Launch makes is one that detection knows again, as the same
// kind, and as one-shot exactly when it is headless.
func TestLaunchedIsDetected(t *testing.T) {
	set := kinds(t)
	for _, k := range set.All() {
		if k.Generic {
			continue // it is known by its registration alone
		}
		for _, o := range []LaunchOptions{{}, {Prompt: "-p --print hi"}, {Headless: true, Prompt: "hi"}} {
			c, err := Launch(k, o)
			if err != nil {
				t.Errorf("%s: %v", k.Name, err)
				continue
			}
			p := fleet.Process{ID: fleet.ProcessID{PID: 10, Start: 10}, Args: append([]string{"node", "/usr/bin/" + c.Argv[0]}, c.Argv[1:]...),
				Exe: fleet.Known("/usr/bin/node")}
			runs := Detect(set, []fleet.Process{p})
			if len(runs) != 1 || runs[0].Kind != k.Name || runs[0].OneShot != o.Headless {
				t.Errorf("%s, headless %v: %q is detected as %+v", k.Name, o.Headless, c.Argv, runs)
			}
		}
	}
}

// Whatever is asked for, no piece of it becomes an argument of its own, and the
// prompt is there exactly once.
func TestLaunchKeepsArgumentsWhole(t *testing.T) {
	all := kinds(t).All()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(all).Draw(t, "kind")
		o := LaunchOptions{Headless: rapid.Bool().Draw(t, "headless"), Prompt: rapid.StringN(1, 40, -1).Draw(t, "prompt") + "\n{session}",
			Resume: rapid.SampledFrom([]string{"", "abc-1"}).Draw(t, "resume")}
		c, err := Launch(k, o)
		if err != nil {
			return
		}
		plain, err := Launch(k, LaunchOptions{Headless: o.Headless, Resume: o.Resume, Prompt: "p"})
		if err != nil || len(plain.Argv) != len(c.Argv) {
			t.Fatalf("%q has other arguments than %q: %v", c.Argv, plain.Argv, err)
		}
		where := 0
		for _, a := range c.Argv {
			if strings.HasSuffix(a, o.Prompt) {
				where++
			}
		}
		if strings.HasSuffix(c.Stdin, o.Prompt) { // what is special may stand behind a word more
			where++
		}
		if c.Typed == o.Prompt {
			where++
		}
		if where != 1 {
			t.Fatalf("the prompt is %d times in %+v", where, c)
		}
	})
}

func TestEveryKindCanBeStopped(t *testing.T) {
	for _, k := range kinds(t).All() {
		if len(k.Interrupt) == 0 || len(k.Exit) == 0 {
			t.Errorf("%s: interrupt %v, exit %v", k.Name, k.Interrupt, k.Exit)
		}
		if k.Launch.Program == "" && !k.Generic {
			t.Errorf("%s has no program", k.Name)
		}
	}
	if !slices.Contains(kindOf(t, "claude").Unset, "CLAUDECODE") {
		t.Error("claude is started as the child of another")
	}
}

func TestBadLaunchAndDialogs(t *testing.T) {
	for text, want := range map[string][]string{
		"\n[kind.claude.launch]\nresume = [\"--resume\"]\n":                                                          {"custos.toml:2", "resume needs {session}"},
		"[kind.claude.launch]\nprompt = [\"-p\"]\n":                                                                  {"custos.toml:1", "needs {prompt}"},
		"[kind.claude.launch]\nautonomus = [\"-p\"]\n":                                                               {"custos.toml:2", `did you mean "autonomous"`},
		"[kind.claude.headless]\nstream = \"xml\"\n":                                                                 {"custos.toml:1", "xml", "claude, codex, gemini, opencode"},
		"[kind.claude]\nenv = [\"X\"]\n":                                                                             {"custos.toml:2", "want NAME=VALUE"},
		"[kind.claude.composer]\nends = 'x'\n":                                                                       {"custos.toml:1", "group text"},
		"[kind.claude.composer]\nplaceholder = ['(']\n":                                                              {"custos.toml:2"},
		"[[kind.claude.dialog]]\nid = 'x'\n":                                                                         {"custos.toml:1", "needs id, says and ends"},
		"[[kind.claude.dialog]]\nid = 'x'\nsays = 's'\nends = '('\n":                                                 {"custos.toml:1", `dialog "x"`},
		"[[kind.claude.dialog]]\nid = 'x'\nsays = 's'\nends = 'e'\n":                                                 {"none of its choices"},
		"[[kind.claude.dialog]]\nid='x'\nsays='s'\nends='e'\nperson=true\n[[kind.claude.dialog.choice]]\nname='y'\n": {"name and keys"},
		"[[kind.claude.dialog]]\nid='x'\nsays='s'\nends='e'\nperson=true\n[[kind.claude.dialog.choice]]\nname='y'\nkeys=['1']\nmatch='x'\n": {"no group choices"},
	} {
		_, err := Parse(Source{"custos.toml", []byte(text)})
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: error %v, want %q in it", text, err, w)
			}
		}
	}
}

// A kind of a user's own gets everything a built-in one has.
func TestUserKindIsWhole(t *testing.T) {
	set, err := Parse(Source{"custos.toml", []byte(`
[kind.mine]
names     = ["mine"]
interrupt = ["C-c"]
env       = ["MINE=1"]
[kind.mine.launch]
resume = ["--go-on={session}"]
prompt = ["{prompt}"]
[kind.mine.headless]
args   = ["--json"]
stdin  = true
stream = "claude"
[kind.mine.composer]
ends = '> (?P<text>[^\n]*)'
[[kind.mine.dialog]]
id      = "sure"
says    = "it asks whether it may"
ends    = 'May I (?P<question>[^\n]*\?) \[y/n\]'
default = "no"
[[kind.mine.dialog.choice]]
name = "yes"
keys = ["y"]
[[kind.mine.dialog.choice]]
name = "no"
keys = ["n"]
`)})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := set.Get("mine")
	c, err := Launch(k, LaunchOptions{Resume: "7", Prompt: "hi"})
	if err != nil || strings.Join(c.Argv, " ") != "mine --go-on=7 hi" || !slices.Equal(c.Env, []string{"MINE=1"}) || c.Session != "7" {
		t.Errorf("%+v, %v", c, err)
	}
	if d, ok := ReadDialog(k, "May I leave? [y/n]\n", ""); !ok || d.Question != "leave?" || d.Default != "no" || d.Person {
		t.Errorf("%+v", d)
	}
	if empty, ok := ComposerEmpty(k, "hello\n> \n").Get(); !ok || empty {
		// "> " loses its space at the end of a line, and with it its match
		if e, ok := ComposerEmpty(k, "hello\n> x\n").Get(); !ok || e {
			t.Errorf("composer %v %v", e, ok)
		}
	}
	if e, err := conversation.ReadOutput(k.Headless.Stream, []byte(`{"type":"result","subtype":"success"}`)); err != nil || len(e) != 1 || !e[0].OK {
		t.Errorf("%+v, %v", e, err)
	}
}

// A first prompt on the command line is the words of a person, whatever it begins or ends
// with: no flag, no command, no file. What is typed later is cared for when it is typed.
func TestAFirstPromptIsNoCommand(t *testing.T) {
	kinds, err := Parse()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind           string
		headless       bool
		prompt, passed string
	}{
		{"claude", false, "/clear the table", "> /clear the table"}, {"claude", false, "!echo", " !echo"}, {"claude", false, "exit", "> exit"}, {"claude", false, "-v", "-v"},
		{"claude", true, "/clear the table", "> /clear the table"}, {"claude", false, "mend it", "mend it"},
		{"codex", false, "/clear", " /clear"}, {"codex", false, strings.Repeat("line\n", 40), strings.Repeat("line\n", 40)},
		{"gemini", false, "/help", ": /help"}, {"qwen", false, "/help", ": /help "}, {"opencode", false, "/help", ": /help"},
		{"pi", true, "-v", " -v"}, {"pi", true, "@README.md", " @README.md"}, {"pi", true, "/help", ": /help"}, {"pi", true, "mend it", "mend it"},
		{"pi", false, "/help", "/help"}, // is typed
	} {
		k, _ := kinds.Get(c.kind)
		got, err := Launch(k, LaunchOptions{Headless: c.headless, Prompt: c.prompt})
		if err != nil {
			t.Fatal(err)
		}
		last := got.Argv[len(got.Argv)-1]
		if _, value, is := strings.Cut(last, "="); is && strings.HasPrefix(last, "--prompt") {
			last = value
		}
		if got.Stdin != "" || got.Typed != "" {
			last = got.Stdin + got.Typed
		}
		if last != c.passed {
			t.Errorf("%s, headless %t, %q: it is given %q, want %q", c.kind, c.headless, c.prompt, last, c.passed)
		}
		if again := k.FirstPrompt(c.passed); !strings.HasPrefix(c.passed, c.prompt) && again != c.passed {
			t.Errorf("%s: %q is made %q", c.kind, c.passed, again)
		}
	}
}

// Standing instructions are told the kind's own way, else before the first prompt, and are never left out silently.
func TestLaunchContext(t *testing.T) {
	kinds, err := Parse()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind string
		o    LaunchOptions
		argv []string // the end of the command line
		in   string
		fail string
	}{
		"claude":                {kind: "claude", o: LaunchOptions{Prompt: "do", Extra: []string{"--model", "x"}}, argv: []string{"claude", "--append-system-prompt-file", "/f", "--model", "x", "--", "do"}},
		"claude, resumed":       {kind: "claude", o: LaunchOptions{Resume: "c1"}, argv: []string{"claude", "--append-system-prompt-file", "/f", "--resume", "c1"}},
		"claude, with its own":  {kind: "claude", o: LaunchOptions{Prompt: "do", Extra: []string{"--append-system-prompt", "x"}}, fail: "its own command line has --append-system-prompt, which does not go with context"},
		"codex":                 {kind: "codex", o: LaunchOptions{Prompt: "do"}, argv: []string{"--", "text\n\ndo"}},
		"codex, resumed":        {kind: "codex", o: LaunchOptions{Resume: "c1", Prompt: "do"}, argv: []string{"--", "do"}},
		"codex, by input":       {kind: "codex", o: LaunchOptions{Prompt: "do", Headless: true}, argv: []string{"-"}, in: "text\n\ndo"},
		"codex, without prompt": {kind: "codex", fail: "stands before its first prompt, and it has none"},
		"pi, typed":             {kind: "pi", o: LaunchOptions{Prompt: "do"}, fail: "which is typed"},
		"pi, without terminal":  {kind: "pi", o: LaunchOptions{Prompt: "do", Headless: true}, argv: []string{"text\n\ndo"}},
		"too long":              {kind: "gemini", o: LaunchOptions{Prompt: strings.Repeat("x", mostPrompt)}, fail: "an argument may have"},
		"any command":           {kind: "generic", o: LaunchOptions{Program: "make"}, fail: "not known how this command takes a prompt"},
	} {
		k, _ := kinds.Get(c.kind)
		c.o.Context, c.o.ContextFile = "text", "/f"
		got, err := Launch(k, c.o)
		if c.fail != "" {
			if err == nil || !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%s: %v, want %s", name, err, c.fail)
			}
			continue
		}
		if err != nil || len(got.Argv) < len(c.argv) || !slices.Equal(got.Argv[len(got.Argv)-len(c.argv):], c.argv) || got.Stdin != c.in {
			t.Errorf("%s: %q, %q, %v", name, got.Argv, got.Stdin, err)
		}
	}
}
