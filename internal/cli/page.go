package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"custos/internal/config"
)

// page gathers what is written for a person, and writes it at once.
type page struct {
	out    io.Writer
	width  int
	colour bool
	home   string
	flags  string // for the commands that are printed
	// foreign: what is written was told by another machine
	foreign bool
	buf     bytes.Buffer
}

func (a *app) page() *page {
	p := &page{out: a.Stdout, width: a.Width, home: a.home(), flags: a.flags(), foreign: a.host != nil}
	if p.width <= 0 {
		p.width = widest
	}
	p.colour = a.Terminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
	return p
}

// home is "" where it is not known.
func (a *app) home() string {
	home, err := config.Home(a.Getenv, nil)
	if err != nil {
		return ""
	}
	return home
}

func (p *page) flush() error {
	_, err := p.out.Write(p.buf.Bytes())
	return err
}

// line writes one line. Its text may hold colours, and must have gone through
// clean where a program wrote it.
func (p *page) line(format string, args ...any) {
	s := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	p.buf.WriteString(s)
	p.buf.WriteByte('\n')
}

// head begins a section.
func (p *page) head(title, note string) {
	p.line("")
	if note != "" {
		note = "  " + p.dim(note)
	}
	p.line("%s%s", p.paint(bold, title), note)
}

// text writes words below each other, wrapped, each line indented.
func (p *page) text(indent int, s string) {
	for _, l := range wrap(clean(s), p.width-indent) {
		p.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

const (
	bold   = "1"
	faint  = "2"
	red    = "1;31"
	yellow = "33"
	cyan   = "36"
	green  = "32"
)

func (p *page) paint(colour, s string) string {
	if !p.colour || colour == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (p *page) dim(s string) string { return p.paint(faint, s) }

// priority paints P0 to P4.
func (p *page) priority(s string) string {
	return p.paint(map[string]string{"P0": red, "P1": red, "P2": yellow, "P3": cyan, "P4": faint}[s], clean(s))
}

// path shows "~" for the home.
func (p *page) path(s string) string {
	s = clean(s)
	if p.home == "" || p.home == "/" {
		return s
	}
	if s == p.home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(s, p.home+"/"); ok {
		return "~/" + rest
	}
	return s
}

// subject shows "lock//tmp/x" as "lock /tmp/x".
func (p *page) subject(s string) string {
	kind, name, ok := strings.Cut(s, "/")
	if !ok {
		return clean(s)
	}
	return clean(kind) + " " + p.path(name)
}

// what is a summary beside its subject: a name it begins with is left out.
func what(summary, subject string) string {
	_, name, _ := strings.Cut(subject, "/")
	if rest, ok := strings.CutPrefix(summary, name+" "); ok && name != "" {
		return flat(rest)
	}
	return flat(summary)
}

var escape = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?`)

// clean keeps a text from steering the terminal: the server has done so before,
// and an old daemon may not have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			return r
		}
		return -1
	}, escape.ReplaceAllString(s, ""))
}

// flat is clean on one line.
func flat(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

func runes(s string) int { return utf8.RuneCountInString(escape.ReplaceAllString(s, "")) }

// cut shortens a text at its end.
func cut(s string, n int) string {
	if runes(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(n-1, 0)]), " ") + "…"
}

// middle shortens a path in its middle: the ends tell most.
func middle(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if n < 5 {
		return cut(s, n)
	}
	front := (n - 1) / 3
	return string(r[:front]) + "…" + string(r[len(r)-(n-1-front):])
}

// wrap breaks a text at spaces into lines of at most n characters. A word that
// is longer stands on a line of its own, whole: it may be a command.
func wrap(s string, n int) []string {
	var out []string
	for _, para := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(para) {
			switch {
			case line == "":
				line = word
			case runes(line)+1+runes(word) > n:
				out = append(out, line)
				line = word
			default:
				line += " " + word
			}
		}
		out = append(out, line)
	}
	return out
}

// fold breaks the lines of a text that have more than n characters between words; 0:
// none. What goes on is indented.
func fold(s string, n int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if n > 0 && runes(l) > n {
			lines[i] = strings.Join(wrap(l, n-len(goesOn)), "\n"+goesOn)
		}
	}
	return strings.Join(lines, "\n")
}

// goesOn is before each line that goes on with the one above.
const goesOn = "  "

// known lists what is known of a thing, by name.
func (p *page) known(rows [][2]string) {
	for _, row := range rows {
		if row[1] != "" {
			p.line("  %s: %s", row[0], flat(row[1]))
		}
	}
}
