package agent

import (
	"strings"
	"testing"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"

	"pgregory.net/rapid"
)

// composing is a claude with rules of its own about what is special.
func composing(t testing.TB, composer string) Kind {
	t.Helper()
	set, err := Parse(Source{"custos.toml", []byte("[kind.claude.composer]\n" + composer)})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := set.Get("claude")
	return k
}

const someSpecial = `
pasted  = ['^\[Pasted text #\d+(?: \+(?P<lines>\d+) lines)?\]$']
clear   = ["C-u"]
special = [
  { says = "a shell command", match = '^!', prefix = " " },
  { says = "a command", match = '^\s*/[a-z]+(?:\s|$)', prefix = "> " },
  { says = "a file to complete", match = '@\S+$', suffix = " " },
  { says = "an order to itself", match = '^%', refuse = true },
]
`

// What a CLI would take for something else is typed so that it arrives as a prompt, or not
// at all.
func TestSpecialTextsAreTypedOtherwise(t *testing.T) {
	k := composing(t, someSpecial)
	for text, want := range map[string]string{
		"go on":                "go on",
		"!important":           " !important",
		"/compact":             "> /compact",
		" /compact now":        "> /compact now",
		"/home/user is full":   "/home/user is full",
		"look at @main.go":     "look at @main.go ",
		"! look at @main.go":   " ! look at @main.go ",
		"- first\n- @x.go yes": "- first\n- @x.go yes",
	} {
		typed, why, err := k.AsPrompt(text)
		if strings.Join(strings.Fields(typed), " ") != strings.Join(strings.Fields(want), " ") || err != nil || (why == "") != (typed == text) {
			t.Errorf("%q is typed as %q (%q, %v)", text, typed, why, err)
		}
	}
	if typed, _, err := k.AsPrompt("%quit"); err == nil || typed != "" || !strings.Contains(err.Error(), "claude would take it for an order to itself") {
		t.Errorf("%q, %v", typed, err)
	}
	stubborn := composing(t, `special = [{ says = "a command", match = '^/', prefix = "> " }, { says = "a quote", match = '^>', prefix = "/ " }]`)
	if typed, _, err := stubborn.AsPrompt("/compact"); err == nil || typed != "" {
		t.Errorf("%q is still special, and is typed (%v)", typed, err)
	}
}

// Whatever is to be said, what is typed is not special, and holds the text as it was.
func TestWhatIsTypedIsNotSpecial(t *testing.T) {
	k := composing(t, someSpecial)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[!/#@%> -]{0,3}[a-z./]{0,12}( [!/#@%]?[a-z./]{0,8}){0,3}`).Draw(t, "text")
		typed, _, err := k.AsPrompt(text)
		if err != nil {
			return
		}
		if !strings.Contains(typed, text) {
			t.Errorf("%q is typed as %q", text, typed)
		}
		for _, m := range k.Composer.Special {
			if m.Match.match(typed) {
				t.Errorf("%q is typed as %q, which is %s", text, typed, m.Says)
			}
		}
	})
}

// What Claude Code 2.1.330 takes for something else: it ends at a mere "exit", and Enter behind
// a backslash begins another line.
func TestWhatIsSpecialToClaude(t *testing.T) {
	for text, want := range map[string]string{
		"exit": "> exit", "Quit now": "Quit now", " :q\n": "> :q", "!ls": "!ls", "/clear": "> /clear", "/": "> /", "/ ": "> /", "/\tx": "> / x", "/\nfoo": "> / foo", "/1": "> /1", "what is /": "what is /", "/tmp/x is full": "/tmp/x is full", "a\\": "a\\", "see @a.go": "see @a.go",
		"# note": "# note", "- first": "- first", "exit the loop": "exit the loop",
	} {
		typed, _, err := kindOf(t, "claude").AsPrompt(text)
		if err != nil || strings.Join(strings.Fields(typed), " ") != want || strings.HasSuffix(typed, "\\") || strings.HasPrefix(typed, "!") || strings.HasSuffix(typed, ".go") {
			t.Errorf("%q is typed as %q (%v), want %q", text, typed, err, want)
		}
	}
}

// Claude Code 2.1.330 removes invisible characters: directions of writing, and then it waits for
// another Enter, or what has no width, and then the rest is sent. Those that scripts and emoji are
// made with arrive.
func TestInvisibleCharactersAreNotTypedToClaude(t *testing.T) {
	k := kindOf(t, "claude")
	for _, r := range "\u202e\u202c\u2066\u200e\u061c\u200b\ufeff\u00ad\u2060\u2028\u3164\u180e" {
		if typed, _, err := k.AsPrompt("a" + string(r) + "b"); err == nil || !strings.Contains(err.Error(), "invisible characters") {
			t.Errorf("%U is typed as %q (%v)", r, typed, err)
		}
	}
	for _, text := range []string{"👩\u200d👩\u200d👧", "می\u200cخواهم", "שלום", "a\u00a0b"} {
		if typed, _, err := k.AsPrompt(text); typed != text || err != nil {
			t.Errorf("%q is typed as %q (%v)", text, typed, err)
		}
	}
}

func TestSpecialNeedsACure(t *testing.T) {
	for text, words := range map[string]string{
		`special = [{ says = "x", match = '^!' }]`:                              "one of prefix, suffix, pad and refuse",
		`special = [{ says = "x", match = '^!', prefix = " ", refuse = true }]`: "one of prefix, suffix, pad and refuse",
		`special = [{ match = '^!', prefix = " " }]`:                            "needs says",
		`special = [{ says = "x", match = '^/', prefix = "/" }]`:                `it matches what its own cure makes: "/" is typed as "//"`,
		`special = [{ says = "x", match = '^(?:a+|\s*!b)', prefix = " " }]`:     `"!b" is typed as " !b"`,
		`special = [{ says = "x", match = '[@$]\S*$', suffix = "x" }]`:          "its own cure",
		`special = [{ says = "x", mach = '^!', prefix = " " }]`:                 `"mach"`,
	} {
		if _, err := Parse(Source{"custos.toml", []byte("[kind.claude.composer]\n" + text)}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What Custos typed is known by all of it, however it is wrapped, or by what stands for a paste
// of its length. Nothing else is.
func TestComposerShowsWhatWasTyped(t *testing.T) {
	k := composing(t, someSpecial)
	sixty := strings.TrimSuffix(strings.Repeat("a line\n", 60), "\n")
	for _, c := range []struct {
		shown, text string
		want        bool
	}{
		{" go on with it", "go on with it", true},
		{" go on wi\n  th it", "go on with it", true},
		{" go on with it please", "go on with it", false},
		{" x go on with it", "go on with it", false},
		{" go on with", "go on with it", false},
		{"", "go on with it", false},
		{" [Pasted text #1 +59 lines]", sixty, true},
		{" [Pasted text #7 +60 lines]", sixty, true}, // older versions count the first line too
		{" [Pasted text #1 +58 lines]", sixty, false},
		{" [Pasted text #1 +59 lines] and more", sixty, false},
		{" [Pasted text #1 +59 lines][Pasted text #2 +59 lines]", sixty, false},
		{" [Pasted text #3]", strings.Repeat("word ", 300), true},
		{" [Pasted text #3]", sixty, false},
	} {
		if got := k.Shows(c.shown, c.text); got != c.want {
			t.Errorf("%q is said to show %q: %v", c.shown, begin(c.text), got)
		}
	}
}

func begin(s string) string { return s[:min(len(s), 30)] }

// A person's words are never taken for what Custos typed, whatever they are: what is shown
// beside it, before it or instead of it has other letters.
func TestAPersonsWordsAreNotCustos(t *testing.T) {
	k := composing(t, someSpecial)
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.StringMatching(`[a-z]{1,8}( [a-z]{1,8}){0,20}`).Draw(t, "typed")
		words := rapid.StringMatching(`[a-zA-Z0-9 \[\]#+]{0,12}[a-zA-Z0-9\]][a-zA-Z0-9 ]{0,12}`).Draw(t, "a person's words")
		at := rapid.IntRange(0, len(typed)).Draw(t, "where")
		shown := typed[:at] + words + typed[at:]
		if k.Shows(shown, typed) || k.Rest(shown, typed) {
			t.Errorf("%q is taken for what is left of %q", shown, typed)
		}
		if dense(words) != dense(typed) && k.Shows(words, typed) {
			t.Errorf("%q is taken for %q", words, typed)
		}
	})
}

// What was typed at codex 0.169.0, gemini 0.61.0, qwen 0.24.4, opencode 1.18.33 and pi 0.87.1 on the mock, and did not arrive as a
// prompt: a command ran, a name was completed, a line went on, a file was read. What is
// typed in its place arrived, but for the blanks around it.
func TestSpecialTextsOfKinds(t *testing.T) {
	for _, c := range []struct{ kind, text, typed string }{
		{"codex", "go on", "go on"},
		{"codex", "!echo x", " !echo x"},
		{"codex", "/status", " /status"},
		{"codex", "/nosuchcommand do it", " /nosuchcommand do it"},
		{"codex", "look at @READ", "look at @READ "},
		{"codex", "cost in $", "cost in $ "},
		{"codex", "use $skill", "use $skill "},
		{"codex", "the home is $HOME now", "the home is $HOME now"},
		{"codex", "/", " /"},
		{"codex", "/1", " /1"},
		{"codex", "what is /", "what is /"},
		{"codex", "@README.md look", "@README.md look"},
		{"codex", "# a heading", "# a heading"},
		{"codex", "- an item", "- an item"},
		{"codex", `ends in \`, `ends in \`},
		{"qwen", "!echo x", "!echo x"},
		{"qwen", " /help me out", ":  /help me out"},
		{"qwen", "look at /tmp", "look at /tmp "},
		{"qwen", "a line\n/mod", "a line\n/mod "},
		{"qwen", "/", ": / "},
		{"qwen", "/clear", ": /clear "},
		{"qwen", "look at /tmp and on", "look at /tmp and on"},
		{"qwen", "read src/main.go", "read src/main.go"},
		{"qwen", "exit", ": exit"},
		{"qwen", "how to exit", "how to exit"},
		{"qwen", "look at @README.md", "look at @README.md "},
		{"qwen", `ends in \`, `ends in \ `},
		{"opencode", "!echo x", "!echo x"},
		{"opencode", "/etc/passwd is a file", ": /etc/passwd is a file"},
		{"opencode", "/", ": /"},
		{"opencode", "/1", ": /1"},
		{"opencode", "exit", ": exit"},
		{"opencode", "look at @README.md", "look at @README.md "},
		{"opencode", `ends in \`, `ends in \`},
		{"pi", "!echo x", ": !echo x"},
		{"pi", "/model x", ": /model x"},
		{"pi", "exit", "exit"},
		{"pi", "look at @README.md", "look at @README.md"},
		{"pi", `ends in \`, `ends in \ `},
		{"pi", "# a heading", "# a heading"},
		{"gemini", "!echo x", "!echo x"},
		{"gemini", "/help", ": /help"},
		{"gemini", " /clear please", ":  /clear please"},
		{"gemini", "/help\nsecond", ": /help\nsecond"},
		{"gemini", "/etc/passwd", ": /etc/passwd"},
		{"gemini", "look at @READ", "look at @READ "},
		{"gemini", `ends in \`, `ends in \ `},
		{"gemini", "# a heading", "# a heading"},
		{"gemini", "- an item", "- an item"},
	} {
		if typed, _, err := kindOf(t, c.kind).AsPrompt(c.text); typed != c.typed || err != nil {
			t.Errorf("%s: %q is typed as %q (%v), want %q", c.kind, c.text, typed, err, c.typed)
		}
	}
}

// What their prompts showed in place of a paste, and in the mode of a shell command.
func TestPastesOfKinds(t *testing.T) {
	for _, c := range []struct {
		kind, pane, text string
		shows            bool
	}{
		{"codex", "codex-61-pasted", strings.Repeat("a line of words\n", 301), true},
		{"codex", "codex-60-shell-mode", "ls", true},
		{"qwen", "qwen-0.24.4-60-pasted", strings.Repeat("a line\n", 60), true},
		{"opencode", "opencode-60-pasted-1.18.33", strings.Repeat("a line\n", 60), true},
		{"opencode", "opencode-60-pasted-1.18.33", strings.Repeat("a line\n", 50), false},
		{"pi", "pi-0.87.1-60-pasted", strings.Repeat("a line\n", 61), true}, // it counts the end of the last line, too
		{"pi", "pi-0.87.1-60-pasted", strings.Repeat("a line\n", 70), false},
		{"gemini", "gemini-60-pasted", strings.Repeat("a line\n", 60), true},
		{"gemini", "gemini-60-pasted", strings.Repeat("a line\n", 61), true}, // or one line more than it says
		{"gemini", "gemini-60-pasted", strings.Repeat("a line\n", 50), false},
	} {
		k := kindOf(t, c.kind)
		shown, ok := Composer(k, read(t, "testdata/panes/"+c.pane+".txt")).Get()
		if !ok || k.Shows(shown, c.text) != c.shows {
			t.Errorf("%s shows %q (seen: %v), taken for the text typed: %v", c.pane, shown, ok, !c.shows)
		}
	}
}

// Codex shows no more than the last 31 lines of what is typed, and what is longer than 1 000
// characters as a paste: a text of 60 short lines was not known again, stayed there, and held
// up every later one. Typed with blanks behind it, it arrived whole (0.169.0).
func TestManyLinesAreTypedAsAPaste(t *testing.T) {
	k := kindOf(t, "codex")
	many := strings.Repeat("a line\n", 60) + "look at @README"
	typed, why, err := k.AsPrompt(many)
	if err != nil || why == "" || len(typed) <= 1000 || strings.TrimRight(typed, " ") != many {
		t.Errorf("%d characters (%s, %v): %q", len(typed), why, err, strings.TrimSpace(typed[len(many):]))
	}
	if !k.Shows("[Pasted Content 1435 chars]", typed) {
		t.Error("what stands for the paste is not known as the text")
	}
	for _, few := range []string{"one", strings.Repeat("a line\n", 11) + "end"} {
		if typed, _, err := k.AsPrompt(few); typed != few || err != nil {
			t.Errorf("%q is typed as %q, %v", few, typed, err)
		}
	}
}

// TestAPromptThatWasPutBack: Qwen Code puts its prompt back when it is interrupted. Only what is
// its newest prompt to the letter is that; anything else is a person's.
func TestAPromptThatWasPutBack(t *testing.T) {
	at := func(minute int, text string) fleet.HookEvent {
		return fleet.HookEvent{Event: fleet.HookPrompt, At: fleet.Instant{Up: fleet.Duration(minute), Boot: "b"}, Text: conversation.PromptLine(text)}
	}
	stop := fleet.HookEvent{Event: fleet.HookStop, At: fleet.Instant{Up: 9, Boot: "b"}}
	for name, c := range map[string]struct {
		file string
		told []fleet.HookEvent
		want bool
	}{
		"its newest prompt":      {"qwen-0.24.4-28-prompt-back", []fleet.HookEvent{at(2, "think first"), at(1, "before"), stop}, true},
		"an older prompt":        {"qwen-0.24.4-28-prompt-back", []fleet.HookEvent{at(1, "think first"), at(2, "after")}, false},
		"a prompt with more":     {"qwen-0.24.4-28-prompt-back", []fleet.HookEvent{at(1, "think first of all")}, false},
		"a part of a prompt":     {"qwen-0.24.4-28-prompt-back", []fleet.HookEvent{at(1, "think")}, false},
		"no prompt is known":     {"qwen-0.24.4-28-prompt-back", []fleet.HookEvent{stop}, false},
		"a person's half a text": {"qwen-0.24.4-25-half-written", []fleet.HookEvent{at(1, "think first")}, false},
		"nothing":                {"qwen-0.24.4-11-turn-done", []fleet.HookEvent{at(1, "")}, false},
	} {
		k, screen, _ := paneOf(t, "testdata/panes/"+c.file+".meta")
		shown, known := Composer(k, screen).Get()
		if got := IsNewestPrompt(shown, c.told); !known || got != c.want {
			t.Errorf("%s: %q (known %v) is it: %v, want %v", name, shown, known, got, c.want)
		}
	}
}

// A command that is typed stays readable below the menu that it opens (claude-40-exited-slash-exit,
// claude-2.1.330-71-menu-command): what cannot be read, Custos neither sends nor takes back.
func TestACommandAboveItsMenuIsRead(t *testing.T) {
	k := kindOf(t, "claude")
	rule := strings.Repeat("─", 80)
	below := "\n/compact                      Free up context by summarizing\n                              the conversation\n/workflows                    Browse workflows"
	for screen, want := range map[string]string{
		rule + "\n❯/compact\n" + rule + below:   "/compact",
		rule + "\n❯/co\n" + rule + "\n/compact": "/co",
		"  ❯ /compact                    Free up context\n    /copy    Copy\n" + rule + "\n❯ /comp\n" + rule + "\n  ⏸ manual mode on": "/comp",
	} {
		if got := strings.TrimSpace(Composer(k, screen).Or("unknown")); got != want {
			t.Errorf("%q is read in\n%s", got, screen)
		}
		if v := State(Signals{Kind: k, Screen: fleet.Known(screen)}); v.State != fleet.StateIdle {
			t.Errorf("%s (%s) by\n%s", v.State, v.Reason, screen)
		}
	}
	if got := Composer(k, rule+"\n❯ x\n"+rule+below+"\nanything else").Or("unknown"); got != "unknown" {
		t.Errorf("%q is read where no menu is", got)
	}
}

// Gemini CLI opens its menu between its prompt and its last two lines (0.61.0, 2026-11-28).
func TestACommandOfGeminiAboveItsMenuIsRead(t *testing.T) {
	k := kindOf(t, "gemini")
	above := "✦ MOCK answers: done.\n\n\n\n" + strings.Repeat("─", 80) + "\n Shift+Tab to accept edits\n" + strings.Repeat("▄", 80) + "\n"
	frame, foot := "\n"+strings.Repeat("▀", 80)+"\n", " workspace (/directory)      branch      sandbox\n ~/project                   main        no sandbox"
	for screen, want := range map[string]string{
		above + " > /comp" + frame + " compress   Compresses the context by replacing it with a summary\n" + foot: "/comp",
		above + " > look at @READ" + frame + " README.md\n READINGS/\n ▼\n (1/9)\n" + foot:                        "look at @READ",
		above + " > please say\n   two lines" + frame + foot:                                                      "please say\n   two lines",
	} {
		if got := strings.TrimSpace(Composer(k, screen).Or("unknown")); got != want {
			t.Errorf("%q is read, want %q, in\n%s", got, want, screen)
		}
		if v := State(Signals{Kind: k, Screen: fleet.Known(screen)}); v.State != fleet.StateIdle {
			t.Errorf("%s (%s) by\n%s", v.State, v.Reason, screen)
		}
	}
	if got := Composer(k, above+" > x"+frame+foot+"\nanything else").Or("unknown"); got != "unknown" {
		t.Errorf("%q is read where something else stands below", got)
	}
}

// What was read of a screen counts while it stands: another text, and another kind, are read anew.
func TestASeenScreenIsReadAnewWhenItChanges(t *testing.T) {
	claude, generic := kindOf(t, "claude"), kindOf(t, "codex")
	state := func(k Kind, seen Seen, text string) fleet.AgentState {
		return State(Signals{Kind: k, Screen: fleet.Known(text), Seen: seen}).State
	}
	idle := Seen{}.Again(claude, claudePrompt)
	if is := idle.Again(claude, claudePrompt); is.Composer != idle.Composer || state(claude, idle, claudePrompt) != fleet.StateIdle {
		t.Errorf("the same screen: %+v", is)
	}
	if is := state(claude, idle, claudeAsks); is != fleet.StateWaiting {
		t.Errorf("a dialog after a prompt is read as %s", is)
	}
	if is := idle.Again(claude, claudeAsks).Composer; is.IsKnown() {
		t.Errorf("a dialog has a prompt: %v", is)
	}
	if is, want := idle.Again(generic, claudePrompt).Composer, Composer(generic, claudePrompt); is != want {
		t.Errorf("for another kind: %v, want %v", is, want)
	}
}
