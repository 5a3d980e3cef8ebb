package source

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReplay reads commands that others have written, of the file that CUSTOS_REPLAY names (KIND and
// COMMAND, a tab between them, ␤ a new line), and prints what the policy default says of each that it does
// not let pass: whoever runs it reads whether that is wrong. Nothing is run. Without the file it is skipped.
func TestReplay(t *testing.T) {
	file := os.Getenv("CUSTOS_REPLAY")
	if file == "" {
		t.Skip("CUSTOS_REPLAY names no file of commands")
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, lines := builtIn(t)["default"], bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	all, held := 0, map[string][]string{}
	for lines.Scan() {
		kind, command, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			t.Fatalf("%s:%d: want KIND and COMMAND", file, all+1)
		}
		all++
		if d := p.Decide(shell(strings.NewReplacer("␤", "\n", "␍", "\r", "␀", "\x00").Replace(command))); d.Verdict != "" {
			key := string(d.Verdict) + " " + d.Rule
			held[key] = append(held[key], fmt.Sprintf("%s: %s: %.300s", kind, d.Deed, command))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d commands\n", all)
	for _, key := range slices.SortedFunc(maps.Keys(held), func(a, b string) int { return cmp.Compare(len(held[b]), len(held[a])) }) {
		fmt.Printf("%d %s\n\t%s\n", len(held[key]), key, strings.Join(held[key], "\n\t"))
	}
}
