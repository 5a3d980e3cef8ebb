package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"custos/internal/config"
)

// Files of kinds that are wrong are set aside, each with its reason; the others count.
func TestKindFilesOfTheConfiguration(t *testing.T) {
	kinds, aside, err := kindsOf(config.Config{File: "/c/custos.toml", Kinds: []config.KindFile{
		{Path: "/c/kinds/amp.toml", Text: []byte("interrupt = [\"C-g\"]\n[[screen]]\nstate = \"asleep\"\nsays = \"s\"\nends = \"e\"\n")},
		{Path: "/c/kinds/codex.toml", Text: []byte("\nnmes = [\"x\"]\n")},
		{Path: "/c/kinds/gemini.toml", Err: errors.New("cannot read /c/kinds/gemini.toml: others than you may write to it")},
		{Path: "/c/kinds/mine.toml", Text: []byte("names = [\"mine\"]\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if mine, ok := kinds.Get("mine"); !ok || !slices.Equal(mine.From, []string{"/c/kinds/mine.toml"}) {
		t.Errorf("mine: %v", mine.From)
	}
	if amp, _ := kinds.Get("amp"); slices.Contains(amp.Interrupt, "C-g") || len(amp.From) > 0 {
		t.Errorf("half of a wrong file was taken: %v", amp.Interrupt)
	}
	all := errors.Join(aside...).Error()
	for _, want := range []string{`/c/kinds/amp.toml:4: kind "amp": screen mark "s": state "asleep" cannot be told`, `/c/kinds/codex.toml:2: unknown key "nmes", did you mean "names"?`, "gemini.toml: others than you"} {
		if !strings.Contains(all, want) {
			t.Errorf("aside: %s\nwant %s", all, want)
		}
	}
}
