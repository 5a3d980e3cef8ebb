// Package terminal is what a terminal shows as values: lines of text with their looks, of
// what a program wrote, and the changes from one picture to the next. Of all that a
// program may write to a terminal only characters, colours and emphasis are read; titles,
// links, clipboards and moves are dropped.
package terminal

import (
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// longest is how much of a line is read, in bytes, and most how many lines: more than any
// terminal has.
const (
	longest = 64 << 10
	most    = 2000
)

// Read reads lines with escapes, as capture-pane -e of tmux writes them: a look goes on
// from one line to the next. It takes anything, and nothing that it does not know shows.
func Read(text string) []Line {
	var r reader
	raw := strings.Split(text, "\n")
	out := make([]Line, 0, min(len(raw), most))
	for _, l := range raw[:min(len(raw), most)] {
		out = append(out, r.line(l[:min(len(l), longest)]))
	}
	return out
}

// reader is what goes on from one line to the next.
type reader struct {
	style style
	lines bool // characters are those of frames (SO)
}

func (r *reader) line(raw string) Line {
	var b builder
	for raw != "" {
		plain := raw
		if i := strings.IndexFunc(raw, isControl); i >= 0 {
			plain = raw[:i]
		}
		b.add(r.drawn(plain), r.style)
		if raw = raw[len(plain):]; raw != "" {
			raw = raw[r.control(raw):]
		}
	}
	return b.out
}

func isControl(c rune) bool { return c < 0x20 || 0x7f <= c && c < 0xa0 }

// drawn are characters as they are shown: what no terminal shows, and what turns the
// direction of a text, is dropped.
func (r *reader) drawn(text string) string {
	if r.lines {
		text = frames.Replace(text)
	}
	text = fleet.Text(text)
	if r.style.hidden {
		return strings.Repeat(" ", len([]rune(text)))
	}
	return text
}

// frames are the characters of the DEC set for lines.
var frames = strings.NewReplacer("j", "┘", "k", "┐", "l", "┌", "m", "└", "n", "┼", "q", "─", "t", "├", "u", "┤", "v", "┴", "w", "┬", "x", "│",
	"a", "▒", "`", "◆", "f", "°", "g", "±", "~", "·", "y", "≤", "z", "≥", "{", "π", "|", "≠", "}", "£")

// control reads the escape or control character that a text begins with, and returns how
// many bytes it has.
func (r *reader) control(raw string) int {
	switch raw[0] {
	case 0x0e, 0x0f:
		r.lines = raw[0] == 0x0e
		return 1
	case 0x1b:
		return r.escape(raw)
	}
	if raw[0] < 0x80 {
		return 1
	}
	return len("\u0080") // the controls beyond ASCII take two bytes; others are no controls
}

// escape reads a sequence that begins with ESC. One that does not end goes to the end of
// its line.
func (r *reader) escape(raw string) int {
	if len(raw) < 2 {
		return len(raw)
	}
	switch raw[1] {
	case '[':
		i := 2
		for i < len(raw) && 0x20 <= raw[i] && raw[i] < 0x40 {
			i++
		}
		if i == len(raw) {
			return i
		}
		if raw[i] == 'm' {
			r.style = r.style.with(raw[2:i])
		}
		return i + 1
	case ']', 'P', 'X', '^', '_':
		return ended(raw)
	}
	i := 1
	for i < len(raw) && 0x20 <= raw[i] && raw[i] < 0x30 {
		i++
	}
	return min(i+1, len(raw))
}

// ended is how long a string sequence is, with what ends it.
func ended(raw string) int {
	for i := 2; i < len(raw); i++ {
		switch {
		case raw[i] == 0x07:
			return i + 1
		case raw[i] == 0x1b && i+1 < len(raw) && raw[i+1] == '\\':
			return i + 2
		case raw[i] == 0x1b:
			return i
		}
	}
	return len(raw)
}

// with is a style after the parameters of an SGR sequence. What is not known changes nothing.
func (s style) with(params string) style {
	fields := strings.Split(params, ";")
	for i := 0; i < len(fields); i++ {
		code, sub, _ := strings.Cut(fields[i], ":")
		n, err := strconv.Atoi(code)
		switch {
		case code == "":
			n = 0
		case err != nil:
			return s // private, or none of ours
		}
		if n != 38 && n != 48 && n != 58 {
			s = s.one(n, sub)
			continue
		}
		var c color
		if sub != "" {
			c = colorOf(strings.Split(sub, ":"), true)
		} else {
			c = colorOf(fields[i+1:], false)
			i += taken(fields[i+1:])
		}
		if c.known && n == 38 {
			s.fg = c
		} else if c.known && n == 48 {
			s.bg = c
		}
	}
	return s
}

// one is a style after one code.
func (s style) one(n int, sub string) style {
	switch {
	case n == 0:
		return style{}
	case n == 1:
		s.bold = true
	case n == 2:
		s.dim = true
	case n == 3:
		s.italic = true
	case n == 4:
		s.underline = sub != "0"
	case n == 7:
		s.inverse = true
	case n == 8:
		s.hidden = true
	case n == 9:
		s.struck = true
	case n == 21:
		s.underline = true
	case n == 22:
		s.bold, s.dim = false, false
	case n == 23:
		s.italic = false
	case n == 24:
		s.underline = false
	case n == 27:
		s.inverse = false
	case n == 28:
		s.hidden = false
	case n == 29:
		s.struck = false
	case n == 39:
		s.fg = color{}
	case n == 49:
		s.bg = color{}
	case 30 <= n && n <= 37:
		s.fg = indexed(n - 30)
	case 40 <= n && n <= 47:
		s.bg = indexed(n - 40)
	case 90 <= n && n <= 97:
		s.fg = indexed(n - 90 + 8)
	case 100 <= n && n <= 107:
		s.bg = indexed(n - 100 + 8)
	}
	return s
}

// taken is how many fields after 38 or 48 belong to the colour.
func taken(fields []string) int {
	switch {
	case len(fields) == 0:
		return 0
	case fields[0] == "5":
		return min(2, len(fields))
	case fields[0] == "2":
		return min(4, len(fields))
	}
	return 1
}

// colorOf reads 5, N or 2, R, G, B; with colons a field for the colour space may come
// before R.
func colorOf(f []string, colons bool) color {
	var n []int
	for _, t := range f {
		v, err := strconv.Atoi(t)
		if t == "" {
			v, err = 0, nil
		}
		if err != nil || v < 0 || v > 255 {
			return color{}
		}
		n = append(n, v)
	}
	switch {
	case len(n) >= 2 && n[0] == 5:
		return indexed(n[1])
	case colons && len(n) >= 5 && n[0] == 2:
		return nearest(n[2], n[3], n[4])
	case len(n) >= 4 && n[0] == 2:
		return nearest(n[1], n[2], n[3])
	}
	return color{}
}
