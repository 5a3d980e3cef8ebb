package arch

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The ways that docs/architecture.md describes are there: each `file.go` followed by a
// `function` has that function.
func TestThePlacesOfThePageAreThere(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ways, ok := strings.Cut(string(page), "\n## Where to find it\n")
	if !ok {
		t.Fatal("the page has no ways")
	}
	ways, _, _ = strings.Cut(ways, "\n## ")
	steps := regexp.MustCompile("`(internal/[a-z_/]+\\.[a-z]+)`(?: `([A-Za-z]+)`)?").FindAllStringSubmatch(ways, -1)
	if len(steps) < 10 {
		t.Fatalf("only %d steps are named", len(steps))
	}
	for _, s := range steps {
		text, err := os.ReadFile("../../" + s[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if s[2] != "" && !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+s[2]+`\b`).Match(text) {
			t.Errorf("%s has no function %s", s[1], s[2])
		}
	}
}
