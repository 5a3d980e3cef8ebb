package fleet

import (
	"slices"
	"strings"
)

// margin is how far from the edge of a terminal a program may break its lines.
const margin = 8

// RedactWrapped hides secrets that the edge of a terminal has broken: what hide knows
// for one only when two lines are read as one goes from both. The widest line shows
// where the edge is.
func RedactWrapped(lines []string, hide func(string) string) []string {
	edge := 0
	for _, l := range lines {
		edge = max(edge, len([]rune(l)))
	}
	out, masked := slices.Clone(lines), false
	for i := 1; i < len(lines); i++ {
		above, here := strings.TrimSpace(lines[i-1]), strings.TrimSpace(lines[i])
		onward := masked && !strings.ContainsAny(above, " \t") // the line above was nothing else
		full := len([]rune(lines[i-1])) >= edge-margin && !ofKey(above) && !ofKey(here)
		masked = full && here != "" && (onward || hide(above+here) != hide(above)+hide(here))
		if masked {
			out[i-1], out[i] = withoutLast(out[i-1]), withoutFirst(lines[i])
		}
	}
	return out
}

// ofKey says whether a line begins or ends a private key: what shows where that is stays.
func ofKey(line string) bool { return strings.Contains(line, "PRIVATE KEY") }

func withoutLast(l string) string {
	l = strings.TrimRight(l, " \t")
	return l[:strings.LastIndexAny(l, " \t=:")+1] + "***"
}

func withoutFirst(l string) string {
	rest := strings.TrimLeft(l, " \t")
	i := strings.IndexAny(rest, " \t")
	if i < 0 {
		return "***"
	}
	return "***" + rest[i:]
}
