package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What the prompts of CLIs showed after an Enter that ended a completion, and beside an open list
// of them.
func TestCompletionsOfKinds(t *testing.T) {
	for _, c := range []struct {
		pane, text       string
		shows, completed bool
	}{
		{"qwen-0.24.4-72-completed-command", "/comp", false, true},
		{"qwen-0.24.4-75-completed-file", "look at @READ", false, true},
		{"qwen-0.24.4-75-completed-file", "look @READ", false, false},
		{"qwen-0.24.4-77-menu-all", "/", true, false},
		{"codex-74-menu-file", "look at @READ", true, false},
		{"codex-75-completed-file", "look at @READ", false, true}, // it takes the @ away
		{"codex-82-completed-skill", "use $sk", false, true},
		{"claude-2.1.330-71-menu-command", "/comp", true, false},
		{"opencode-71-menu-command", "/comp", true, false},
		{"opencode-72-completed-command", "/comp", false, true}, // to /review, in whose description the letters are
		{"opencode-75-completed-file", "look at @READ", false, true},
		{"opencode-77-menu-all", "/", true, false},
		{"pi-0.87.1-71-menu-command", "/comp", true, false},
	} {
		name, _, _ := strings.Cut(c.pane, "-")
		k := kindOf(t, name)
		shown, known := Composer(k, read(t, "testdata/panes/"+c.pane+".txt")).Get()
		if !known || k.Shows(shown, c.text) != c.shows || k.Completed(shown, c.text) != c.completed {
			t.Errorf("%s: %q (seen: %v) is %q: %v, completed: %v", c.pane, shown, known, c.text, !c.shows, !c.completed)
		}
	}
}

func TestCompleted(t *testing.T) {
	k := kindOf(t, "qwen")
	for _, c := range []struct {
		shown, text string
		want        bool
	}{
		{" look at @README.md ", "look at @READ", true},
		{" look at\n  @README.md", "look at @READ", true},
		{" look at @READ", "look at @READ", false},
		{" look at @README.md please", "look at @READ", false},
		{" please look at @README.md", "look at @READ", false},
		{" look at@README.md", "look at @READ", false},
		{" look at my words", "look at @READ", false},
		{" look at words", "look at @READ", false},
		{" words", "/comp", false},
		{" go on withx", "go on with", false}, // none completes that
		{" go on with", "go on with", false},
		{" look at", "look at @READ", false},
		{" /", "/", false},
		{" /model", "/", true},
		{"", "/comp", false},
		{" x", "", false},
	} {
		if got := k.Completed(c.shown, c.text); got != c.want {
			t.Errorf("%q is said to be a completion of %q: %v", c.shown, c.text, got)
		}
	}
}

// Words of a person that stand behind a completed text, or before it, make another text of it.
func TestAPersonsWordsAreNoCompletion(t *testing.T) {
	k := kindOf(t, "qwen")
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`([a-z]{1,8} ){0,5}`).Draw(t, "before")
		word := rapid.StringMatching(`[/@$][a-z]{0,6}`).Draw(t, "word")
		made := word + rapid.StringMatching(`[a-z.]{1,6}`).Draw(t, "made")
		words := rapid.StringMatching(`[a-zA-Z0-9]{1,8}( [a-z]{1,8}){0,3}`).Draw(t, "a person's words")
		if !k.Completed(before+made, before+word) {
			t.Errorf("%q is said to be no completion of %q", before+made, before+word)
		}
		for _, shown := range []string{before + made + " " + words, words + " " + before + made} {
			if k.Completed(shown, before+word) {
				t.Errorf("%q is taken for a completion of %q", shown, before+word)
			}
		}
	})
}
