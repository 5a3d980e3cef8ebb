package agent

import (
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// screenLines is how many lines from the bottom are read, empty ones not
// counted: the longest dialog seen takes 16.
const screenLines = 30

// paneDead is what tmux itself writes below the screen of a dead pane.
var paneDead = regexp.MustCompile(`^Pane is dead(?: \((?:status (\d+)|signal (\w+))[^)]*\))?$`)

// ReadScreen says what the text of a pane and its title mean for an agent of
// this kind, for people who ask why. The signals are hints: any program can
// print any text.
func ReadScreen(k Kind, text, title string) []fleet.Signal {
	var signals []fleet.Signal
	if m, ok := k.readTitle(title); ok {
		signals = append(signals, fleet.Signal{Source: SourceTitle, Says: m.Says, Hint: fleet.AgentState(m.State)})
	}
	lines := plainLines(text)
	if n := len(lines); n > 0 && paneDead.MatchString(lines[n-1]) {
		return append(signals, fleet.Signal{Source: SourceScreen, Says: "tmux says: " + lines[n-1]})
	}
	if m, ok := k.readScreen(text); ok {
		signals = append(signals, fleet.Signal{Source: SourceScreen, Says: m.Says, Hint: fleet.AgentState(m.State)})
	}
	return signals
}

// readTitle returns the mark that a title matches, or else what silence means.
func (k Kind) readTitle(title string) (TitleMark, bool) {
	title = strings.TrimSpace(fleet.Text(title))
	if title == "" {
		return TitleMark{}, false
	}
	for _, m := range k.Title {
		if m.Match.match(title) {
			return m, true
		}
	}
	if k.SilentTitle != "" {
		return TitleMark{State: k.SilentTitle, Says: "its title has no mark", Ambiguous: true}, true
	}
	return TitleMark{}, false
}

// Seen is what a screen says to a kind. One that stands is read once, however often its agent is judged.
type Seen struct {
	kind, text string
	mark       ScreenMark
	marked     bool

	// Composer is what Composer returns of it.
	Composer fleet.Leaf[string]
}

// Again is what a screen says now: s, where it is the same as was read for s.
func (s Seen) Again(k Kind, text string) Seen {
	if s.kind == k.Name && s.text == text {
		return s
	}
	s = Seen{kind: k.Name, text: text, Composer: Composer(k, text)}
	s.mark, s.marked = k.readScreen(text)
	return s
}

// readScreen returns the first mark that ends the screen. A mark is tried at the
// beginning of each line, where nearly all fail at once: twelve times
// cheaper than to have the expression search.
func (k Kind) readScreen(text string) (ScreenMark, bool) {
	ends := ends(text)
	for i, re := range k.screen {
		if slices.ContainsFunc(ends, re.MatchString) {
			return k.Screen[i], true
		}
	}
	return ScreenMark{}, false
}

// ends returns the ends of a screen, the longest first.
func ends(text string) []string {
	lines := plainLines(text)
	ends := make([]string, len(lines))
	end := strings.Join(lines, "\n")
	for i, at := len(lines)-1, len(end); i >= 0; i-- {
		at -= len(lines[i])
		ends[i] = end[at:]
		at--
	}
	return ends
}

// plainLines returns the last lines that are not empty, without the space at
// their ends and without a scroll bar.
func plainLines(text string) []string {
	var lines []string
	for line := range strings.Lines(fleet.Text(text)) {
		lines = append(lines, strings.TrimRight(line, " \t\n"))
	}
	lines = slices.DeleteFunc(unbarred(lines), func(line string) bool { return line == "" })
	return lines[max(0, len(lines)-screenLines):]
}
