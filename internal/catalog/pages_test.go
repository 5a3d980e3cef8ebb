package catalog

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the pages of docs/ list")

// listed holds a list on a page, which stands between two texts, against what it is to be.
func listed(t *testing.T, page, after, before, want string) {
	t.Helper()
	file := "../../docs/" + page
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), after)
	got, tail, ends := strings.Cut(rest, before)
	if !ok || !ends {
		t.Fatalf("%s has no place between %q and %q", page, after, before)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("docs/%s lists\n%s\nwant (go test ./internal/catalog -run TestPages -update)\n%s", page, got, want)
		return
	}
	if err := os.WriteFile(file, []byte(head+after+want+before+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// quotedNames is "a", "b" or "c", as code.
func quotedNames(names []string) string {
	for i, n := range names {
		names[i] = "`\"" + n + "\"`"
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func TestPagesListNotifiers(t *testing.T) {
	var rows strings.Builder
	for _, k := range notifierMakers() {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", k.Name, k.What, k.Note)
	}
	listed(t, "notifications.md", "| terminal | the terminal of `custos up` | always there, at once, once |\n", "\nTokens come from", rows.String())
	listed(t, "config.md", "| `type` | ", " ([what each is](notifications.md#receivers)", quotedNames(notifierTypes(notifierMakers())))
}

func TestPagesListForges(t *testing.T) {
	var names, titles []string
	for _, k := range forgeMakers() {
		names, titles = append(names, k.Name), append(titles, k.Title)
	}
	listed(t, "forges.md", "Custos watches projects on ", ": their issues", strings.Join(titles[:len(titles)-1], ", ")+" and "+titles[len(titles)-1])
	listed(t, "config.md", "(forges.md)\nsays what is asked, and how.\n\n| key | what | default |\n|---|---|---|\n| `kind` | ", " |", quotedNames(names))
}

func TestPagesListCISystems(t *testing.T) {
	var names []string
	var rows strings.Builder
	for _, k := range ciMakers() {
		names = append(names, k.Name)
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", k.Name, k.Tried, k.Can, k.Needs)
	}
	listed(t, "ci.md", "| kind | tried against | what it can | token needs |\n|---|---|---|---|\n", "\nNo server of these", rows.String())
	listed(t, "config.md", "(ci.md) says what is asked, and how.\n\n| key | what | default |\n|---|---|---|\n| `kind` | ", " |", quotedNames(names))
}

// Each key of a notifier has its row, and means the same to every kind that has it.
func TestKeysOfNotifiers(t *testing.T) {
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "### `[notifier.NAME]`")
	table, _, _ = strings.Cut(table, "\n### ")
	first := map[string]reflect.StructField{}
	for _, k := range notifierMakers() {
		for _, f := range keysOf(k) {
			key := f.Tag.Get("toml")
			if !strings.Contains(table, "\n| `"+key+"` |") {
				t.Errorf("docs/config.md has no row for %s of a notifier of type %s", key, k.Name)
			}
			if was, known := first[key]; known && (was.Type != f.Type || was.Tag != f.Tag) {
				t.Errorf("%s of a notifier of type %s is %s `%s`, and of another %s `%s`", key, k.Name, f.Type, f.Tag, was.Type, was.Tag)
			}
			first[key] = f
		}
	}
	if len(first) < 13 {
		t.Errorf("only %d keys", len(first))
	}
}

// A key that does nothing is refused, with the types that it is for.
func TestAKeyOfAnotherNotifierIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"type = \"desktop\"\nchat = \"1\"":                              `custos.toml:3: [notifier.a] chat: a notifier of type "desktop" has none: it is for telegram only`,
		"type = \"ping\"\ntoken_env = \"A\"\nsound = \"P1\"":            `custos.toml:4: [notifier.a] sound: a notifier of type "ping" has none: it is for matrix and telegram only`,
		"type = \"command\"\nrun = [\"x\"]\nroom = \"!a:b\"":            `room: a notifier of type "command" has none`,
		"type = \"desktop\"\nreplies_from = []":                         "",
		"type = \"command\"\nrun = [\"x\"]\ntopic = 0\nchat = \"\"":     "",
		"type = \"shoutrrr\"\ntoken_env = \"A\"\npass_env = [\"HOME\"]": `pass_env: a notifier of type "shoutrrr" has none`,
	} {
		_, err := people(t, "[notifier.a]\n"+text+"\n", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
