package source

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/policy"
)

var row = regexp.MustCompile("(?m)^\\| `(.+)` \\| (deny|ask|warn|none) \\| (?:`([a-z-]+)` )?\\|$")

// What the page says of commands is so, its example is good, and it names all places and reasons.
func TestThePageIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	p := builtIn(t)["default"]
	rows := row.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 12 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		d := p.Decide(shell(r[1]))
		verdict := string(d.Verdict)
		if verdict == "" {
			verdict = "none"
		}
		if verdict != r[2] || d.Rule != r[3] {
			t.Errorf("%s is %s by %q, and the page says %s by %q", r[1], verdict, d.Rule, r[2], r[3])
		}
	}
	_, example, _ := strings.Cut(string(text), "```toml\n")
	example, _, _ = strings.Cut(example, "```")
	var file struct {
		Policy map[string]Section `toml:"policy"`
	}
	if err := toml.Unmarshal([]byte(example), &file); err != nil {
		t.Fatal(err)
	}
	all, wrong, err := Policies(file.Policy)
	if err != nil || len(wrong) > 0 || all["builder"].Decide(shell("cd x && npm publish")).Rule != "no-publish" {
		t.Errorf("the example: %v %v %+v", err, wrong, all["builder"])
	}
	for _, word := range append(policy.Classes(), policy.Reasons()...) {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("the page does not name %s", word)
		}
	}
}
