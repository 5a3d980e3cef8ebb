package agents

import (
	"maps"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// lastLines is how many lines of what an agent printed last are quoted, and
// longestQuote how many runes of them.
const (
	lastLines    = 5
	longestQuote = 400
)

// quote adds to an agent that has ended what it printed last, for people and for
// its parent. It says nothing of a state: an agent prints what it likes.
func (l *look) quote(a *fleet.Agent, reg *fleet.Registration) {
	if a.Exit == nil || reg.Instance == "" || l.o.Said == nil {
		return
	}
	words, known := l.said[reg.Instance]
	if !known {
		words = lastWords(l.o.Said(reg.Instance))
		l.said[reg.Instance] = words
	}
	if words != "" {
		a.Signals = append(slices.Clone(a.Signals), fleet.Signal{Source: fleet.SourceOutput, Says: words, Age: fleet.Unknown[fleet.Duration]("not told")})
	}
}

// lastWords is the end of a text, on one line, without secrets.
func lastWords(text string) string {
	var lines []string
	for line := range strings.Lines(fleet.Redact(fleet.Text(text))) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	quote := []rune(strings.Join(lines[max(0, len(lines)-lastLines):], " / "))
	if len(quote) > longestQuote {
		quote = append([]rune("…"), quote[len(quote)-longestQuote+1:]...)
	}
	return string(quote)
}

// hush drops what was quoted of instances that are not the newest any more.
func (l *look) hush() {
	gone := func(instance string) bool {
		return !slices.ContainsFunc(l.regs, func(r fleet.Registration) bool { return r.Instance == instance })
	}
	maps.DeleteFunc(l.said, func(instance, _ string) bool { return gone(instance) })
	maps.DeleteFunc(l.streams, func(instance string, _ *stream) bool { return gone(instance) })
}
