package terminal

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Redactor hides secrets in the pictures of one terminal, as fleet.Redact does in all of it.
// It remembers what it has found in the picture before: most lines stay as they are, and to
// redact all of them takes longer than all else that is done for a picture. The zero one is
// ready; it is for one caller at a time.
type Redactor struct{ last, now map[string]string }

// Hide returns a picture without its secrets.
func (r *Redactor) Hide(lines []Line) []Line {
	r.last, r.now = r.now, map[string]string{}
	return Hide(lines, r.texts)
}

func (r *Redactor) of(text string) string {
	safe, ok := r.last[text]
	if !ok {
		if safe, ok = r.now[text]; !ok {
			safe = fleet.Redact(text)
		}
	}
	r.now[text] = safe
	return safe
}

// texts hides what the edge of the terminal has broken, then what is found in a line, and
// where a secret may go over several lines what is found in all of them.
func (r *Redactor) texts(lines []string) []string {
	lines = fleet.RedactWrapped(lines, r.of)
	if r.crosses(lines) {
		return strings.Split(fleet.Redact(strings.Join(lines, "\n")), "\n")
	}
	for i, l := range lines {
		lines[i] = r.of(l)
	}
	return lines
}

// crosses says whether anything is a secret only by lines around it: a key, a text in quotes
// that goes on, a name whose value is below it.
func (r *Redactor) crosses(lines []string) bool {
	if fleet.MayHaveKey(lines) {
		return true
	}
	for i, l := range lines {
		if fleet.MayName(l) && (r.goesOn(l, `"`) || r.goesOn(l, `'`) || r.meets(lines[i:])) {
			return true
		}
	}
	return false
}

// meets says whether the first line is another one with those after it: a name, what stands
// between, and the value may have a line each, and empty ones between them.
func (r *Redactor) meets(lines []string) bool {
	full, n := 0, 0
	for n < len(lines) && full < 3 {
		if n++; strings.TrimSpace(lines[n-1]) != "" {
			full++
		}
	}
	alone := slices.Clone(lines[:n])
	for i := range alone {
		alone[i] = r.of(alone[i])
	}
	joined := strings.Join(lines[:n], "\n")
	return r.of(joined) != strings.Join(alone, "\n") || r.goesOn(joined, `"`) || r.goesOn(joined, `'`)
}

// goesOn says whether a secret begins in a text that would end with a quote in a later line.
func (r *Redactor) goesOn(text, quote string) bool {
	return strings.Contains(text, quote) && r.of(text+quote) != r.of(text)+quote
}
