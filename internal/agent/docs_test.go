package agent

import (
	"strings"
	"testing"
)

// The pages name every key and every kind there is.
func TestDocsAreComplete(t *testing.T) {
	page := read(t, "../../docs/adding-a-kind.md")
	for _, key := range keys() {
		if !strings.Contains(page, "`"+key) && !strings.Contains(page, "[[kind.mine."+key+"]]") && !strings.Contains(page, "[kind.mine."+key+"]") {
			t.Errorf("docs/adding-a-kind.md does not explain %q", key)
		}
	}
	states := read(t, "../../docs/states.md")
	for _, k := range kinds(t).All() {
		if !strings.Contains(states, k.Name) {
			t.Errorf("docs/states.md says nothing of %s", k.Name)
		}
	}
}

// The example of docs/adding-a-kind.md is good as it stands.
func TestExampleOfTheDocs(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../../docs/adding-a-kind.md"), "```toml\n")
	text, _, _ := strings.Cut(rest, "```")
	set, err := Parse(Source{"docs", []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	if k, ok := set.Get("mine"); !ok || !k.oneShot([]string{"-p"}) {
		t.Errorf("kind %+v", k)
	}
}

// Every example of the page is good, all of them together.
func TestAllExamplesOfTheDocs(t *testing.T) {
	var text strings.Builder
	for i, piece := range strings.Split(read(t, "../../docs/adding-a-kind.md"), "```") {
		if toml, ok := strings.CutPrefix(piece, "toml\n"); ok && i%2 == 1 {
			text.WriteString(toml)
		}
	}
	set, err := Parse(Source{"docs", []byte(text.String())})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := set.Get("mine")
	if d, ok := ReadDialog(k, "May I go? [y/n]", ""); !ok || d.Question != "May I go?" || len(d.Choices) != 2 {
		t.Errorf("dialog %+v", d)
	}
}
