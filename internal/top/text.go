package top

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// longestText is how many bytes of a foreign text are looked at: more is never shown.
const longestText = 4096

// flat is a foreign text on one line that cannot steer the terminal. What is drawn
// wider by one terminal than by another is left out.
func flat(s string) string {
	if isASCII(s) && len(s) <= longestText && !strings.Contains(s, "  ") {
		return strings.Trim(s, " ")
	}
	s = strings.ToValidUTF8(s[:min(len(s), longestText)], "")
	s = strings.Map(plain, ansi.Strip(s))
	return strings.Join(strings.Fields(s), " ")
}

// plain keeps what can be shown, and what every terminal draws equally wide: no control,
// no change of direction, and nothing that makes one character with what is beside it.
func plain(r rune) rune {
	switch {
	case r == ' ', r == '\t', r == '\n':
		return ' '
	case !unicode.IsPrint(r), unicode.In(r, joining, unicode.Mc, unicode.Me, unicode.Variation_Selector):
		return -1
	}
	return r
}

// joining are letters of Hangul that are pieces of one, halves of flags, and tones of skin.
var joining = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x1100, Hi: 0x11FF, Stride: 1}, {Lo: 0xA960, Hi: 0xA97F, Stride: 1}, {Lo: 0xD7B0, Hi: 0xD7FF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1F1E6, Hi: 0x1F1FF, Stride: 1}, {Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}},
}

// lines are the lines of a foreign text, each as flat leaves it, but for the spaces.
func lines(s string) []string {
	out := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\t", "    "), "\n "), "\n")
	for i, l := range out {
		l = strings.ToValidUTF8(l[:min(len(l), longestText)], "")
		out[i] = strings.TrimRight(strings.Map(plain, ansi.Strip(l)), " ")
	}
	return out
}

// cut shortens a text at its end to so many cells.
func cut(s string, cells int) string {
	if len(s) <= cells && isASCII(s) {
		return s
	}
	for n := cells; n > 0; n-- {
		if out := ansi.TruncateWc(s, n, "…"); wide(out) <= cells {
			return out
		}
	}
	return ""
}

// wide is how many cells a text takes in the terminal that draws it widest: some join what
// others draw one after the other.
func wide(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return max(ansi.StringWidth(s), ansi.StringWidthWc(s))
}

// isASCII says whether each byte of a text is a character of one cell: most texts are so,
// and quicker to draw.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// middle shortens a text in its middle: the ends of a path tell most.
func middle(s string, cells int) string {
	all := ansi.StringWidthWc(s)
	if wide(s) <= cells || cells < 5 {
		return cut(s, cells)
	}
	front := (cells - 1) / 3
	return cut(ansi.TruncateWc(s, front, "")+"…"+ansi.TruncateLeftWc(s, all-(cells-1-front), ""), cells)
}

// cell is a text that takes just so many cells.
func cell(s string, cells int, right bool) string {
	s = cut(s, cells)
	space := strings.Repeat(" ", max(0, cells-wide(s)))
	if right {
		return space + s
	}
	return s + space
}

// wrap breaks a text between words into lines of so many cells.
func wrap(s string, cells int) []string {
	return strings.Split(ansi.WrapWc(s, max(1, cells), ""), "\n")
}

// span is a duration in at most six characters.
func span(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 24*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return two(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func two(a int, unitA string, b int, unitB string) string {
	if b == 0 || a > 99 {
		return strconv.Itoa(a) + unitA
	}
	return strconv.Itoa(a) + unitA + strconv.Itoa(b) + unitB
}

// counted is a number of things in words.
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// The colours, as the terminal's own.
const (
	bold    = "1"
	faint   = "2"
	red     = "1;31"
	green   = "32"
	yellow  = "33"
	cyan    = "36"
	reverse = "7"
)

// paint colours a text, where there are colours. What is chosen is shown without, too:
// it is turned round, which is no colour.
func (m Model) paint(colour, s string) string {
	if colour == "" || !m.o.Colour && colour != reverse && colour != bold {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
