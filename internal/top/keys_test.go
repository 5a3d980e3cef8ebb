package top

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/top.md has every key, and says of it what the help does.
func TestPage(t *testing.T) {
	const file = "../../docs/top.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table := "| key | what it does |\n|---|---|\n"
	for _, b := range bindings() {
		if b.does != "" {
			table += fmt.Sprintf("| `%s` | %s |\n", b.shown, b.does)
		}
	}
	there := regexp.MustCompile(`\| key \| what it does \|\n\|---\|---\|\n(\|.*\n)*`)
	if *update {
		page = there.ReplaceAllLiteral(page, []byte(table))
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(page), table) {
		t.Errorf("docs/top.md has not these keys (go test ./internal/top -run TestPage -update):\n%s", table)
	}
}

// No key stands for two things.
func TestKeysAreOne(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bindings() {
		for _, k := range b.keys {
			if seen[k] {
				t.Errorf("%q is bound twice", k)
			}
			seen[k] = true
		}
	}
}

// The screen of docs/top.md is the one that the tests have drawn.
func TestPageShowsTheScreen(t *testing.T) {
	page, err := os.ReadFile("../../docs/top.md")
	if err != nil {
		t.Fatal(err)
	}
	screen, err := os.ReadFile("testdata/home-80x24.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(screen), "\n")[:11] {
		if line = strings.TrimRight(line, " "); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/top.md has not %q", line)
		}
	}
}
