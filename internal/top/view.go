package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// View is the screen, in the terminal's other buffer.
func (m Model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen, v.ReportFocus, v.MouseMode = true, true, tea.MouseModeCellMotion
	v.WindowTitle = "custos top"
	return v
}

// From how many lines on there is room for what.
const (
	roomForKeys     = 10
	roomForTabs     = 10
	roomForBanners  = 8
	roomForPreview  = 18
	roomForOutcomes = 30
)

// layout is what stands where, from above to below.
type layout struct {
	top     []string
	tabs    int // the line with the names of the panes; -1: there is none
	above   int // how many lines stand above the rows
	room    int // how many lines the rows have
	preview int
	form    int
	told    int // lines of outcomes
	keys    int
}

func (m Model) layout() layout {
	l := layout{top: append([]string{m.head()}, m.banners()...), tabs: -1}
	if m.height >= roomForTabs {
		l.tabs = len(l.top)
		l.top = append(l.top, m.tabs())
		l.keys = 1
	}
	l.told = min(m.told(), max(0, m.height-2))
	if m.form != nil {
		l.form = min(m.height-1, m.formRoom()+1)
		l.told, l.keys = 0, 0
	}
	l.above = min(len(l.top), max(1, m.height-l.form))
	if l.form > 0 && m.height < roomForTabs { // a small terminal has the form alone, below the first line
		l.above = min(l.above, m.height-l.form)
	}
	l.room = max(0, m.height-l.above-l.form-l.told-l.keys)
	if m.form == nil && m.page == nil && m.pane <= agents && m.height >= roomForPreview {
		l.preview = l.room * 2 / 5
		l.room -= l.preview
	}
	return l
}

// told is how many lines the outcomes have: there is always one, so that nothing jumps.
func (m Model) told() int {
	long := 0
	if n := len(m.outcomes); n > 0 {
		long = min(mostTold, len(wrap(m.dated(m.outcomes[n-1]), m.width)))
	}
	switch {
	case m.height >= roomForOutcomes:
		return mostTold
	case m.height >= roomForPreview:
		return max(1, long)
	case m.height >= roomForKeys:
		return 1
	}
	return min(1, long)
}

// mostTold is how many lines the outcomes have at most.
const mostTold = 3

// frame is just as many lines as the terminal has, none wider than it is.
func (m Model) frame() string {
	l := m.layout()
	all := append([]string{}, l.top[:l.above]...)
	if m.page != nil {
		all = append(all, m.pageLines(l.room)...)
	} else {
		all = append(all, m.body(l.room)...)
	}
	all = append(append(all, m.preview(l.preview)...), m.formLines(l.form)...)
	all = append(all, m.outcomeLines(l.told)...)
	if l.keys > 0 {
		all = append(all, m.keyLine())
	}
	return strings.Join(m.fit(all), "\n")
}

// pageLines are those of the page that there is room for.
func (m Model) pageLines(room int) []string {
	p := m.page.laid(m.width)
	title := fmt.Sprintf("%s  (Esc closes it; ↑ ↓ PgUp PgDn)", p.title)
	out := append([]string{m.paint(bold, cut(title, m.width))}, p.lines[min(p.offset, len(p.lines)):]...)
	return filled(out, room)
}

// formLines are the form: its text as far as there is room, and what to press.
func (m Model) formLines(room int) []string {
	if room == 0 {
		return nil
	}
	f := m.form
	body := f.body(m.width)
	out := append([]string{}, body[min(f.offset, len(body)):]...)
	out = filled(out, room-1)
	say := f.say(m.width)
	if !f.waits && !m.isRead() {
		say = "PgDn shows the rest · Esc leaves it"
	}
	return append(out, m.paint(reverse, cell(say, m.width, false)))
}

// outcomeLines are what became of the last deeds, the newest last.
func (m Model) outcomeLines(room int) []string {
	var out []string
	for i := len(m.outcomes) - 1; i >= 0 && len(out) < room; i-- {
		o := m.outcomes[i]
		colour := map[outcomeState]string{done: green, failed: red, open: yellow, goesOn: yellow}[o.state]
		said := []string{cut(m.dated(o), m.width)}
		if room > 1 {
			said = wrap(m.dated(o), m.width)
		}
		for j, l := range said {
			said[j] = m.paint(colour, l)
		}
		out = append(said, out...)
	}
	if len(out) > room {
		out = out[:room]
	}
	return append(filled(nil, room-len(out)), out...)
}

// fit cuts and fills lines to those of the terminal.
func (m Model) fit(all []string) []string {
	out := make([]string, m.height)
	for i := range min(m.height, len(all)) {
		out[i] = cut(all[i], m.width)
	}
	return out
}

// head says where, when and how much waits.
func (m Model) head() string {
	l, all := m.look.v.look, len(m.needs())
	need := counted(all, "needs you")
	if n := all; n != 1 {
		need = fmt.Sprintf("%d need you", n)
	}
	if m.look.at.IsZero() && !m.isBlind() {
		return m.paint(bold, "custos") + " looking …"
	}
	if all > 0 {
		need = m.paint(yellow, need)
	}
	if m.width < 40 {
		return m.paint(bold, need)
	}
	if m.isBlind() {
		return m.paint(bold, need) + " · " + m.paint(bold, "custos") + " · this machine is not seen"
	}
	return m.paint(bold, need) + " · " + m.paint(bold, "custos") + " on " + flat(l.From.Host) + " · mode " + flat(l.Mode) + m.clock()
}

// clock is the time of what is shown.
func (m Model) clock() string {
	return " · " + m.look.v.look.At.UTC().Format("15:04:05 UTC")
}

// banners say what a person must know before they believe what they see.
func (m Model) banners() []string {
	var out [][]string
	say := func(colour, text string) { out = append(out, m.broken(colour, text)) }
	if err := cmp.Or(m.look.err, m.paneErr()); err != nil {
		what, to := m.o.Words.Error("", err)
		say(red, "! "+flat(hinted(what, to)))
	}
	if at, old := m.age(); old {
		say(red, "! what is shown is "+span(m.now.Sub(at))+" old")
	}
	if f := m.look.v.look.Frozen; f != "" {
		say(yellow, "! FROZEN by "+flat(f))
	}
	for _, h := range m.hosts {
		if says := h.Says(m.now); says != "" {
			say(hostColour(h), "! "+flat(says))
		}
	}
	if t := m.alerts.v.Trouble; t != "" && m.pane == alerts {
		say(yellow, "! passes cannot be finished: "+flat(t))
	}
	if s := m.look.v.status; s.Untold != "" {
		say(yellow, "! the ledger is not read: "+flat(s.Untold))
	}
	for _, p := range m.look.v.status.Paused {
		say(yellow, "! paused: project "+flat(p))
	}
	if parts := unseen(m.look.v.look.Seen); len(parts) > 0 {
		say(yellow, "! "+notSeen(parts))
	}
	if !m.look.at.IsZero() && !m.look.v.status.Daemon {
		say(faint, "no daemon: this program looks by itself, more seldom ("+m.o.Words.Command("custos up")+" keeps watching)")
	}
	if m.height < roomForBanners {
		out = out[:min(1, len(out))]
	}
	return m.room(out)
}

// broken is a text on as many lines as there is room for: one, where the terminal is low.
func (m Model) broken(colour, text string) []string {
	most := 1
	if m.height >= roomForPreview {
		most = 2
	}
	out := wrap(text, m.width)
	if len(out) > most {
		out = append(out[:most-1], strings.Join(out[most-1:], " "))
	}
	for i, l := range out {
		out[i] = m.paint(colour, cut(l, m.width))
	}
	return out
}

// paneErr is why what the pane shows could not be asked for.
func (m Model) paneErr() error {
	return [panes]error{alerts: m.alerts.err, feed: m.feed.err, work: m.work.err}[m.pane]
}

// age is since when what the pane shows is known, and whether that is too long.
func (m Model) age() (time.Time, bool) {
	switch {
	case m.pane == alerts && isOld(m.alerts, m.now):
		return m.alerts.at, true
	case m.pane == feed && isOld(m.feed, m.now):
		return m.feed.at, true
	case m.pane == work && isOld(m.work, m.now):
		return m.work.at, true
	}
	return m.look.at, isOld(m.look, m.now)
}

func notSeen(parts []api.PartSeen) string {
	var out []string
	for _, p := range parts {
		s := flat(p.Part) + " " + flat(p.Status)
		if p.Why != "" {
			s += " (" + flat(p.Why) + ")"
		}
		out = append(out, s)
	}
	return "not seen now: " + strings.Join(out, ", ")
}

// tabs are the names of the panes.
func (m Model) tabs() string {
	var out []string
	for p := range panes {
		name := tab(p)
		if p == m.pane {
			name = m.paint(reverse, name)
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func tab(p pane) string { return fmt.Sprintf(" %d %s ", p+1, p) }

func (p pane) String() string {
	return [...]string{"NEEDS YOU", "AGENTS", "ALERTS", "FEED", "WORK"}[p]
}

// body is the rows that there is room for.
func (m Model) body(room int) []string {
	var all []string
	for i := m.offset[m.pane]; i < len(m.rows) && len(all) < room; i++ {
		all = append(all, m.lines(m.rows[i])...)
	}
	return filled(all, room)
}

func filled(all []string, room int) []string {
	for len(all) < room {
		all = append(all, "")
	}
	return all[:max(0, room)]
}

// lines are a row, or a title and the heads of the columns below it.
func (m Model) lines(r row) []string {
	switch {
	case r.key != "":
		return []string{m.line(r)}
	case m.height < roomForTabs:
		return nil
	}
	out := m.broken(bold, r.title)
	if r.in.columns[0].head != "" && m.height >= roomForKeys {
		out = append(out, m.paint(faint, m.heads(r.in)))
	}
	return out
}

func (m Model) heads(t *table) string {
	var out []string
	for i, cells := range m.widths(t) {
		if cells > 0 {
			out = append(out, cell(t.columns[i].head, cells, t.columns[i].right))
		}
	}
	return "  " + strings.Join(out, "  ")
}

// dwellWide is how wide the longest time is, and restKeeps what others are shortened for.
const (
	dwellWide = 6
	restKeeps = 30
)

// widths are those of the columns of a table; 0: it is not shown. What is left is for the
// one that takes it.
func (m Model) widths(t *table) []int {
	out := make([]int, len(t.columns))
	left, rest := m.width-2, -1
	for i, c := range t.columns {
		switch {
		case m.width < c.least, c.until > 0 && m.width >= c.until:
			continue
		case c.dwell:
			out[i] = dwellWide
		case c.most == 0:
			rest = i
			continue
		default:
			out[i] = min(c.most, t.wide[i])
		}
		if out[i] > 0 {
			left -= out[i] + 2
		}
	}
	want := -2 // what is right of the last column need not be
	if rest >= 0 {
		want = min(t.wide[rest], restKeeps)
	}
	for i, c := range slices.Backward(t.columns) {
		if c.shrink != nil && out[i] > c.keep && left < want {
			less := min(out[i]-c.keep, want-left)
			out[i], left = out[i]-less, left+less
		}
	}
	if rest >= 0 {
		out[rest] = max(0, left)
		left -= t.wide[rest]
	}
	for i, c := range t.columns { // what nobody needs is for those that are shortened
		if more := min(t.wide[i]-out[i], left); c.shrink != nil && out[i] > 0 && more > 0 {
			out[i], left = out[i]+more, left-more
			if rest >= 0 {
				out[rest] -= more
			}
		}
	}
	return out
}

func (m Model) line(r row) string {
	var out []string
	chosen := r.key == m.chosen[m.pane]
	for i, cells := range m.widths(r.in) {
		if cells > 0 {
			out = append(out, m.cell(r, i, cells, chosen))
		}
	}
	line := strings.Join(out, "  ")
	if chosen {
		return m.paint(reverse, cell("> "+line, m.width, false))
	}
	return "  " + line
}

// cell is one text of a row; in the chosen one all have one colour.
func (m Model) cell(r row, i, cells int, chosen bool) string {
	text, c := r.cells[i], r.in.columns[i]
	if c.dwell {
		text = m.dwell(r.since)
	}
	if c.shrink != nil {
		text = c.shrink(text, cells)
	}
	text = cell(text, cells, c.right)
	if chosen {
		return text
	}
	return m.paint(r.colours[i], text)
}

// dwell is for how long something has been so, up to this second.
func (m Model) dwell(since time.Time) string {
	if since.IsZero() {
		return "?"
	}
	return span(m.now.Sub(since))
}

// keyLine names the keys that fit; how to get help and how to leave always do.
func (m Model) keyLine() string {
	line, last := "", "? help  q quit"
	for _, k := range bindings() {
		more := k.shown + " " + k.short + "  "
		if k.short != "" && wide(line+more+last) <= m.width {
			line += more
		}
	}
	return m.paint(faint, line+last)
}
