package top

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// page is a long text in the place of the rows.
type page struct {
	id     int // of the question whose answer it waits for
	title  string
	write  func(wide int) string
	wide   int // for which its lines are made
	lines  []string
	offset int
}

// laid is a page as its lines are for some width.
func (p page) laid(cells int) page {
	if p.wide == cells && p.lines != nil {
		return p
	}
	p.wide, p.lines = cells, nil
	for _, l := range lines(p.write(cells)) {
		p.lines = append(p.lines, wrap(l, cells)...)
	}
	return p
}

// show puts a page in the place of the rows.
func (m Model) show(title string, write func(int) string) Model {
	m.given++
	m.page = &page{id: m.given, title: title, write: write}
	return m
}

func (m Model) help() (Model, tea.Cmd) {
	const keys = 10
	return m.show("KEYS", func(cells int) string {
		var out []string
		for _, b := range bindings() {
			if b.does != "" {
				does := wrap(b.does, max(keys, cells-keys))
				out = append(out, cell(b.shown, keys, false)+strings.Join(does, "\n"+strings.Repeat(" ", keys)))
			}
		}
		return strings.Join(out, "\n")
	}), nil
}

// why asks for the story of what is chosen.
func (m Model) why() (Model, tea.Cmd) {
	r := m.row()
	of := cmp.Or(r.subject, r.rule)
	if r.alert > 0 {
		of = strconv.FormatInt(r.alert, 10)
	}
	if of == "" {
		return m.cannot("say why", "nothing is chosen")
	}
	m = m.show("WHY "+on(r.host, m.subject(of)), func(int) string { return "asking …" })
	id := m.page.id
	return m, asking(m.o, r.host, func(ctx context.Context, c *api.Client) (api.Story, error) { return c.Story(ctx, of) },
		func(t told[api.Story]) tea.Msg { return storyMsg{t, id, r.host} })
}

// storyMsg is everything known of a thing.
type storyMsg struct {
	told[api.Story]
	id   int
	host string
}

func (msg storyMsg) tell(m Model) (Model, tea.Cmd) {
	if m.page == nil || m.page.id != msg.id {
		return m, nil
	}
	p := *m.page
	p.lines, p.write = nil, func(cells int) string { return m.o.Words.Story(storyOn(msg.host, msg.v), cells) }
	if msg.err != nil {
		what, to := m.o.Words.Error(msg.host, msg.err)
		p.write = func(int) string { return hinted(what, to) }
	}
	m.page = &p
	return m, nil
}

// pageKey is a key while a page is there.
func (m Model) pageKey(k tea.KeyPressMsg) (Model, tea.Cmd) {
	p := *m.page
	step := max(1, m.layout().room-1)
	switch k.String() {
	case "esc", "q", "w", "?", "enter":
		m.page = nil
		return m, nil
	case "down":
		p.offset++
	case "up":
		p.offset--
	case "pgdown", "space":
		p.offset += step
	case "pgup":
		p.offset -= step
	case "home":
		p.offset = 0
	case "end":
		p.offset = len(p.lines)
	}
	m.page = &p
	return m, nil
}

// turned is the page within its bounds.
func (m Model) turned() Model {
	p := m.page.laid(m.width)
	p.offset = max(0, min(p.offset, len(p.lines)-m.layout().room+1))
	m.page = &p
	return m
}
