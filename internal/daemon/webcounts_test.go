package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/cli"
	"custos/internal/config"
	"custos/internal/daemon"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/observe"
	"custos/internal/web"
)

// counted is a list that a page shows and counts, and the command that prints it.
type counted struct {
	path string                       // of the page
	head string                       // id of the element that says how many there are, in its first number
	in   string                       // id of the section of the list
	row  string                       // of each row: the name of an attribute, or of an element
	by   string                       // by which of its texts the rows are counted, too, as a class; "" for none
	args []string                     // of the command
	list string                       // where the list is in what it prints
	key  func(json.RawMessage) string // what of an item it is counted by
}

// countedLists are those that every random world is counted in: a line for each.
var countedLists = append(recordLists(),

	counted{path: "/", head: "needs-title", in: "needs", row: "li", by: "priority", args: []string{"--json"}, list: "needs_you", key: field("priority")},
	counted{path: "/", head: "states-title", in: "agents", row: "data-agent", by: "state", args: []string{"--json"}, list: "agents", key: field("state")},
	counted{path: "/", head: "states-title", in: "agents", row: "data-agent", by: "state", args: []string{"ps", "--json"}, list: "agents", key: field("state")},
	counted{path: "/agents", head: "states-title", in: "agents", row: "data-agent", by: "state", args: []string{"ps", "--json"}, list: "agents", key: field("state")},
	counted{path: "/alerts", head: "alerts-title", in: "alerts", row: "data-alert", by: "priority", args: []string{"alerts", "--json"}, list: "alerts", key: field("priority")},
	counted{path: "/alerts?all=1", head: "alerts-title", in: "alerts", row: "data-alert", by: "priority", args: []string{"alerts", "--all", "--json"}, list: "alerts", key: field("priority")},
)

// crowdToml has an alert of each priority, and two that are not true for long enough.
const crowdToml = `
[rule.crowd-zero]
over = "agent"
priority = "P0"
expr = "agent.name.startsWith('a')"
summary = "'zero ' + agent.name"
[rule.crowd-one]
over = "agent"
priority = "P1"
expr = "agent.name.startsWith('b')"
summary = "'one ' + agent.name"
[rule.crowd-three]
over = "agent"
priority = "P3"
expr = "agent.name.startsWith('c')"
summary = "'three ' + agent.name"
[rule.crowd-four]
over = "agent"
priority = "P4"
expr = "agent.name.startsWith('d')"
summary = "'four ' + agent.name"
[rule.crowd-later]
over = "agent"
priority = "P2"
for = "1h"
expr = "agent.name.startsWith('e')"
summary = "'later ' + agent.name"
[rule.crowd-tidy-later]
over = "agent"
priority = "P4"
for = "1h"
expr = "agent.name.startsWith('f')"
summary = "'later ' + agent.name"
`

// Each number of the page is that of the rows that it shows, and those are what the commands
// print, whatever there is, and however badly it is seen.
func TestThePageCountsWhatTheCommandsCount(t *testing.T) {
	worlds := fleettest.Histories(t) / 3 / scenesOfAWorld // a hundred snapshots; make histories has a thousand
	if fleettest.Raced {
		worlds = 1
	}
	fleettest.Checks(t, worlds)
	rapid.Check(t, func(rt *rapid.T) {
		g := daemon.NewStaged(t, crowdToml+booksToml)
		defer g.Close()
		w := newCensus(rt, t.Context(), g)
		for range scenesOfAWorld {
			w.sees(crowd(rt))
			w.actsAtRandom()
			w.writesAtRandom()
			w.checksAll()
		}
	})
}

// So it is where there is more than one page of them.
func TestThePageCountsACrowd(t *testing.T) {
	fleettest.Checks(t, 1)
	rapid.Check(t, func(rt *rapid.T) {
		g := daemon.NewStaged(t, crowdToml+booksToml)
		defer g.Close()
		var agents []fleet.Agent
		for n := range 250 {
			agents = append(agents, fleet.Agent{Name: fmt.Sprintf("%c%d", "abcd"[n%4], n), Kind: "claude", State: fleet.AgentState(api.AgentStates()[n%15]), Owner: fleet.OwnerForeign})
		}
		w := newCensus(rt, t.Context(), g)
		w.sees(map[fleet.PartName]daemon.Scene{fleet.PartAgents: {Put: func(s *fleet.Snapshot) { s.Agents.Value = append(s.Agents.Value, agents...) }}})
		w.checksAll()
		if len(w.leafs("/alerts")) < 2 {
			rt.Fatal("all alerts are on one page")
		}
	})
}

// scenesOfAWorld is how many snapshots follow one another in the same ledger, so that alerts
// end, come back, and are held where they cannot be seen any more.
const scenesOfAWorld = 10

// crowd draws agents in every state, and how well each part is seen.
func crowd(rt *rapid.T) map[fleet.PartName]daemon.Scene {
	agents := rapid.SliceOfNDistinct(rapid.Custom(anAgent), 0, 12, func(a fleet.Agent) string { return a.Name }).Draw(rt, "agents")
	out := map[fleet.PartName]daemon.Scene{}
	for _, part := range fleet.PartNames() {
		put := func(*fleet.Snapshot) {}
		switch part {
		case fleet.PartAgents:
			put = func(s *fleet.Snapshot) { s.Agents.Value = append(s.Agents.Value, agents...) }
		case fleet.PartRepos:
			n := rapid.IntRange(0, 3).Draw(rt, "worktrees")
			put = func(s *fleet.Snapshot) { s.Repos.Value = worktrees(n) }
		}
		switch how := rapid.SampledFrom([]string{"ok", "ok", "ok", "stale", "unknown", "absent", "pending"}).Draw(rt, string(part)); how {
		case "stale":
			out[part] = daemon.Scene{Put: put, Err: errors.New("it was seen in part")}
		case "unknown":
			out[part] = daemon.Scene{Err: errors.New("it cannot be seen")}
		case "absent":
			out[part] = daemon.Scene{Err: observe.ErrAbsent}
		default:
			out[part] = daemon.Scene{Put: put, Unsure: how == "pending"}
		}
	}
	return out
}

// worktrees are some of which little is known.
func worktrees(n int) (out fleet.Repos) {
	for n := range n {
		out.Worktrees = append(out.Worktrees, fleet.Worktree{Path: fmt.Sprintf("/shop/wt/%d", n), Repo: "/shop", Owner: fleet.OwnerForeign, Missing: n == 1})
	}
	return out
}

func anAgent(rt *rapid.T) fleet.Agent {
	a := fleet.Agent{Name: rapid.StringMatching(`[a-g][a-z]{0,3}`).Draw(rt, "name"), Kind: "claude", Reason: "its hooks say so", Source: "hook",
		State: fleet.AgentState(rapid.SampledFrom(append(api.AgentStates(), "of tomorrow")).Draw(rt, "state")),
		Owner: rapid.SampledFrom([]fleet.Owner{fleet.OwnerCustos, fleet.OwnerAdopted, fleet.OwnerForeign}).Draw(rt, "owner")}
	if rapid.Bool().Draw(rt, "known since when") {
		a.Dwell = fleet.Known(fleet.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(rt, "dwell")))
	}
	return a
}

// census counts one random world, by the page and by the commands.
type census struct {
	*rapid.T
	ctx   context.Context
	stage *daemon.Staged
	api   http.Handler
	page  http.Handler
	// how much was written down
	made, mailed, ran, spent int
	// of the scene that is seen now, each asked for once
	printed map[string][]byte
	shown   map[string]*html.Node
}

func newCensus(rt *rapid.T, ctx context.Context, g *daemon.Staged) *census {
	w := &census{T: rt, ctx: ctx, stage: g, api: g.Handler()}
	var err error
	w.page, err = web.New(web.Options{API: w.api, Site: web.Site{Port: 7777}, Sessions: everybody{}, Peers: everybody{},
		Refused: func(context.Context, string) {}, Now: time.Now, Newest: w.changed()})
	if err != nil {
		rt.Fatal(err)
	}
	return w
}

// changed has each page be made anew.
func (w *census) changed() func() int64 {
	var number atomic.Int64
	return func() int64 { return number.Add(1) }
}

func (w *census) sees(scenes map[fleet.PartName]daemon.Scene) {
	w.stage.Play(scenes)
	w.printed, w.shown = map[string][]byte{}, map[string]*html.Node{}
}

// prints is what a command prints.
func (w *census) prints(into any, args ...string) {
	w.Helper()
	key := strings.Join(args, " ")
	text, ok := w.printed[key]
	if !ok {
		text = w.runs(args)
		w.printed[key] = text
	}
	if err := json.Unmarshal(text, into); err != nil {
		w.Fatalf("custos %v: %v\n%s", args, err, text)
	}
}

func (w *census) runs(args []string) []byte {
	w.Helper()
	var out, said bytes.Buffer
	code := cli.Run(w.ctx, cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Version: "test", Width: 100,
		Getenv: func(k string) string { return map[string]string{"HOME": w.stage.Home(), "USER": "me"}[k] },
		Daemon: cli.Daemon{
			Local: func(context.Context, config.Config) (http.Handler, func() error, error) {
				return w.api, func() error { return nil }, nil
			},
			Socket: func(config.Config) string { return w.stage.Home() + "/none" }, Runs: func(config.Config) bool { return false },
			Frozen: func(config.Config) string { return "" },
		}})
	if code != 0 && code != 3 { // 3: the agents are not seen
		w.Fatalf("custos %v ended with %d: %s", args, code, &said)
	}
	return out.Bytes()
}

// shows is a page as a person sees it.
func (w *census) shows(path string) *html.Node {
	w.Helper()
	if doc := w.shown[path]; doc != nil {
		return doc
	}
	r := httptest.NewRequestWithContext(w.ctx, http.MethodGet, "http://127.0.0.1:7777"+path, nil)
	r.AddCookie(&http.Cookie{Name: "custos-7777", Value: "me"})
	rec := httptest.NewRecorder()
	w.page.ServeHTTP(rec, r)
	doc, err := html.Parse(rec.Body)
	if err != nil || rec.Code != http.StatusOK {
		w.Fatalf("%s: %d, %v", path, rec.Code, err)
	}
	w.shown[path] = doc
	return doc
}

// leafs is a page with those that go on with it.
func (w *census) leafs(path string) (docs []*html.Node) {
	w.Helper()
	for path != "" {
		doc := w.shows(path)
		docs, path = append(docs, doc), ""
		for _, a := range all(doc, func(n *html.Node) bool { return n.Data == "a" && textOf(n) == "More" }) {
			path = attribute(a, "href")
		}
	}
	return docs
}

// everybody has a session, and is who this process is.
type everybody struct{}

func (everybody) Of(context.Context, string) (web.Session, bool) {
	return web.Session{ID: "me", By: "me", Terminal: true}, true
}
func (everybody) Enter(context.Context, string, string) (string, time.Time, web.Session, error) {
	return "", time.Time{}, web.Session{}, errors.New("nobody enters")
}
func (everybody) Leave(context.Context, string) error       { return nil }
func (everybody) Looks(ctx context.Context) context.Context { return ctx }
func (everybody) Person(ctx context.Context, _, _ netip.AddrPort, _ bool) (context.Context, error) {
	return ctx, nil
}

// actsAtRandom takes some alerts up, and has some be silent.
func (w *census) actsAtRandom() {
	c := api.NewClient(api.InProcess(w.api))
	v, err := c.Alerts(w.ctx, false)
	if err != nil {
		w.Fatal(err)
	}
	done := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "ack", "silence"}), 1, 5).Draw(w.T, "done")
	for _, a := range v.Alerts {
		if a.Status != "firing" || a.Number == 0 {
			continue
		}
		switch done[a.Number%int64(len(done))] {
		case "ack":
			_, err = c.Acknowledge(w.ctx, a.Number, api.AckOrder{By: "ann"})
		case "silence":
			_, err = c.Silence(w.ctx, api.SilenceOrder{Rule: a.Rule, Subject: a.Subject, For: "1h"})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// checks holds a list of a page against what is counted there, and against the command.
func (w *census) checks(c counted) {
	w.Helper()
	var said map[string]json.RawMessage
	w.prints(&said, c.args...)
	var items []json.RawMessage
	if err := json.Unmarshal(said[c.list], &items); err != nil {
		w.Fatalf("custos %v has no %s: %v", c.args, c.list, err)
	}
	rows, shown, printed := 0, map[string]int{}, map[string]int{}
	for _, doc := range w.leafs(c.path) {
		n, by := w.checksLeaf(doc, c)
		rows += n
		for what, n := range by {
			shown[what] += n
		}
	}
	for _, item := range items {
		printed[c.key(item)]++
	}
	if rows != len(items) || c.by != "" && !maps.Equal(shown, printed) {
		w.Fatalf("%s shows %d of %s, %v; custos %v has %d, %v", c.path, rows, c.in, shown, c.args, len(items), printed)
	}
}

// checksLeaf holds what one page counts against the rows that it shows.
func (w *census) checksLeaf(doc *html.Node, c counted) (n int, by map[string]int) {
	w.Helper()
	rows, by := rowsOf(doc, c), map[string]int{}
	if named(doc, c.in) == nil { // what is not there is not counted
		return 0, by
	}
	if head := textOf(named(doc, c.head)); firstNumber(head) != len(rows) {
		w.Fatalf("%s shows %d rows of %s under %q", c.path, len(rows), c.in, head)
	}
	if c.by == "" {
		return len(rows), by
	}
	for _, row := range rows {
		by[textOf(first(row, isOf(c.by)))]++
	}
	counts := beside(doc, c)
	for what := range by {
		if _, ok := counts[what]; !ok && len(counts) > 0 {
			w.Fatalf("%s shows %s, and does not count them", c.path, what)
		}
	}
	for what, n := range counts {
		if n != by[what] {
			w.Fatalf("%s counts %d %s, and shows %d", c.path, n, what, by[what])
		}
	}
	return len(rows), by
}

// checksAll holds every count of the scene that is seen now.
func (w *census) checksAll() {
	w.Helper()
	for _, c := range countedLists {
		w.checks(c)
	}
	w.checks(costsBy(rapid.SampledFrom(api.CostGroups()).Draw(w.T, "costs by")))
	w.checksFilters()
	w.checksStatus()
}

// checksFilters follows each count of agents to the rows that it is of.
func (w *census) checksFilters() {
	w.Helper()
	all := counted{path: "/agents", in: "agents", row: "data-agent", by: "state"}
	counts := beside(w.shows("/agents"), all)
	if _, ok := counts["unknown"]; !ok {
		w.Fatalf("unknown is not counted: %v", counts)
	}
	for state, n := range counts {
		path := "/agents?state=" + strings.ReplaceAll(state, " ", "+")
		doc := w.shows(path)
		if rows := rowsOf(doc, all); len(rows) != n || firstNumber(textOf(named(doc, "states-title"))) != n {
			w.Fatalf("%s shows %d rows under %q, and is counted %d", path, len(rows), textOf(named(doc, "states-title")), n)
		}
	}
}

// checksStatus holds what custos status counts against the alerts and the agents that are
// listed, and the housekeeping of the first page, which it only counts.
func (w *census) checksStatus() {
	w.Helper()
	var status api.Status
	var alerts api.Alerts
	var agents api.Agents
	var look api.FirstLook
	w.prints(&status, "status", "--json")
	w.prints(&alerts, "alerts", "--json")
	w.prints(&agents, "ps", "--json")
	w.prints(&look, "--json")
	firing := map[string]int{}
	for _, a := range alerts.Alerts {
		if a.Status == "firing" {
			firing[a.Priority]++
		}
	}
	if !maps.Equal(status.Firing, firing) || status.Agents != len(agents.Agents) {
		w.Fatalf("custos status counts %v and %d agents; alerts has %v, ps %d", status.Firing, status.Agents, firing, len(agents.Agents))
	}
	tidy := 0
	for _, a := range all(named(w.shows("/"), "needs"), func(n *html.Node) bool { return attribute(n, "href") == "/alerts" }) {
		tidy = firstNumber(textOf(a))
	}
	if tidy != firing["P4"] || look.Housekeeping != tidy {
		w.Fatalf("the first page counts %d to tidy up, custos %d; %d are firing", tidy, look.Housekeeping, firing["P4"])
	}
}

func rowsOf(doc *html.Node, c counted) []*html.Node {
	return all(named(doc, c.in), func(n *html.Node) bool { return n.Data == c.row || hasAttribute(n, c.row) })
}

// beside are the numbers that a page has beside the names of what its rows are: in the section
// of the list, or before it.
func beside(doc *html.Node, c counted) map[string]int {
	if within := tallied(named(doc, c.in), c); len(within) > 0 {
		return within
	}
	return tallied(doc, c)
}

func tallied(doc *html.Node, c counted) map[string]int {
	out := map[string]int{}
	for _, li := range all(doc, func(n *html.Node) bool { return n.Data == "li" && attribute(n.Parent, "class") == "counts" }) {
		if what := first(li, isOf(c.by)); what != nil {
			out[textOf(what)] = firstNumber(textOf(first(li, isOf("count"))))
		}
	}
	return out
}

// isOf says of which elements the first class is that.
func isOf(class string) func(*html.Node) bool {
	return func(n *html.Node) bool {
		own, _, _ := strings.Cut(attribute(n, "class"), " ")
		return own == class
	}
}

func named(doc *html.Node, id string) *html.Node {
	return first(doc, func(n *html.Node) bool { return attribute(n, "id") == id })
}

func first(doc *html.Node, is func(*html.Node) bool) *html.Node {
	if found := all(doc, is); len(found) > 0 {
		return found[0]
	}
	return nil
}

// all are the elements below one that are something.
func all(doc *html.Node, is func(*html.Node) bool) (out []*html.Node) {
	if doc == nil {
		return nil
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && is(n) {
			out = append(out, n)
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// textOf is what a person reads of an element.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// firstNumber is the first number of a text; -1 where it has none.
func firstNumber(text string) int {
	n := -1
	if at := strings.IndexAny(text, "0123456789"); at >= 0 {
		_, _ = fmt.Sscan(text[at:], &n)
	}
	return n
}
