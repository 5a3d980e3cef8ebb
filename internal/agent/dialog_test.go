package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDialogsOfPanes reads the dialog and the prompt of every real screen that
// was recorded. testdata/dialogs.txt is the table.
func TestDialogsOfPanes(t *testing.T) {
	want := table(t, "testdata/dialogs.txt")
	files, _ := filepath.Glob("testdata/panes/*.meta")
	var got strings.Builder
	for _, f := range files {
		line := paneLine(t, f)
		name, _, _ := strings.Cut(line, " | ")
		fmt.Fprintln(&got, line)
		if !*update && want[name] != line {
			t.Errorf("got  %s\nwant %s", line, want[name])
		}
	}
	if *update {
		if err := os.WriteFile("testdata/dialogs.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func paneLine(t *testing.T, file string) string {
	k, screen, title := paneOf(t, file)
	composer := "unknown"
	if empty, ok := ComposerEmpty(k, screen).Get(); ok {
		composer = map[bool]string{true: "empty", false: "written"}[empty]
	}
	ready := "unknown"
	if is, ok := Ready(k, screen, title).Get(); ok {
		ready = fmt.Sprint(is)
	}
	line := fmt.Sprintf("%s | composer %s | ready %s", strings.TrimSuffix(filepath.Base(file), ".meta"), composer, ready)
	if d, ok := ReadDialog(k, screen, title); ok {
		line += fmt.Sprintf(" | %s | %s | %s | %s | %s", d.ID, d.Question, d.Tool, d.Args, d.Hash)
		for _, c := range d.Choices {
			line += fmt.Sprintf(" | %s %v %q", c.Name, c.Keys, c.Label)
			if c.Selected {
				line += " selected"
			}
		}
	}
	return line
}

func paneOf(t testing.TB, file string) (k Kind, screen, title string) {
	t.Helper()
	m := meta.FindStringSubmatch(read(t, file))
	if m == nil {
		t.Fatalf("%s is not understood", file)
	}
	name, _, _ := strings.Cut(filepath.Base(file), "-")
	if other, ok := map[string]string{"claudeo": "claude", "codexnd": "codex", "opencode2": "opencode"}[name]; ok {
		name = other
	}
	return kindOf(t, name), read(t, strings.TrimSuffix(file, "meta")+"txt"), m[1]
}

const permission = "testdata/panes/claude-23-permission-prompt.meta"

func TestDialogKeepsItsHash(t *testing.T) {
	k, screen, title := paneOf(t, permission)
	first, ok := ReadDialog(k, screen, title)
	if !ok {
		t.Fatal("no dialog")
	}
	same := map[string]string{
		"another choice selected": strings.NewReplacer(" ❯ 1. Yes\n", "   1. Yes\n", "   3. No", " ❯ 3. No").Replace(screen),
		"a narrower screen":       strings.ReplaceAll(screen, strings.Repeat("─", 120), strings.Repeat("─", 60)),
		"more above it":           "● other words\n" + screen,
		"escape sequences":        strings.ReplaceAll(screen, "Yes", "\x1b[1mYes\x1b[0m"),
	}
	for what, s := range same {
		if d, ok := ReadDialog(k, s, title); !ok || d.Hash != first.Hash {
			t.Errorf("%s: %v, hash %s, want %s", what, ok, d.Hash, first.Hash)
		}
	}
	if d, _ := ReadDialog(k, same["another choice selected"], title); len(d.Choices) != 3 || !d.Choices[2].Selected {
		t.Errorf("choices %+v", d.Choices)
	}
	for what, s := range map[string]string{
		"another command":  strings.ReplaceAll(screen, "echo tool-ran", "echo tool-ram"),
		"a space more":     strings.ReplaceAll(screen, "tool-ran", "tool -ran"),
		"another tool":     strings.ReplaceAll(screen, "Bash command", "Read file"),
		"another question": strings.ReplaceAll(screen, "want to proceed", "want to create x"),
		"another choice":   strings.ReplaceAll(screen, "agents/", "prod/"),
	} {
		if d, ok := ReadDialog(k, s, title); !ok || d.Hash == first.Hash {
			t.Errorf("%s is taken for the same dialog (%v)", what, ok)
		}
	}
}

// What a CLI draws around a dialog goes on changing while it stands: it asks the same.
func TestDialogKeepsItsHashBelowWhatIsDrawnAroundIt(t *testing.T) {
	for file, drawn := range map[string][][2]string{
		"qwen-0.24.4-23-permission-prompt": {{"  ⠏ Waiting", "  .  Waiting"}, {"  ⠏ Waiting", "  .. Waiting"}, {"   › 1. Yes, allow once\n     2.", "     1. Yes, allow once\n   › 2."}},
		"qwen-0.24.4-26-question":          {{"  ⠏ Waiting", "  .. Waiting"}, {"   ❯ 1. Red", "     1. Red"}},
		"claude-2.1.330-76-permission":     {{" Esc to cancel", " Esc to cancel · Tab to amend · 3s"}},
		"claude-2.1.330-78-question":       {{"Enter to select · ", "Enter to select · n to add notes · "}},
		"codex-23-permission-prompt":       {{"› 1. Yes, ", "  1. Yes, "}},
		"gemini-25-permission":             {{"● 1. ", "  1. "}},
		"opencode-24-permission-prompt":    {{"ctrl+f fullscreen  ⇆ select", "⇆ select"}},
	} {
		k, screen, title := paneOf(t, "testdata/panes/"+file+".meta")
		first, ok := ReadDialog(k, screen, title)
		if !ok {
			t.Errorf("%s: no dialog", file)
		}
		for _, d := range drawn {
			again := strings.Replace(screen, d[0], d[1], 1)
			if d, ok := ReadDialog(k, again, title); again == screen || !ok || d.Hash != first.Hash {
				t.Errorf("%s is taken for another dialog with %q (%v, hash %s, want %s)", file, again, ok, d.Hash, first.Hash)
			}
		}
	}
}

// A secret in a command is not shown, and still makes another dialog of it.
func TestDialogHidesSecretsAndTellsThemApart(t *testing.T) {
	k, screen, title := paneOf(t, permission)
	a, _ := ReadDialog(k, strings.ReplaceAll(screen, "echo tool-ran", "API_KEY=aaaaaaaaaaaa x"), title)
	b, ok := ReadDialog(k, strings.ReplaceAll(screen, "echo tool-ran", "API_KEY=bbbbbbbbbbbb x"), title)
	if !ok || a.Args != b.Args || strings.Contains(b.Args, "bbbb") || a.Hash == b.Hash {
		t.Errorf("%q %s, %q %s", a.Args, a.Hash, b.Args, b.Hash)
	}
}

// What an agent prints is no dialog, unless it ends the screen.
func TestPrintedDialogIsNone(t *testing.T) {
	k, screen, title := paneOf(t, permission)
	_, ready, _ := paneOf(t, "testdata/panes/claude-10-ready.meta")
	if d, ok := ReadDialog(k, screen+"\n"+ready, title); ok {
		t.Errorf("a dialog above the prompt was read: %+v", d)
	}
	if d, ok := ReadDialog(k, screen, "⠐ Claude Code"); ok {
		t.Errorf("a dialog was read while the title says working: %+v", d)
	}
}

// The last question on the screen counts, whatever the command holds.
func TestCommandThatLooksLikeADialog(t *testing.T) {
	k, screen, title := paneOf(t, permission)
	evil := strings.Replace(screen, "   Create a proof file\n", "   Create\n Do you want to sleep?\n ❯ 1. Yes\n   2. No\n", 1)
	d, ok := ReadDialog(k, evil, title)
	if !ok || d.Question != "Do you want to proceed?" || len(d.Choices) != 3 || d.Tool != "Bash command" {
		t.Errorf("%v %+v", ok, d)
	}
}

func TestPick(t *testing.T) {
	k, screen, title := paneOf(t, permission)
	d, _ := ReadDialog(k, screen, title)
	if c, err := Pick(d, "no"); err != nil || len(c.Keys) != 1 || c.Keys[0] != "3" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Pick(d, "maybe"); err == nil || !strings.Contains(err.Error(), "yes, always, no") {
		t.Errorf("error %v", err)
	}
}

// Whatever a person wrote at a prompt, it is never taken for an empty one.
func TestComposerIsNeverEmptyWithWords(t *testing.T) {
	type prompt struct {
		kind             Kind
		screen, old, new string
	}
	var prompts []prompt
	for _, c := range [][3]string{
		{"claude-10-ready", "❯ \n", "❯ %\n"},
		{"claude-10-ready", "❯ \n", "❯\n  %\n"},
		{"codex-13-turn-done", "› Ask Codex to do anything", "› %"},
		{"gemini-10-ready", ">   Type your message or @path/to/file", "> %"},
		{"qwen-10-ready", ">   Type your message or @path/to/file", "> %"},
		{"opencode-10-ready-noplugin", `Ask anything… "Fix a TODO in the codebase"`, "%"},
	} {
		k, screen, _ := paneOf(t, "testdata/panes/"+c[0]+".meta")
		screen = strings.ReplaceAll(screen, "\u00a0", " ")
		if !strings.Contains(screen, c[1]) {
			t.Fatalf("%s does not hold %q", c[0], c[1])
		}
		prompts = append(prompts, prompt{k, screen, c[1], c[2]})
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[a-z#/@!?0-9][a-zA-Z0-9 .,:;_'/-]{0,60}`).Draw(t, "words")
		for _, p := range prompts {
			written := strings.ReplaceAll(p.screen, p.old, strings.ReplaceAll(p.new, "%", words))
			if empty, ok := ComposerEmpty(p.kind, written).Get(); ok && empty {
				t.Errorf("%s: %q is taken for nothing", p.kind.Name, words)
			}
		}
	})
}

func TestKindsWithoutAComposerSaySo(t *testing.T) {
	for _, name := range []string{"aider", "goose", "copilot", "cursor-agent"} {
		if l := ComposerEmpty(kindOf(t, name), "> "); l.IsKnown() {
			t.Errorf("%s: %v", name, l)
		}
	}
}

func FuzzReadDialog(f *testing.F) {
	files, _ := filepath.Glob("testdata/panes/*.txt")
	for _, file := range files {
		f.Add(read(f, file), "✳ Claude Code")
	}
	set := kinds(f)
	f.Fuzz(func(t *testing.T, screen, title string) {
		for _, k := range set.All() {
			d, ok := ReadDialog(k, screen, title)
			if ok && (d.ID == "" || d.Hash == "" || strings.ContainsAny(d.Question+d.Tool+d.Args, "\n\x1b")) {
				t.Errorf("%s: %+v", k.Name, d)
			}
			ComposerEmpty(k, screen)
			Ready(k, screen, title)
		}
	})
}

// TestListsWithoutNumbers: a mark is moved to the choice; where a line is not known, or it
// is not seen where the mark stands, there is no way to it.
func TestListsWithoutNumbers(t *testing.T) {
	trust := func(lines string) string {
		return strings.Repeat("─", 40) + "\n Accessing workspace:\n\n /p\n\n Quick safety check: Is this yours?\n\n Security guide\n\n" + lines + "\n Enter to confirm · Esc to cancel\n"
	}
	for lines, want := range map[string]map[string][]string{
		" ❯ No, exit\n   Yes, I trust this folder": {"no": {"Enter"}, "yes": {"Down", "Enter"}},
		"   No, exit\n ❯ Yes, I trust this folder": {"no": {"Up", "Enter"}, "yes": {"Enter"}},
		"   No, exit\n   Yes, I trust this folder": {},
		" ❯ No, exit\n ❯ Yes, I trust this folder": {},
		" ❯ 1. Yes, I trust this folder\n   2. No": {"yes": {"1"}, "no": {"2"}},
	} {
		d, ok := ReadDialog(kindOf(t, "claude"), trust(lines), "")
		got := map[string][]string{}
		for _, c := range d.Choices {
			got[c.Name] = c.Keys
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread as %v %v, want %v", lines, ok, got, want)
		}
	}
}
