package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Span is text of one look: the text, and the names of the look as classes of Sheet.
type Span [2]string

// Line is what one line of a terminal shows. It is not changed once it is made.
type Line []Span

// Text is a line without its looks.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s[0])
	}
	return b.String()
}

// Plain are lines without looks.
func Plain(text string) []Line {
	var out []Line
	for _, l := range strings.Split(text, "\n") {
		out = append(out, plain(l))
	}
	return out
}

func plain(text string) Line {
	var b builder
	b.add(strings.ReplaceAll(text, "\t", "        "), style{})
	return b.out
}

// builder puts a line together. What takes two cells, or one that the font for code may
// lack, is a span of its own, so that it takes just those in whatever font.
type builder struct{ out Line }

func (b *builder) add(text string, s style) {
	if text == "" {
		return
	}
	look := s.classes()
	if isNarrow(text) {
		b.put(text, look)
		return
	}
	for text != "" {
		cluster, width := ansi.FirstGraphemeCluster(text, ansi.WcWidth)
		if cluster == "" {
			return
		}
		text = text[len(cluster):]
		if isNarrow(cluster) || width == 0 {
			b.put(cluster, look)
		} else {
			b.out = append(b.out, Span{cluster, strings.TrimSpace(look + " " + cells(width))})
		}
	}
}

// cells is the class of what takes so many: some scripts write three letters as one.
func cells(width int) string {
	return fmt.Sprintf("w%d", min(width, widest))
}

// widest is how many cells one character takes at most.
const widest = 6

// put adds text, to the last span where it looks alike.
func (b *builder) put(text, look string) {
	if n := len(b.out); n > 0 && b.out[n-1][1] == look {
		b.out[n-1][0] += text
		return
	}
	b.out = append(b.out, Span{text, look})
}

// isNarrow says whether each character takes one cell for certain, in whatever font for
// code: Latin, Greek, Cyrillic, dashes, quotes and dots, and the frames that programs draw.
func isNarrow(text string) bool {
	for _, c := range text {
		if c >= 0x300 && (c < 0x370 || 0x483 <= c && c <= 0x489 || c >= 0x530) && (c < 0x2010 || c > 0x2026) && (c < 0x2500 || c >= 0x25a0) {
			return false
		}
	}
	return true
}

// WithCursor shows the cursor in a column of a line, counted from 0: lines itself stays.
func WithCursor(lines []Line, x, y int) []Line {
	if x < 0 || x > longest || y < 0 || y > most {
		return lines
	}
	out := slices.Clone(lines)
	for len(out) <= y {
		out = append(out, nil)
	}
	out[y] = out[y].marked(x)
	return out
}

// marked is a line whose cell at a column has the cursor. A line that ends before it is
// filled up.
func (l Line) marked(x int) Line {
	var out Line
	at, done := 0, false
	for _, s := range l {
		width := ansi.StringWidthWc(s[0])
		if done || at+width <= x {
			out, at = append(out, s), at+width
			continue
		}
		before, cell, after := split(s[0], x-at)
		for _, part := range []Span{{before, s[1]}, {cell, strings.TrimSpace(s[1] + " cu")}, {after, s[1]}} {
			if part[0] != "" {
				out = append(out, part)
			}
		}
		at, done = at+width, true
	}
	if done {
		return out
	}
	if x > at {
		out = append(out, Span{strings.Repeat(" ", x-at), ""})
	}
	return append(out, Span{" ", "cu"})
}

// split is a text before a column, the character there, and what comes after.
func split(text string, column int) (before, cell, after string) {
	at := 0
	for rest := text; rest != ""; {
		cluster, width := ansi.FirstGraphemeCluster(rest, ansi.WcWidth)
		if cluster == "" {
			break
		}
		i := len(text) - len(rest)
		if rest = rest[len(cluster):]; at+width > column {
			return text[:i], cluster, rest
		}
		at += width
	}
	return text, "", ""
}

// Hide hides of lines what hide hides of their texts. A line that it changes loses its
// looks; one that it takes away is not there any more.
func Hide(lines []Line, hide func([]string) []string) []Line {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text()
	}
	safe := hide(slices.Clone(texts))
	if slices.Equal(safe, texts) {
		return lines
	}
	out := make([]Line, len(safe))
	for i, t := range safe {
		from := i // the line that it was, counted from the end where some are gone
		if len(safe) != len(texts) && (i >= len(texts) || texts[i] != t) {
			from = i + len(texts) - len(safe)
		}
		if from >= 0 && from < len(texts) && texts[from] == t {
			out[i] = lines[from]
		} else {
			out[i] = plain(t)
		}
	}
	return out
}
