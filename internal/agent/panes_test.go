package agent

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"custos/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the expected readings; then look at the difference")

var meta = regexp.MustCompile(`(?s)^title=(.*?) *cmd=(\S*) dead=(\d) status=(\d*) sig=(\w*) `)

// TestPanes reads every real screen that was recorded, with its title, as State
// would see it when nothing else is known. testdata/panes.txt is the table.
func TestPanes(t *testing.T) {
	want := table(t, "testdata/panes.txt")
	files, _ := filepath.Glob("testdata/panes/*.meta")
	if len(files) < 99 {
		t.Fatalf("only %d recorded panes", len(files))
	}
	var got strings.Builder
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".meta")
		v := readPane(t, f)
		line := fmt.Sprintf("%s | %s | %s | %s", name, v.State, v.Source, v.Reason)
		fmt.Fprintln(&got, line)
		if !*update && want[name] != line {
			t.Errorf("got  %s\nwant %s", line, want[name])
		}
	}
	if *update {
		if err := os.WriteFile("testdata/panes.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func table(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]string{}
	for sc := bufio.NewScanner(f); err == nil && sc.Scan(); {
		name, _, _ := strings.Cut(sc.Text(), " | ")
		rows[name] = sc.Text()
	}
	return rows
}

func readPane(t *testing.T, file string) Verdict {
	t.Helper()
	m := meta.FindStringSubmatch(read(t, file))
	if m == nil {
		t.Fatalf("%s is not understood", file)
	}
	name, _, _ := strings.Cut(filepath.Base(file), "-")
	if other, ok := map[string]string{"claudeo": "claude", "codexnd": "codex", "opencode2": "opencode"}[name]; ok {
		name = other // other runs of the same program
	}
	kind := kindOf(t, name)
	s := Signals{Kind: kind, Title: fleet.Known(m[1]), Screen: fleet.Known(read(t, strings.TrimSuffix(file, "meta")+"txt"))}
	if m[3] == "1" {
		s.End = &End{PaneDead: true, Status: leaf(m[4]), Signal: leaf(m[5])}
	}
	return State(s)
}

func leaf(s string) fleet.Leaf[int] {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fleet.Unknown[int]("tmux does not tell")
	}
	return fleet.Known(n)
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func kindOf(t testing.TB, name string) Kind {
	t.Helper()
	kinds, err := Parse()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := kinds.Get(name)
	if !ok {
		t.Fatalf("no kind %q", name)
	}
	return k
}
