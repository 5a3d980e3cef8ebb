package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
)

// row is one thing on the screen, or the title of those below it.
type row struct {
	key     string // the same thing from one look to the next; "" for a title
	title   string
	cells   []string
	next    string // the one command that is proposed
	colours []string
	since   time.Time // of the local clock; zero where it is not known
	host    string    // another machine that it is of; "" for this one
	agent   string    // that orders go to, by its name there; "" for none
	alert   int64
	id      string // of the alert that is shown; "" where it is not told
	rule    string
	subject string // kind/name
	text    string // what the filter looks in
	about   string // all of it, in one sentence
	in      *table
}

// table is a title and what stands below it.
type table struct {
	columns []column
	wide    []int // cells of the widest text in each
}

// section is a title with its rows, which know now in which columns they stand.
func section(title string, columns []column, rows []row) []row {
	t := &table{columns: columns, wide: make([]int, len(columns))}
	for i, c := range columns {
		t.wide[i] = wide(c.head)
	}
	all := append([]row{{title: title}}, rows...)
	for i := range all {
		all[i].in = t
		for j, text := range all[i].cells {
			t.wide[j] = max(t.wide[j], wide(text))
		}
	}
	return all
}

// column is one column of the rows below a title.
type column struct {
	head   string
	least  int // cells of the terminal from which on it is shown
	until  int // and from which on no more; 0: always
	most   int // cells of its own; 0: what is left
	right  bool
	shrink func(string, int) string // nil: it is never less than its texts
	keep   int                      // cells that it keeps then
	dwell  bool                     // how long since row.since: it counts on by itself
}

// sorting is by what the agents are sorted.
type sorting int

const (
	byNeed sorting = iota // as they are told: what may wait for a person first
	byName
	byState
	bySince
	byContext
	byCost
	sortings
)

func (s sorting) String() string {
	return [...]string{"need", "name", "state", "since", "context", "cost"}[s]
}

// basis is everything that the rows are made of: as long as it is the same, so are they.
type basis struct {
	look, alerts, feed, work time.Time
	hosts                    int64
	pane                     pane
	filter                   string
	sorting                  sorting
}

func (m Model) basis() basis {
	return basis{m.look.at, m.alerts.at, m.feed.at, m.work.at, m.hostsNumber, m.pane, m.filter, m.sorting}
}

// settle makes the rows of what is known, and sees that one of them is chosen.
func (m Model) settle() Model {
	if b := m.basis(); m.rows == nil || b != m.made {
		m.rows, m.made = m.rowsOf(), b
	}
	if m.place() < 0 {
		m.chosen[m.pane] = m.nearest()
	}
	if m.page != nil {
		m = m.turned()
	}
	if m.form != nil {
		m = m.read()
	}
	return m.scrolled()
}

// scrolled shows the chosen row, and moves what is shown no further than that takes.
func (m Model) scrolled() Model {
	room, at, first := m.layout().room, m.place(), m.offset[m.pane]
	if at <= 1 || at < first {
		first = max(0, at)
	}
	if first == 1 { // with its title
		first = 0
	}
	for first < at && m.high(first, at) > room {
		first++
	}
	for first > 0 && m.high(first-1, len(m.rows)-1) <= room {
		first--
	}
	m.offset[m.pane] = max(0, first)
	return m
}

// high is how many lines some rows take.
func (m Model) high(from, to int) (n int) {
	for i := from; i <= to && n < m.height; i++ {
		n += len(m.lines(m.rows[i]))
	}
	return n
}

// place is the place of the chosen row; -1 where it is not there.
func (m Model) place() int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.key != "" && r.key == m.chosen[m.pane] })
}

// nearest is the key of the first row.
func (m Model) nearest() string {
	for _, r := range m.rows {
		if r.key != "" {
			return r.key
		}
	}
	return ""
}

// row is the chosen one; an empty one where there is none.
func (m Model) row() row {
	if i := m.place(); i >= 0 {
		return m.rows[i]
	}
	return row{}
}

func (m Model) rowsOf() []row {
	switch m.pane {
	case agents:
		return m.agentRows()
	case alerts:
		return m.alertRows()
	case feed:
		return m.feedRows()
	case work:
		return m.workRows()
	default:
		return append(m.needRows(), m.agentRows()...)
	}
}

// began is when something began, by the local clock: it was so long ago when it was
// told, whatever the clock says there.
func began(since, at, got time.Time) time.Time {
	if since.IsZero() {
		return time.Time{}
	}
	return got.Add(-max(0, at.Sub(since)))
}

func (m Model) needRows() []row {
	all := m.needs()
	list := kept(m, each(all, func(n api.Need) row { return m.need(n) }))
	title := "NEEDS YOU " + m.countOf(len(list), len(all))
	if len(list) == 0 {
		title += "  " + m.nothing()
	}
	return section(title, needColumns(), list)
}

// nothing says why there is nothing: what was not seen is not nothing.
func (m Model) nothing() string {
	switch {
	case m.look.at.IsZero() && !m.isBlind():
		return "nobody has looked yet"
	case m.filter != "":
		return "nothing that has " + flat(m.filter)
	case m.isBlind() || len(unseen(m.look.v.look.Seen)) > 0 || m.isPartial():
		return "nothing that could be seen"
	}
	return "nothing"
}

func (m Model) need(n api.Need) row {
	kind, name, _ := strings.Cut(n.Subject, "/")
	r := row{key: "need " + n.Host + " " + n.Rule + " " + n.Subject, host: n.Host, alert: n.Number, id: n.ID, rule: n.Rule, subject: n.Subject, since: n.Since}
	if n.Host == "" {
		r.since = began(n.Since, m.look.v.look.At, m.look.at)
	}
	if kind == "agent" {
		r.agent = name
	}
	subject := on(n.Host, m.subject(n.Subject))
	r.about = subject + ": " + without(n.Summary, name)
	r.cells = []string{flat(n.Priority), "", r.about, subject, without(n.Summary, name), "→ " + flat(m.o.Words.Command(n.Command))}
	r.next = r.cells[len(r.cells)-1]
	r.colours = []string{urgent(n.Priority), faint, "", bold, "", faint}
	r.text = n.Priority + " " + n.Rule + " " + r.about
	return r
}

func needColumns() []column {
	return []column{{most: 2}, {right: true, dwell: true, least: 30}, {until: 60}, {most: 30, shrink: middle, keep: 20, least: 60}, {least: 60}, {most: 36, shrink: cut, keep: 24, least: 80}}
}

// without is a summary beside its subject: a name that it begins with is left out.
func without(summary, name string) string {
	return flat(strings.TrimPrefix(summary, name+" "))
}

// subject shows "lock//tmp/x" as "lock /tmp/x".
func (m Model) subject(s string) string {
	kind, name, ok := strings.Cut(s, "/")
	if !ok {
		return flat(s)
	}
	return flat(kind) + " " + m.path(name)
}

// path shows ~ for the home.
func (m Model) path(s string) string {
	if rest, ok := strings.CutPrefix(s, m.o.Home+"/"); ok && len(m.o.Home) > 1 {
		return "~/" + flat(rest)
	}
	return flat(s)
}

func urgent(priority string) string {
	return map[string]string{"P0": red, "P1": red, "P2": yellow, "P3": cyan}[priority]
}

func (m Model) agentRows() []row {
	all := m.agents()
	list := kept(m, each(m.sorted(all), func(g api.AgentRow) row { return m.agent(g) }))
	title := "AGENTS " + m.countOf(len(list), len(all))
	if m.isBlind() {
		title += ", and those of this machine, which are not known"
	}
	if beyond := api.Beyond(m.hosts); beyond != "" {
		title += ", " + flat(beyond)
	}
	if states := m.states(list); states != "" {
		title += ": " + states
	}
	if m.sorting != byNeed {
		title += "  by " + m.sorting.String()
	}
	return section(title, agentColumns(), list)
}

// countOf is how many rows are shown, and of how many.
func (m Model) countOf(shown, all int) string {
	if shown == all {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d of %d", shown, all)
}

// states counts the rows that are shown by what their agents do; what is unknown is a
// number of its own.
func (m Model) states(list []row) string {
	count := map[string]int{}
	for _, r := range list {
		count[r.cells[1]]++
	}
	var out []string
	for _, s := range api.AgentStates() {
		if n := count[s]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, strings.ReplaceAll(s, "_", " ")))
		}
	}
	return strings.Join(out, " · ")
}

func (m Model) agent(g api.AgentRow) row {
	r := row{key: "agent " + g.Host + " " + g.Name, host: g.Host, agent: g.Own(), subject: "agent/" + g.Own()}
	if d, err := time.ParseDuration(g.Since); err == nil {
		r.since = m.base().Add(-max(0, d))
	}
	state := known(g.State)
	r.cells = []string{flat(g.Name), state, "", flat(g.Source), m.context(g), m.cost(g), m.tokens(g), m.where(g), flat(cmp.Or(g.Failed, g.Conflict, g.Reason))}
	r.colours = []string{bold, stateColour(state), faint, faint, "", "", faint, "", ""}
	r.text = strings.Join([]string{g.Name, g.Kind, g.State, g.Role, g.Task, g.Project, g.CWD, g.Reason}, " ")
	r.about = m.aboutAgent(g)
	return r
}

// known is a state as one of those there are; any other is not known.
func known(state string) string {
	if !slices.Contains(api.AgentStates(), state) {
		return "unknown"
	}
	return state
}

func agentColumns() []column {
	return []column{{head: "NAME", most: 24, shrink: middle, keep: 12}, {head: "STATE", most: 12}, {head: "FOR", right: true, dwell: true, least: 34},
		{head: "SOURCE", most: 10, least: 60}, {head: "CTX", most: 5, right: true, least: 50}, {head: "COST", most: 8, right: true, least: 70},
		{head: "TOKENS", most: 6, right: true, least: 90}, {head: "WHERE", most: 32, shrink: middle, keep: 8, least: 78}, {head: "REASON", least: 100}}
}

func stateColour(state string) string {
	switch state {
	case "working", "idle", "starting", "finished", "stopped":
		return green
	case "unknown":
		return faint
	}
	return yellow
}

func (m Model) context(g api.AgentRow) string {
	if g.Context != nil {
		return fmt.Sprintf("%.0f%%", *g.Context)
	}
	return m.number(g.ContextUsed)
}

func (m Model) tokens(g api.AgentRow) string { return m.number(g.Tokens) }

func (m Model) number(n *int64) string {
	if n == nil {
		return ""
	}
	return m.o.Words.Tokens(*n)
}

func (m Model) cost(g api.AgentRow) string {
	if g.Dollars == nil {
		return ""
	}
	return m.o.Words.Dollars(*g.Dollars)
}

func (m Model) where(g api.AgentRow) string {
	switch {
	case g.CWD != "":
		return m.path(g.CWD)
	case g.Pane != "":
		return flat(g.Pane)
	}
	return ""
}

// aboutAgent is what an agent does and how that is known, in one line.
func (m Model) aboutAgent(g api.AgentRow) string {
	parts := []string{flat(g.Name), flat(g.Kind), known(g.State)}
	for _, s := range []string{g.Source, g.Reason, g.Failed, g.Conflict} {
		if s != "" {
			parts = append(parts, flat(s))
		}
	}
	return strings.Join(parts, " · ")
}

// sorted is a list of agents as the person wants it sorted; the names decide between equals.
func (m Model) sorted(list []api.AgentRow) []api.AgentRow {
	if m.sorting == byNeed {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b api.AgentRow) int { return cmp.Or(m.compare(a, b), cmp.Compare(a.Name, b.Name)) })
	return list
}

func (m Model) compare(a, b api.AgentRow) int {
	switch m.sorting {
	case byState:
		return cmp.Compare(a.State, b.State)
	case bySince:
		return cmp.Compare(lasted(a), lasted(b))
	case byContext:
		return cmp.Compare(value(b.Context), value(a.Context))
	case byCost:
		return cmp.Compare(value(b.Dollars), value(a.Dollars))
	}
	return 0
}

// lasted is how long an agent is in its state; longer than any where that is not known.
func lasted(g api.AgentRow) time.Duration {
	d, err := time.ParseDuration(g.Since)
	if err != nil {
		return 1<<63 - 1
	}
	return d
}

// value is a number, or one less than any where it is not known.
func value(p *float64) float64 {
	if p == nil {
		return -1
	}
	return *p
}

// kept are the rows that have what the filter looks for.
func kept(m Model, list []row) []row {
	if m.filter == "" {
		return list
	}
	want := strings.ToLower(m.filter)
	return slices.DeleteFunc(list, func(r row) bool { return !strings.Contains(strings.ToLower(r.text), want) })
}

// each is one row for each of a list.
func each[T any](list []T, of func(T) row) []row {
	out := make([]row, len(list))
	for i, x := range list {
		out[i] = of(x)
	}
	return out
}

// unseen are the parts that could not be looked at.
func unseen(parts []api.PartSeen) []api.PartSeen {
	return slices.DeleteFunc(slices.Clone(parts), func(s api.PartSeen) bool { return s.Status == "ok" || s.Status == "absent" })
}
