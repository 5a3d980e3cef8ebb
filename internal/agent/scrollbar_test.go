package agent

import (
	"strings"
	"testing"
)

// TestTheDialogIsTheSameBesideAScrollBar: wherever its thumb stands.
func TestTheDialogIsTheSameBesideAScrollBar(t *testing.T) {
	k := kindOf(t, "qwen")
	bare, ok := ReadDialog(k, read(t, "testdata/panes/qwen-0.24.4-23-permission-prompt.txt"), "")
	barred := read(t, "testdata/panes/qwen-0.24.4-29-scroll-bar.txt")
	if !ok || !strings.Contains(barred, "Yes, allow once  ") {
		t.Fatal("no dialog, or no bar beside one")
	}
	lines := strings.Split(barred, "\n")
	for thumb := range lines {
		moved := make([]string, len(lines))
		for i, line := range lines {
			moved[i] = line
			if i != thumb && strings.HasSuffix(line, "█") {
				moved[i] = strings.TrimSuffix(line, "█") + "│"
			}
		}
		if !strings.HasSuffix(lines[thumb], "█") {
			continue
		}
		if d, ok := ReadDialog(k, strings.Join(moved, "\n"), ""); !ok || d.Hash != bare.Hash {
			t.Errorf("with a thumb in line %d: dialog %v, hash %s; want %s", thumb+1, ok, d.Hash, bare.Hash)
		}
	}
}

// TestBlocksAreNoScrollBar: two above each other, and those that stand apart.
func TestBlocksAreNoScrollBar(t *testing.T) {
	for _, text := range []string{"a █\nb █", "a  █\nb █\nc    █\nd", "│ a │\n│ b │\n│ c │"} {
		if got := strings.Join(unbarred(strings.Split(text, "\n")), "\n"); got != text {
			t.Errorf("of %q is left %q", text, got)
		}
	}
}
