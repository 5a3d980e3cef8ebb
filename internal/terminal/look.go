package terminal

import (
	"fmt"
	"math"
	"strings"
)

// color is one of the 256; the zero one is that of the terminal.
type color struct {
	n     int
	known bool
}

func indexed(n int) color { return color{n, true} }

// style is how characters look.
type style struct {
	fg, bg                                                color
	bold, dim, italic, underline, struck, inverse, hidden bool
}

// rgb is a colour as it is shown.
type rgb [3]int

// Colours of a terminal that sets none, and the sixteen that have names. They are light on
// dark whatever the page is: programs choose theirs for that.
var (
	back    = rgb{0x0e, 0x11, 0x16}
	front   = rgb{0xe6, 0xed, 0xf3}
	faint   = rgb{0x9a, 0xa4, 0xae}
	white   = rgb{0xff, 0xff, 0xff}
	black   = rgb{0, 0, 0}
	sixteen = [16]rgb{{0x1b, 0x1f, 0x24}, {0xff, 0x7b, 0x72}, {0x3f, 0xb9, 0x50}, {0xd2, 0x99, 0x22}, {0x79, 0xb8, 0xff}, {0xd2, 0xa8, 0xff}, {0x56, 0xd4, 0xdd}, {0xc9, 0xd1, 0xd9},
		{0x8b, 0x94, 0x9e}, {0xff, 0xa1, 0x98}, {0x56, 0xd3, 0x64}, {0xe3, 0xb3, 0x41}, {0xa5, 0xd6, 0xff}, {0xe2, 0xc5, 0xff}, {0x8b, 0xe9, 0xf0}, {0xff, 0xff, 0xff}}
)

// steps are the amounts of the colour cube of xterm, 16 to 231; grey is 232 to 255.
var steps = [6]int{0, 95, 135, 175, 215, 255}

func shown(n int) rgb {
	switch {
	case n < 16:
		return sixteen[n]
	case n < 232:
		n -= 16
		return rgb{steps[n/36], steps[n/6%6], steps[n%6]}
	}
	v := 8 + 10*(n-232)
	return rgb{v, v, v}
}

// nearest is the colour of the cube, or the grey, that is closest to one.
func nearest(r, g, b int) color {
	best, least := 16, math.MaxInt
	for n := 16; n < 256; n++ {
		c := shown(n)
		if d := sq(c[0]-r) + sq(c[1]-g) + sq(c[2]-b); d < least {
			best, least = n, d
		}
	}
	return indexed(best)
}

func sq(n int) int { return n * n }

// classes are the names of a look, as Sheet gives them their meaning; "" for none. A text
// that its colours would keep from being read has black or white instead.
func (s style) classes() string {
	var out []string
	fg, bg, f, b := front, back, "", ""
	if s.fg.known {
		fg, f = shown(s.fg.n), fmt.Sprintf("f%d", s.fg.n)
	}
	if s.bg.known {
		bg, b = shown(s.bg.n), fmt.Sprintf("b%d", s.bg.n)
	}
	if s.inverse {
		fg, bg = bg, fg
		f, b = swapped(b, "b", "f", "fB"), swapped(f, "f", "b", "bF")
	}
	if s.dim && f == "" {
		fg, f = faint, "fD"
	} else if s.dim {
		c := nearest((fg[0]+bg[0])/2, (fg[1]+bg[1])/2, (fg[2]+bg[2])/2)
		fg, f = shown(c.n), fmt.Sprintf("f%d", c.n)
	}
	if contrast(fg, bg) < readable {
		if f = "fK"; contrast(white, bg) >= contrast(black, bg) {
			f = "fW"
		}
	}
	for _, c := range []struct {
		is   bool
		name string
	}{{f != "", f}, {b != "", b}, {s.bold, "bo"}, {s.italic, "it"}, {s.underline && s.struck, "us"}, {s.underline && !s.struck, "ul"}, {s.struck && !s.underline, "st"}} {
		if c.is {
			out = append(out, c.name)
		}
	}
	return strings.Join(out, " ")
}

// swapped is the name of a colour for the other ground.
func swapped(name, from, to, none string) string {
	if name == "" {
		return none
	}
	return to + strings.TrimPrefix(name, from)
}

// readable is the contrast that WCAG AA asks of a text.
const readable = 4.5

func contrast(a, b rgb) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is that of WCAG 2.
func luminance(c rgb) float64 {
	part := func(n int) float64 {
		v := float64(n) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c[0]) + 0.7152*part(c[1]) + 0.0722*part(c[2])
}

// Sheet is the style sheet of the looks, for elements below .terminal.
func Sheet() string {
	var b strings.Builder
	rule := func(name, what string, c rgb) {
		fmt.Fprintf(&b, ".terminal .%s{%s:#%02x%02x%02x}\n", name, what, c[0], c[1], c[2])
	}
	fmt.Fprintf(&b, ".terminal{color:#%02x%02x%02x;background:#%02x%02x%02x;direction:ltr;unicode-bidi:isolate-override}\n", front[0], front[1], front[2], back[0], back[1], back[2])
	for n := range 256 {
		rule(fmt.Sprintf("f%d", n), "color", shown(n))
		rule(fmt.Sprintf("b%d", n), "background", shown(n))
	}
	rule("fB", "color", back)
	rule("bF", "background", front)
	rule("fD", "color", faint)
	rule("fK", "color", black)
	rule("fW", "color", white)
	b.WriteString(".terminal .bo{font-weight:bold}\n.terminal .it{font-style:italic}\n.terminal .ul{text-decoration:underline}\n.terminal .st{text-decoration:line-through}\n.terminal .us{text-decoration:underline line-through}\n" +
		".terminal .cu{outline:1px solid;outline-offset:-1px}\n")
	for n := 1; n <= widest; n++ { // a glyph of another font may reach beyond its cells, as in any terminal
		fmt.Fprintf(&b, ".terminal .w%[1]d{display:inline-block;width:%[1]dch;vertical-align:bottom;white-space:nowrap}\n", n)
	}
	return b.String()
}
