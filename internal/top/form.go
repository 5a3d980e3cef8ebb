package top

import (
	"fmt"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// form is what the person is asked before something is done. Nothing is done before they
// have confirmed it, and it is done to just what the form names, whatever is chosen by then.
type form struct {
	id      int // of the question whose answer it waits for
	waits   bool
	text    string // what it is about: shown whole before it can be confirmed
	prompt  string
	kind    formKind
	input   string
	choices []api.AgentChoice
	pick    int // of the choices; -1: none yet
	offset  int // first line of the text that is shown
	seen    int // lines of it that were shown
	wide    int // for which width that was so
	send    func(form) deed
}

type formKind int

const (
	confirms formKind = iota // y or n
	writes                   // a line of text, and Enter
	picks                    // a choice, and Enter
	filters                  // a line of text that the rows are looked through for at once
	tells                    // nothing can be done about it
)

// body are the lines of a form but for its prompt.
func (f form) body(cells int) []string {
	var out []string
	for _, l := range strings.Split(f.text, "\n") {
		out = append(out, wrap(l, cells)...)
	}
	for i, c := range f.choices {
		mark := "  "
		if i == f.pick {
			mark = "> "
		}
		line := fmt.Sprintf("%s%d  %s", mark, i+1, flat(c.Name))
		if c.Label != "" {
			line += ": " + flat(c.Label)
		}
		out = append(out, wrap(line, cells)...)
	}
	return out
}

// say is the last line of a form.
func (f form) say(cells int) string {
	if f.kind != writes && f.kind != filters {
		return f.prompt
	}
	room := max(1, cells-wide(f.prompt)-2)
	input := f.input
	for wide(input) > room { // its end is what is being written
		input = string([]rune(input)[1:])
	}
	return f.prompt + " " + input + "_"
}

// formRoom is how many lines of a form's text there is room for.
func (m Model) formRoom() int {
	return min(len(m.form.body(m.width)), max(0, m.height-2))
}

// read notes what of the form has been shown by now.
func (m Model) read() Model {
	f := *m.form
	if f.wide != m.width {
		f.wide, f.seen = m.width, 0
	}
	f.offset = max(0, min(f.offset, len(f.body(m.width))-m.formRoom()))
	if f.offset <= f.seen {
		f.seen = max(f.seen, f.offset+m.formRoom())
	}
	m.form = &f
	return m
}

// isRead says whether all of the form has been shown.
func (m Model) isRead() bool {
	return !m.form.waits && m.form.wide == m.width && m.form.seen >= len(m.form.body(m.width))
}

// formKey is a key while a form is there.
func (m Model) formKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	f := *m.form
	switch name := k.String(); {
	case name == "esc", f.kind == tells && name == "enter", f.kind == confirms && name == "n":
		return m.closed(), nil
	case name == "pgdown":
		f.offset += max(1, m.formRoom())
	case name == "pgup":
		f.offset -= max(1, m.formRoom())
	case f.waits:
	case f.kind == confirms && name == "y" || f.kind != confirms && name == "enter":
		return m.confirm()
	case f.kind == picks:
		f = f.picked(name)
	case f.kind == writes || f.kind == filters:
		f.input = edited(f.input, k)
	case name == "down":
		f.offset++
	case name == "up":
		f.offset--
	}
	m.form = &f
	if f.kind == filters {
		m.filter = strings.TrimSpace(f.input)
	}
	return m, nil
}

// closed is without the form; a filter that is not wanted is taken off with it.
func (m Model) closed() Model {
	if m.form.kind == filters {
		m.filter = ""
	}
	m.form = nil
	return m
}

// confirm does what the form asks about, if the person can have read all of it.
func (m Model) confirm() (Model, tea.Cmd) {
	f := *m.form
	switch {
	case f.kind == filters:
		m.form = nil
		return m, nil
	case !m.isRead(), f.kind == tells, f.kind == picks && f.pick < 0, f.kind == writes && strings.TrimSpace(f.input) == "":
		return m, nil
	}
	m.form = nil
	return m.begin(f.send(f))
}

func (f form) picked(name string) form {
	switch {
	case name == "down" && f.pick < len(f.choices)-1:
		f.pick++
	case name == "up" && f.pick > 0:
		f.pick--
	case len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(f.choices):
		f.pick = int(name[0] - '1')
	}
	return f
}

// edited is a line after a key.
func edited(line string, k tea.KeyPressMsg) string {
	r := []rune(line)
	switch k.String() {
	case "backspace":
		return string(r[:max(0, len(r)-1)])
	case "ctrl+u":
		return ""
	case "ctrl+w":
		return strings.TrimRightFunc(strings.TrimRightFunc(line, unicode.IsSpace), func(c rune) bool { return !unicode.IsSpace(c) })
	}
	return written(line + k.Text)
}

// written is what a person wrote or put in, without what steers a terminal; a space at its
// end stays.
func written(s string) string {
	return strings.ToValidUTF8(strings.Map(plain, s), "")
}
