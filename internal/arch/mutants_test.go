package arch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is one change that a test must notice.
type mutant struct {
	line           int // of testdata/mutants.txt
	file, from, to string
	test           []string // arguments of go test
}

// TestMutants changes one place after the other, each in an overlay, so that no file of
// the tree is touched, and wants a test to be red for it. make mutate runs it; where the
// text of a place is there no more, or there twice, it says so in any case.
func TestMutants(t *testing.T) {
	list := readMutants(t)
	if len(list) < 60 {
		t.Errorf("only %d mutants", len(list))
	}
	for _, m := range list {
		text, err := os.ReadFile("../../" + m.file)
		if err != nil {
			t.Errorf("mutants.txt:%d: %v", m.line, err)
			continue
		}
		if n := strings.Count(string(text), m.from); n != 1 {
			t.Errorf("mutants.txt:%d: %q is %d times in %s", m.line, m.from, n, m.file)
			continue
		}
		if os.Getenv("CUSTOS_MUTATE") != "" {
			t.Run(fmt.Sprintf("%d %s", m.line, filepath.Base(m.file)), func(t *testing.T) { m.mustDie(t, string(text)) })
		}
	}
}

// mustDie runs the tests of a mutant; that it does not compile is no death.
func (m mutant) mustDie(t *testing.T, text string) {
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(text, m.from, m.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs("../../" + m.file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", append([]string{"test", "-failfast", "-overlay", list}, m.test...)...)
	run.Dir = "../.."
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("it lives: %s: %s → %s", m.file, m.from, m.to)
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		t.Errorf("it is no program: %s", out)
	}
}

// readMutants reads testdata/mutants.txt: four lines each, and an empty one.
func readMutants(t *testing.T) (list []mutant) {
	t.Helper()
	text, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := 1
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		rows := strings.Split(block, "\n")
		if len(rows) != 4 {
			t.Fatalf("mutants.txt:%d: %d lines, want file, from, to and test", line, len(rows))
		}
		m := mutant{line: line}
		for i, key := range []string{"file ", "from ", "to   ", "test "} {
			rest, ok := strings.CutPrefix(rows[i]+" ", key)
			if !ok {
				t.Fatalf("mutants.txt:%d: %q, want %q first", line+i, rows[i], key)
			}
			rest = rest[:len(rest)-1]
			switch i {
			case 0:
				m.file = rest
			case 1:
				m.from = rest
			case 2:
				m.to = rest
			case 3:
				m.test = strings.Fields(rest)
			}
		}
		list, line = append(list, m), line+len(rows)+1
	}
	return list
}
