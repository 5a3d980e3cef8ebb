package agent

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// barLines is how high a scroll bar is at least: fewer blocks above each other are a drawing.
const barLines = 3

// unbarred takes a scroll bar away, in place: a column of blocks and lines at the right edge
// of what scrolls, which Qwen Code draws for a second after its text has moved (seen with
// 0.24.4). Left there it would be a part of what a dialog asks, and the dialog another one
// a second later.
func unbarred(lines []string) []string {
	edge := 0
	for _, line := range lines {
		if strings.HasSuffix(line, "█") {
			edge = max(edge, ansi.StringWidthWc(line))
		}
	}
	for from, to := 0, 0; edge > 0 && from < len(lines); from = to + 1 {
		for to = from; to < len(lines) && isBarred(lines[to], edge); to++ {
		}
		if to-from >= barLines {
			unbar(lines[from:to])
		}
	}
	return lines
}

// isBarred says whether a line ends at the edge with a piece of a bar. Terminals do not agree
// on the width of a few signs: one cell more or less is the same edge.
func isBarred(line string, edge int) bool {
	if !strings.HasSuffix(line, "█") && !strings.HasSuffix(line, "│") {
		return false
	}
	off := ansi.StringWidthWc(line) - edge
	return -1 <= off && off <= 1
}

func unbar(lines []string) {
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(line, "█"), "│"), " \t")
	}
}
