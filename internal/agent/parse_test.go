package agent

import (
	"slices"
	"strings"
	"testing"
)

func TestBuiltinKinds(t *testing.T) {
	want := []string{"aider", "amp", "auggie", "claude", "cline", "codex", "copilot", "crush", "cursor-agent", "droid", "gemini", "generic", "goose", "kilocode", "opencode", "pi", "qwen"}
	if got := kinds(t).Names(); !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
	for _, k := range kinds(t).All() {
		if len(k.Never) == 0 {
			t.Errorf("%s does not say what it never tells", k.Name)
		}
		for _, m := range k.Screen {
			for part := range k.Parts {
				if strings.Contains(m.Ends, "{"+part+" ") {
					t.Errorf("%s: %q names a part wrongly", k.Name, m.Says)
				}
			}
		}
	}
}

func TestOverlay(t *testing.T) {
	set, err := Parse(Source{"custos.toml", []byte(`
mode = "ask"
[rule.x]
anything = 1
[kind.claude]
names = ["claude", "klaus"]
[kind.amp]
disabled = true
[kind.mine]
names = ["mine"]
oneshot_words = ["once"]
[[kind.mine.title]]
state = "idle"
says = "its title says so"
match = "^idle$"
`)})
	if err != nil {
		t.Fatal(err)
	}
	claude, _ := set.Get("claude")
	if !slices.Equal(claude.Names, []string{"claude", "klaus"}) || len(claude.Screen) == 0 || claude.Registry == "" {
		t.Errorf("the overlay of claude is not what was asked for: %v, %d marks", claude.Names, len(claude.Screen))
	}
	if amp, _ := set.Get("amp"); !amp.Disabled {
		t.Error("amp is not disabled")
	}
	mine, ok := set.Get("mine")
	if m, hit := mine.readTitle("idle"); !ok || !hit || m.State != "idle" {
		t.Errorf("kind mine: %+v", mine)
	}
	if first := kinds(t); slices.Contains(first.Names(), "mine") {
		t.Error("an overlay changed the built-in kinds")
	}
}

func TestBadOverlays(t *testing.T) {
	for text, want := range map[string][]string{
		"\n[kind.claude]\nnmes = [\"x\"]\n":                                               {"custos.toml:3", `"nmes"`, `did you mean "names"`},
		"[kind.claude]\nzzzzzzzz = 1\n":                                                   {"custos.toml:2", `"zzzzzzzz"`},
		"[kind.claude]\nnmes = 1\none_shot_flags = 1\n":                                   {"custos.toml:2", "custos.toml:3", "oneshot_flags"},
		"[kind.claude]\nnames = 3\n":                                                      {"custos.toml:2"},
		"[kind.unheard-of]\ndisabled = false\n":                                           {"custos.toml:1", "matches no process"},
		"[[kind.claude.title]]\nstate = \"asleep\"\nsays = \"x\"\nmatch = \"x\"\n":        {"custos.toml:1", "asleep"},
		"[[kind.claude.title]]\nstate = \"zombie\"\nsays = \"x\"\nmatch = \"x\"\n":        {"custos.toml:1", "cannot be told by a mark"},
		"[[kind.claude.title]]\nstate = \"idle\"\nsays = \"x\"\nmatch = \"(\"\n":          {"custos.toml:4"},
		"[[kind.claude.title]]\nstate = \"idle\"\n":                                       {"custos.toml:1", "needs state, says and match"},
		"\n\n[[kind.claude.screen]]\nstate = \"idle\"\nsays = \"broken\"\nends = \"(\"\n": {"custos.toml:3", "broken"},
		"[kind.opencode.transcripts]\nbelow = \"../x\"\n":                                 {"custos.toml:1", "../x", "no folder below"},
		"[kind.claude\n": {"custos.toml:1"},
	} {
		_, err := Parse(Source{"custos.toml", []byte(text)})
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: error %v, want %q in it", text, err, w)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[kind.x]\nnames=['a']\n[[kind.x.screen]]\nstate='idle'\nsays='s'\nends='{a}'\n[kind.x.parts]\na='('\n")
	f.Add("[kind]\nclaude=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Parse(Source{"f", []byte(text)})
		if err == nil && len(set.Names()) < 11 {
			t.Error("built-in kinds were lost")
		}
	})
}
