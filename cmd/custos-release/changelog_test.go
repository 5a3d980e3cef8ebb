package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"custos/internal/hookwire"
	"custos/internal/recording"
)

// The newest section of the change log ends with the numbers that decide whether two versions
// understand each other: they are those of this tree.
func TestTheChangeLogTellsTheNumbersOfThisTree(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := heading.FindStringSubmatch(string(text))
	if newest == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	said, err := section(string(text), newest[1])
	if err != nil {
		t.Fatal(err)
	}
	steps, err := filepath.Glob("../../internal/store/migrations/*.sql")
	if err != nil || len(steps) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	for what, writes := range map[string]int{
		"schema of the ledger": len(steps), "protocol of hooks": hookwire.Version,
		"records of shims": recordVersion(t), "recordings": recording.Version,
	} {
		if row := fmt.Sprintf("| %s | %d | ", what, writes); !strings.Contains(said, row) {
			t.Errorf("the section of %s does not say %q", newest[1], row)
		}
	}
}

// recordVersion is that of a package main, which nobody imports.
func recordVersion(t *testing.T) (v int) {
	t.Helper()
	text, err := os.ReadFile("../custos-shim/record.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^const recordVersion = (\d+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the shim has no recordVersion")
	}
	_, _ = fmt.Sscan(string(found[1]), &v)
	return v
}
