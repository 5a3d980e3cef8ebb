package triage

import (
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

var (
	private = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`)
	// half is the rest of a key whose beginning has scrolled away, line by line.
	half = regexp.MustCompile(`(?m)^[\t │|]*[A-Za-z0-9+/]{60,}={0,2}[\t │|]*$`)
	// stump is a key that a line ends in before it is long enough to be known as one.
	stump = regexp.MustCompile(`(?m)\b(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|AIza|eyJ)[A-Za-z0-9._-]{2,}…?([\t │|]*)$`)
)

// hide takes out what looks like a secret: what goes to a judge leaves the
// machine. It is more than what is hidden from people who are on it.
func hide(s string) string {
	s = private.ReplaceAllString(s, "*** (a private key)")
	return fleet.Redact(stump.ReplaceAllString(half.ReplaceAllString(s, "***"), "***$1"))
}

// margin is how far from the edge of a terminal a program may break its lines.
const margin = 8

// hideWrapped hides a secret that the edge of a terminal has broken: what is one
// only when two lines are read as one goes from both. The widest line tells where
// the edge is.
func hideWrapped(lines []string) []string {
	edge := 0
	for _, l := range lines {
		edge = max(edge, len([]rune(l)))
	}
	out, masked := slices.Clone(lines), false
	for i := 1; i < len(lines); i++ {
		above, here := strings.TrimSpace(lines[i-1]), strings.TrimSpace(lines[i])
		onward := masked && !strings.ContainsAny(above, " \t") // the line above was nothing else
		full := len([]rune(lines[i-1])) >= edge-margin
		masked = full && here != "" && (onward || hide(above+here) != hide(above)+hide(here))
		if masked {
			out[i-1], out[i] = withoutLast(out[i-1]), withoutFirst(lines[i])
		}
	}
	return out
}

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
