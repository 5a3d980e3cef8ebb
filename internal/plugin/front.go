package plugin

import (
	"fmt"
	"strings"
)

// The lines that front matter stands between.
const (
	markYAML = "---"
	markTOML = "+++"
)

// front is a file taken apart: what stands between the marks, and what follows.
type front struct {
	mark string
	text string // from the second line on
	body string
}

// split takes a file apart. The closing mark is a line of its own; in TOML, one
// that is no part of a string.
func split(text string) (front, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	mark := trimEnd(first)
	if mark != markYAML && mark != markTOML {
		return front{}, fmt.Errorf("it begins with no front matter: want a line %s (YAML) or %s (TOML)", markYAML, markTOML)
	}
	inside := quotes{}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		end := min(at+len(line)+1, len(rest))
		if inside.none() && trimEnd(line) == mark {
			return front{mark, rest[:at], rest[end:]}, nil
		}
		if mark == markTOML {
			inside.read(line)
		}
		at = end
	}
	if !inside.none() {
		return front{}, fmt.Errorf("its front matter has no end: a string of several lines (%s) is never closed", inside.open)
	}
	return front{}, fmt.Errorf("its front matter has no end: want a line %s after it", mark)
}

func trimEnd(line string) string { return strings.TrimRight(line, " \t\r") }

// quotes follows whether a line of TOML ends within a string of several lines.
type quotes struct{ open string }

func (q *quotes) none() bool { return q.open == "" }

// read reads one line.
func (q *quotes) read(line string) {
	for line != "" {
		if q.open != "" {
			line = q.inside(line)
			continue
		}
		i := strings.IndexAny(line, `"'#`)
		if i < 0 || line[i] == '#' {
			return
		}
		line = q.begin(line[i:])
	}
}

// begin reads on from a quote: one that opens a string of several lines, or a
// whole string of this one.
func (q *quotes) begin(line string) string {
	for _, open := range []string{`"""`, `'''`} {
		if rest, ok := strings.CutPrefix(line, open); ok {
			q.open = open
			return rest
		}
	}
	return after(line[1:], line[:1])
}

// inside reads on to the end of the open string. Quotes that stand before its
// end belong to it: four are one and the end.
func (q *quotes) inside(line string) string {
	rest, ended := cutEnd(line, q.open)
	if ended {
		rest = strings.TrimLeft(rest, q.open[:1])
		q.open = ""
	}
	return rest
}

// after is what follows the end of a string that was opened before; "" when it
// has none on this line.
func after(line, quote string) string {
	rest, _ := cutEnd(line, quote)
	return rest
}

// cutEnd finds the quote that ends a string. A backslash hides what follows it,
// but not between single quotes.
func cutEnd(line, quote string) (rest string, ended bool) {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(line[i:], quote):
			return line[i+len(quote):], true
		}
	}
	return "", false
}

// above is the key of the table that a key is in.
func above(key string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i]
	}
	return ""
}
