package agent

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"custos/internal/fleet"
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

// What a kind says it was proven on is what the table of lives says, and nothing else.
func TestProvenIsWhatWasLived(t *testing.T) {
	taught := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z]+)@(\S+) \|.*\| yes \| \S+ \|$`).FindAllStringSubmatch(read(t, "../../docs/conformance.md"), -1) {
		taught[row[1]] = append(taught[row[1]], row[2])
	}
	if len(taught) == 0 {
		t.Error("docs/conformance.md calls no kind taught")
	}
	for _, k := range kinds(t).All() {
		if !slices.Equal(k.Proven, taught[k.Name]) {
			t.Errorf("%s says it was proven on %v, and the table of lives calls %v taught", k.Name, k.Proven, taught[k.Name])
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

// The same examples, without kind.mine before their keys, are a file kinds/mine.toml: a new kind
// is that file alone, hooks included.
func TestTheExamplesOfTheDocsAreAKindFile(t *testing.T) {
	var text strings.Builder
	for i, piece := range strings.Split(read(t, "../../docs/adding-a-kind.md"), "```") {
		if toml, ok := strings.CutPrefix(piece, "toml\n"); ok && i%2 == 1 {
			text.WriteString(strings.NewReplacer("[kind.mine]\n", "", "kind.mine.", "").Replace(toml))
		}
	}
	set, aside, err := ParseWith([]Source{{"/home/me/.config/custos/kinds/mine.toml", []byte(text.String())}})
	if err != nil || len(aside) > 0 {
		t.Fatal(err, aside)
	}
	runs := Detect(set, []fleet.Process{{ID: fleet.ProcessID{PID: 7, Start: 1}, PPID: 1, Name: "mine", Exe: fleet.Known("/usr/bin/mine"), Args: []string{"mine"}}})
	if len(runs) != 1 || runs[0].Kind != "mine" || runs[0].OneShot {
		t.Errorf("its process is %+v", runs)
	}
	k, _ := set.Get("mine")
	if d, ok := ReadDialog(k, "May I go? [y/n]", ""); !ok || len(d.Choices) != 2 {
		t.Errorf("its dialog is %+v", d)
	}
	if empty, known := ComposerEmpty(k, "> ").Get(); !known || !empty {
		t.Errorf("its prompt line is %v, known %v", empty, known)
	}
	_, env, files, err := set.LaunchHooks("mine", "/x/custos-hook", "/run", "")
	if settings := string(files["/run/hooks/mine.json"]); err != nil || len(env) != 1 || !strings.Contains(settings, "/x/custos-hook mine UserPromptSubmit") {
		t.Errorf("its hooks are %v, %s, %v", env, settings, err)
	}
	e, err := set.ParseHook("mine", "UserPromptSubmit", []byte(`{"session_id":"s","prompt":"go"}`))
	if err != nil || e.Event != fleet.HookPrompt {
		t.Errorf("a prompt is told as %+v, %v", e, err)
	}
}
