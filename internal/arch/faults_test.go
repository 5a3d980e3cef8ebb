package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/faults.md names is in the tree.
func TestTheTestsOfTheFaultsAreThere(t *testing.T) {
	page, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	there, files := map[string]bool{}, map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[d.Name()] = true
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			for _, m := range function.FindAllStringSubmatch(string(text), -1) {
				there[m[1]] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z]\w+…?`).FindAllString(string(page), -1)
	if len(named) < 150 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if !there[name] && !strings.HasSuffix(name, "…") {
			t.Errorf("there is no %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z-]+\\.txtar)`").FindAllStringSubmatch(string(page), -1) {
		if !files[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
}
