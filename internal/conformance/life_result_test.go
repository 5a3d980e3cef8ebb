//go:build conformance

package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The table of docs/conformance.md stands between these lines.
const (
	tableBegins = "<!-- lives: written by scripts/conformance --write -->"
	tableEnds   = "<!-- end of lives -->"
)

// writeResult puts the row of one CLI into the table, in place of that of the same version.
func writeResult(t *testing.T, c cli, m marks, arrived, prompts int) {
	t.Helper()
	file := os.Getenv(writeVar)
	if file == "" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), tableBegins+"\n")
	table, tail, closed := strings.Cut(rest, tableEnds)
	if !found || !closed {
		t.Fatalf("%s has no place for the table: want the lines %s and %s", file, tableBegins, tableEnds)
	}
	taught := "no"
	if m.share() >= taughtFrom && !t.Failed() { // a life of which a part was not lived proves nothing
		taught = "yes"
	}
	row := fmt.Sprintf("| %s | %d of %d | %.1f %% | %.1f s | %.1f s | %d of %d | %s | %s |", c, m.right, m.all, m.share(), m.lag(50).Seconds(), m.lag(90).Seconds(),
		arrived, prompts, taught, time.Now().UTC().Format("2006-01-02"))
	lines := strings.Split(strings.TrimSpace(table), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "| "+c.String()+" |") })
	lines = append(lines, row)
	slices.Sort(lines[2:])
	if err := os.WriteFile(file, []byte(head+tableBegins+"\n"+strings.Join(lines, "\n")+"\n"+tableEnds+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
