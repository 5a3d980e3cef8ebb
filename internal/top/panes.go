package top

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"custos/internal/api"
)

// mostFeed is how many things of the feed are asked for: the newest.
const mostFeed = 200

type alertsMsg told[api.Alerts]

func (msg alertsMsg) tell(m Model) (Model, tea.Cmd) {
	m.alerts.is(told[api.Alerts](msg))
	return m, nil
}

type feedMsg told[api.Feed]

func (msg feedMsg) tell(m Model) (Model, tea.Cmd) { m.feed.is(told[api.Feed](msg)); return m, nil }

type workMsg told[api.WorkList]

func (msg workMsg) tell(m Model) (Model, tea.Cmd) { m.work.is(told[api.WorkList](msg)); return m, nil }

// screenMsg is what the terminal of the chosen agent shows.
type screenMsg struct {
	told[api.Screen]
	of string
}

func (msg screenMsg) tell(m Model) (Model, tea.Cmd) {
	if m.screen.of == msg.of {
		m.screen.is(msg.told)
	}
	return m, nil
}

// restMsg says that an agent has been chosen for a moment: who goes through the list quickly
// asks for no screens.
type restMsg string

// rest is that moment.
const rest = 120 * time.Millisecond

func (msg restMsg) tell(m Model) (Model, tea.Cmd) {
	if m.row().target().key() == string(msg) {
		m.watched = string(msg)
	}
	return m, nil
}

// due asks what is to be known anew: what is shown, and nothing else.
func (m Model) due(asks []tea.Cmd) (Model, []tea.Cmd) {
	if m.now.IsZero() {
		return m, asks
	}
	m, asks = m.wake(asks)
	m, asks = m.dueHosts(asks)
	if m.isDue(m.look.when()) {
		m.look.begin(m.now, "")
		asks = append(asks, m.askLook())
	}
	if m.pane == alerts && m.isDue(m.alerts.when()) {
		m.alerts.begin(m.now, "")
		asks = append(asks, asking(m.o, "", func(ctx context.Context, c *api.Client) (api.Alerts, error) { return c.Alerts(ctx, false) }, func(t told[api.Alerts]) tea.Msg { return alertsMsg(t) }))
	}
	if m.pane == feed && m.isDue(m.feed.when()) {
		m.feed.begin(m.now, "")
		asks = append(asks, asking(m.o, "", func(ctx context.Context, c *api.Client) (api.Feed, error) {
			return c.Feed(ctx, api.FeedQuery{Limit: mostFeed})
		}, func(t told[api.Feed]) tea.Msg { return feedMsg(t) }))
	}
	if m.pane == work && m.isDue(m.work.when()) {
		m.work.begin(m.now, "")
		asks = append(asks, asking(m.o, "", func(ctx context.Context, c *api.Client) (api.WorkList, error) { return c.Work(ctx, api.WorkQuery{}) }, func(t told[api.WorkList]) tea.Msg { return workMsg(t) }))
	}
	return m.dueScreen(asks)
}

// wake sees that a look of what has changed is asked for as soon as its pause is over.
func (m Model) wake(asks []tea.Cmd) (Model, []tea.Cmd) {
	w := m.look.when()
	left := w.pause() - m.now.Sub(w.asked)
	if !w.again || w.asking || m.wakes || left <= 0 {
		return m, asks
	}
	m.wakes = true
	return m, append(asks, tea.Tick(left, func(t time.Time) tea.Msg { return wakeMsg(t) }))
}

// dueScreen asks for the screen of the chosen agent, while that is shown to somebody.
func (m Model) dueScreen(asks []tea.Cmd) (Model, []tea.Cmd) {
	of := m.row().target()
	name := of.key()
	switch {
	case m.layout().preview == 0 || m.away || of.agent == "":
		return m, asks
	case m.watched != name:
		if m.resting != name {
			m.resting = name
			asks = append(asks, tea.Tick(rest, func(time.Time) tea.Msg { return restMsg(name) }))
		}
		return m, asks
	}
	m.resting = ""
	if !isDue(m.screen.when(), m.now, name, second) {
		return m, asks
	}
	m.screen.begin(m.now, name)
	many := m.layout().preview
	return m, append(asks, asking(m.o, of.host, func(ctx context.Context, c *api.Client) (api.Screen, error) { return c.Screen(ctx, of.agent, many) },
		func(t told[api.Screen]) tea.Msg { return screenMsg{t, name} }))
}

// preview is what is known of the chosen row, and the end of what its terminal shows.
func (m Model) preview(room int) []string {
	if room == 0 {
		return nil
	}
	r := m.row()
	if r.key == "" {
		return filled(nil, room)
	}
	if r.agent == "" {
		out := append([]string{m.ruled(alertName(r))}, wrap(r.about, m.width)...)
		return filled(append(out, m.paint(bold, r.next)), room)
	}
	about := strings.TrimSuffix(m.doing(r.target()), "\n")
	return filled(append([]string{m.ruled(cmp.Or(about, r.about))}, m.screenLines(r.target(), room-1)...), room)
}

// ruled is a text in a line that parts what is above it from what is below.
func (m Model) ruled(text string) string {
	return m.paint(faint, cut("── "+text+" "+strings.Repeat("─", m.width), m.width))
}

// alertName is an alert's number and rule, as far as it has them.
func alertName(r row) string {
	if r.alert > 0 {
		return numbered(r.host, r.alert) + " " + flat(r.rule)
	}
	return cmp.Or(flat(r.rule), "no alert yet")
}

func (m Model) screenLines(of target, room int) []string {
	switch {
	case m.screen.of != of.key() || m.screen.at.IsZero() && m.screen.err == nil:
		return nil
	case m.screen.err != nil:
		what, _ := m.o.Words.Error(of.host, m.screen.err)
		return []string{m.paint(faint, flat(what))}
	}
	all := lines(m.screen.v.Text)
	return all[max(0, len(all)-room):]
}

func (m Model) alertRows() []row {
	all := m.allAlerts()
	list := kept(m, each(all, func(a api.Alert) row { return m.alert(a) }))
	title := "ALERTS " + m.countOf(len(list), len(all))
	if by := priorities(list); by != "" {
		title += ": " + by
	}
	return section(title+m.nothingOf(m.alerts.at, len(list)), alertColumns(), list)
}

func alertColumns() []column {
	return []column{{most: 20, shrink: cut, keep: 6, right: true, least: 40}, {most: 2}, {head: "RULE", most: 24, least: 90, shrink: middle, keep: 12}, {head: "SUBJECT", most: 34, shrink: middle, keep: 28}, {head: "FOR", right: true, dwell: true, least: 34}, {head: "STATE", most: 17, least: 60}, {head: "WHAT", least: 50}}
}

func (m Model) alert(a api.Alert) row {
	kind, name, _ := strings.Cut(a.Subject, "/")
	r := row{key: "alert " + a.Host + " " + a.Rule + " " + a.Subject, host: a.Host, alert: a.Number, id: a.ID, rule: a.Rule, subject: a.Subject}
	if d, err := time.ParseDuration(a.For); err == nil {
		r.since = m.alertsBase().Add(-max(0, d))
	}
	if kind == "agent" {
		r.agent = name
	}
	number := ""
	if a.Number > 0 {
		number = numbered(a.Host, a.Number)
	}
	subject := on(a.Host, m.subject(a.Subject))
	r.about = subject + ": " + without(a.Summary, name)
	r.cells = []string{number, flat(a.Priority), flat(a.Rule), subject, "", stateOf(a), without(a.Summary, name)}
	r.colours = []string{faint, urgent(a.Priority), faint, bold, faint, faint, ""}
	r.text = strings.Join([]string{number, a.Priority, a.Rule, r.about, stateOf(a)}, " ")
	return r
}

// stateOf says what is unusual about an alert.
func stateOf(a api.Alert) string {
	switch {
	case a.AckedBy != "" && a.Status != "firing":
		return flat(a.Status) + ", taken up"
	case a.AckedBy != "":
		return "taken up: " + flat(a.AckedBy)
	case a.SilencedUntil != nil:
		return "silenced"
	case a.Blind != "":
		return "cannot tell"
	case a.Flapping:
		return "flapping"
	case a.Status != "firing":
		return flat(a.Status)
	}
	return ""
}

// priorities counts the rows that are shown by how urgent they are.
func priorities(list []row) string {
	count := map[string]int{}
	for _, r := range list {
		count[r.cells[1]]++
	}
	var out []string
	for _, p := range []string{"P0", "P1", "P2", "P3", "P4"} {
		if count[p] > 0 {
			out = append(out, fmt.Sprintf("%d %s", count[p], p))
		}
	}
	return strings.Join(out, " · ")
}

// nothingOf says why a list is empty.
func (m Model) nothingOf(at time.Time, n int) string {
	switch {
	case n > 0:
		return ""
	case at.IsZero():
		return "  asking …"
	case m.filter != "":
		return "  nothing that has " + flat(m.filter)
	}
	return ""
}

// feedRows are the newest things first.
func (m Model) feedRows() []row {
	all := m.feed.v.Entries
	list := make([]row, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		list = append(list, m.entry(all[i]))
	}
	list = kept(m, list)
	return section("FEED "+m.countOf(len(list), len(all))+m.nothingOf(m.feed.at, len(list)), []column{{most: 8, least: 30}, {most: 24, shrink: middle, keep: 12}, {most: 18, least: 50}, {}}, list)
}

func (m Model) entry(e api.FeedEntry) row {
	r := row{key: "entry " + e.ID, agent: e.Agent, subject: e.About}
	who := flat(e.Agent)
	switch {
	case e.Agent != "":
		r.subject = "agent/" + e.Agent
	case e.About != "":
		who = m.subject(e.About)
	}
	colour := ""
	if e.Bad {
		colour = yellow
	}
	r.cells = []string{e.At.UTC().Format("15:04:05"), who, flat(e.Kind), flat(e.Text)}
	r.colours = []string{faint, bold, colour, ""}
	r.about = who + " " + flat(e.Kind) + ": " + flat(e.Text)
	r.text = r.about
	return r
}

func (m Model) workRows() []row {
	all := m.work.v.Work
	list := kept(m, each(all, func(w api.Work) row { return m.piece(w) }))
	return section("WORK "+m.countOf(len(list), len(all))+m.nothingOf(m.work.at, len(list)),
		[]column{{head: "REF", most: 16, shrink: middle, keep: 8}, {head: "STATE", most: 12}, {head: "AGENT", most: 20, least: 50, shrink: middle, keep: 8}, {head: "TITLE"}, {head: "WAITS FOR", most: 24, least: 90}}, list)
}

func (m Model) piece(w api.Work) row {
	r := row{key: "work " + w.Ref, agent: w.Agent, subject: "work/" + w.Ref}
	state := flat(w.State)
	if w.Ready {
		state = "ready"
	}
	waits := flat(strings.Join(w.BlockedBy, " "))
	r.cells = []string{flat(w.Ref), state, flat(w.Agent), flat(w.Title), waits}
	r.colours = []string{bold, "", "", "", faint}
	r.about = flat(w.Ref) + " · " + state + " · " + flat(w.Title)
	r.text = strings.Join([]string{w.Ref, w.State, w.Agent, w.Title, w.Project, w.Role}, " ")
	return r
}
