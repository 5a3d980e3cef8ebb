package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

const testHook = "/opt/a dir/it's/custos-hook"

func install(t interface{ Fatalf(string, ...any) }, kind, settings string) string {
	b, err := hooked().InstallHooks(kind, []byte(settings), testHook, "/run/cust os")
	if err != nil {
		t.Fatalf("cannot install into %q: %v", settings, err)
	}
	return string(b)
}

func uninstall(t interface{ Fatalf(string, ...any) }, kind, settings string) string {
	b, err := hooked().UninstallHooks(kind, []byte(settings))
	if err != nil {
		t.Fatalf("cannot uninstall from %q: %v", settings, err)
	}
	return string(b)
}

// settingsText draws settings as a person, or a formatter, would leave them:
// random white space and comments, escaped keys, and hooks of others in every
// stage of being there.
func settingsText(kind string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		w := &scribe{t: t, kind: kind}
		w.space()
		if rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
			w.object(0, true)
			w.space()
		}
		bom := ""
		if rapid.IntRange(0, 9).Draw(t, "bom") == 0 {
			bom = "\ufeff"
		}
		return bom + w.b.String()
	})
}

type scribe struct {
	t    *rapid.T
	kind string
	b    strings.Builder
}

func (w *scribe) space() {
	w.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n", "\n\t  ", "\r\n", " // a, {comment\n", "/* \" } */ "}).Draw(w.t, "space"))
}

func (w *scribe) object(depth int, top bool) {
	w.b.WriteString("{")
	w.space()
	keys := []string{`"a"`, `"a"`, `"hooks"`, `"ho\u006fks"`, `"Stop"`, `"plugin"`, `"statusLine"`, `"x\"y"`, `"command"`}
	n := rapid.IntRange(0, 3).Draw(w.t, "members")
	for i := range n {
		key := rapid.SampledFrom(keys).Draw(w.t, "key")
		var name string
		_ = json.Unmarshal([]byte(key), &name)
		w.b.WriteString(key)
		w.space()
		w.b.WriteString(":")
		w.space()
		switch {
		case top && name == "hooks":
			w.hooks()
		case top && name == "plugin":
			w.array(depth + 1)
		case top && name == "statusLine":
			w.statusLine(depth + 1)
		default:
			w.value(depth + 1)
		}
		w.space()
		if i < n-1 {
			w.b.WriteString(",")
			w.space()
		}
	}
	w.b.WriteString("}")
}

// statusLine is one that a person has, or something else under its name.
func (w *scribe) statusLine(depth int) {
	lines := []string{`{"type": "command", "command": "~/line.sh"}`, `{"padding":0, "command":"a \u00e9 'b' \"c\"",/* mine */"type":"command"}`, `{"type":"command","command":""}`, `{"type": "static"}`, `{"command":7,"type":"command"}`}
	if pick := rapid.IntRange(0, len(lines)).Draw(w.t, "status line"); pick < len(lines) {
		w.b.WriteString(lines[pick])
		return
	}
	w.value(depth)
}

func (w *scribe) hooks() {
	w.b.WriteString("{")
	events := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Stop", "PreToolUse", "AfterAgent", "Other"}), 0, 3, rapid.ID[string]).Draw(w.t, "events")
	for i, e := range events {
		w.space()
		fmt.Fprintf(&w.b, "%q:", e)
		w.array(2)
		w.space()
		if i < len(events)-1 {
			w.b.WriteString(",")
		}
	}
	w.space()
	w.b.WriteString("}")
}

func (w *scribe) array(depth int) {
	w.b.WriteString("[")
	w.space()
	n := rapid.IntRange(0, 2).Draw(w.t, "elements")
	for i := range n {
		w.value(depth + 1)
		w.space()
		if i < n-1 {
			w.b.WriteString(",")
			w.space()
		}
	}
	if n > 0 && rapid.IntRange(0, 5).Draw(w.t, "trailing") == 0 {
		w.b.WriteString(",")
		w.space()
	}
	w.b.WriteString("]")
}

func (w *scribe) value(depth int) {
	pick := rapid.IntRange(0, 6).Draw(w.t, "value")
	switch {
	case pick == 0 && depth < 5:
		w.object(depth, false)
	case pick == 1 && depth < 5:
		w.array(depth)
	case pick == 2:
		w.b.WriteString(`{"matcher": "", "hooks": [{"type": "command", "command": "echo custos-hook"}]}`)
	default:
		w.b.WriteString(rapid.SampledFrom([]string{"1", "-2.5e3", "true", "null", `"x"`, `"a \" , } \u00e9 é"`, `"file:///p/opencode.js"`, `""`}).Draw(w.t, "scalar"))
	}
}

func TestHooksUninstallExactly(t *testing.T) {
	for _, kind := range hookKinds() {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				before := settingsText(kind).Draw(t, "settings")
				with := install(t, kind, before)
				if again := install(t, kind, with); again != with {
					t.Fatalf("installed twice is not installed once:\n%s\n---\n%s", with, again)
				}
				if s, err := hooked().HookStatus(kind, []byte(with)); err != nil || !installed(s) {
					t.Fatalf("installed, but the status says %+v %v of\n%s", s, err, with)
				}
				if after := uninstall(t, kind, with); after != before {
					t.Fatalf("not undone exactly:\n%q\n%q\n%q", before, with, after)
				}
			})
		})
	}
}

// TestHooksSurviveReformatting has the CLI rewrite its settings between install
// and uninstall, as they do, and a person add a hook of their own.
func TestHooksSurviveReformatting(t *testing.T) {
	for _, kind := range hookKinds() {
		rapid.Check(t, func(t *rapid.T) {
			before := strictJSON(t, settingsText(kind).Draw(t, "settings"))
			if before == nil {
				return
			}
			with := strictJSON(t, install(t, kind, string(before)))
			after := uninstall(t, kind, string(with))
			if got := strictJSON(t, after); string(got) != string(before) {
				t.Fatalf("not undone: %s\n%s\n%s", before, with, got)
			}
		})
	}
}

// strictJSON reformats a text without comments and duplicates; nil when it has
// them.
func strictJSON(t *rapid.T, text string) []byte {
	var v map[string]any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	b, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

func TestHooksInGroupsOfOthers(t *testing.T) {
	mixed := `{"hooks":{"Stop":[{"hooks":[{"command":"mine"},{"type":"command","command":"/x/custos-hook claude Stop --run / --made=2"}]}]}}`
	if got, want := uninstall(t, "claude", mixed), `{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// A hook that a person put into the list that we made keeps the list.
	grown := strings.Replace(install(t, "claude", "{}"), `"Stop": [`, `"Stop": [{"hooks":[{"command":"mine"}]}, `, 1)
	if got := uninstall(t, "claude", grown); strings.Join(strings.Fields(got), "") != `{"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}]}}` {
		t.Errorf("got %s", got)
	}
}

func TestHooksRefuse(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"claude", "{\n\"hooks\": 1\n}", `"hooks" is there, but is no object`},
		{"claude", `{"hooks": {"Stop": {}}}`, `"hooks.Stop" is there, but is no list`},
		{"claude", "[]", "the whole text is there, but is no object"},
		{"claude", "{\n\n  \"a\": ,\n}", "line 3: a value cannot be read"},
		{"gemini", "{ /* no end", "a comment does not end"},
		{"gemini", `{"a":1 "b":2}`, `a comma or '}' is missing`},
		{"gemini", "{} {}", "something stands behind its end"},
		{"claude", strings.Repeat("[", 300), "nested too deeply"},
		{"amp", "{}", "has none that are known"},
	} {
		_, err := hooked().InstallHooks(c.kind, []byte(c.text), testHook, "/run")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.text, c.want, err)
		}
	}
	if _, err := hooked().InstallHooks("claude", nil, "/bin/true", "/run"); err == nil {
		t.Error("hooks that could not be found again were installed")
	}
}

func TestHookStatusOfNothing(t *testing.T) {
	s, err := hooked().HookStatus("claude", nil)
	if err != nil || installed(s) || len(s.Missing) != len(hookMark("claude").asked()) {
		t.Errorf("got %+v %v", s, err)
	}
}

// TestInstalledHooksAreJSON has the strict reader of the CLI read them.
func TestInstalledHooksAreJSON(t *testing.T) {
	for _, kind := range hookKinds() {
		for _, text := range []string{"", "{}", `{"theme":"dark"}`, `{"hooks":{},"plugin":[]}`, `{"hooks":{"Stop":[],"AfterAgent":[{}]},"plugin":["x"]}`} {
			if b := install(t, kind, text); !json.Valid([]byte(b)) {
				t.Errorf("%s: no JSON:\n%s", kind, b)
			}
		}
	}
}

func FuzzInstallHooks(f *testing.F) {
	f.Add(uint8(0), []byte(`{"hooks":{"Stop":[]}} // c`))
	f.Add(uint8(3), []byte("\ufeff{\"plugin\":[\"a\",]}"))
	f.Add(uint8(2), []byte(`{"a":"\ud800","b":[1,{"c":null}]}`))
	f.Fuzz(func(t *testing.T, k uint8, text []byte) {
		kind := hookKinds()[int(k)%len(hookKinds())]
		before, err := hooked().UninstallHooks(kind, text)
		if err != nil {
			return
		}
		with, err := hooked().InstallHooks(kind, before, testHook, "/run")
		if err != nil {
			return
		}
		if after := uninstall(t, kind, string(with)); after != string(before) {
			t.Fatalf("not undone exactly:\n%q\n%q\n%q", before, with, after)
		}
	})
}

// installed says whether every event is hooked.
func installed(s HookState) bool { return len(s.Events) > 0 && len(s.Missing) == 0 }

// Each CLI reads its settings in the folder that an account names, as far as that variable moves them.
func TestHookSettingsOfAccounts(t *testing.T) {
	kinds := hooked()
	for kind, want := range map[string]string{
		"claude": "/a b/settings.json", "codex": "/a b/hooks.json", "qwen": "/a b/settings.json", "gemini": "/a b/.gemini/settings.json", "opencode": "", "aider": "",
	} {
		got := strings.Join(kinds.HookSettingsOf(kind, fleet.Accounts{{Name: "x", Kind: kind, ConfigDir: fleet.Path("/a b")}, {Name: "own", Kind: kind}, {Name: "other", Kind: "pi", ConfigDir: "/c"}}), " + ")
		if got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
