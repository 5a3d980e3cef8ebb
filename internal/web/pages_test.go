package web

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"custos/internal/api"
)

// filled is a value of which every text is the one given, every list has one entry, and
// everything that may be missing is there.
func filled[T any](text string) (v T) {
	fill(reflect.ValueOf(&v).Elem(), text, 0)
	return v
}

func fill(v reflect.Value, text string, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), text, depth+1)
		}
	case reflect.Slice:
		if depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text, depth+1)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, text, depth+1)
		}
	}
}

// hostile are texts that agents, trackers and files may have for a name, a title, a mail, a
// branch, a line of a log, or a screen.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, `</title><script>alert(1)</script>`, `</textarea><script>alert(1)</script>`,
		`</pre><svg onload=alert(1)>`, `<iframe srcdoc="<script>alert(1)</script>">`, `javascript:alert(1)`, `//evil.test/x`, `https://evil.test`, `data:text/html,<script>alert(1)</script>`,
		`" autofocus onfocus="alert(1)`, `' style='position:fixed`, "` onmouseover=alert(1) x=`", `<base href="https://evil.test/">`, `<meta http-equiv="refresh" content="0;url=https://evil.test">`,
		`<form action="https://evil.test"><button>Send`, `<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`, `<!--`, `-->`, `<![CDATA[`, `</section></main>`, `&lt;script&gt;`, `&#60;script&#62;`,
		`{{.}}`, `${alert(1)}`, "\u202Egnp.exe", "\u2066\u2069", "\x00<b>", "\x1b]0;title\x07", "\xff\xfe<i>", "a\r\nSet-Cookie: x=y", `..`, `a/b`, `a?b#c`, `%2e%2e%2f`, strings.Repeat("<b>", 500), strings.Repeat("x", 1<<14),
	}
}

// The answers of a daemon in which every text is the one given.
func saying(w *world, text string) {
	w.mirrored.Store(true)
	w.answers["GET /v1/look"] = filled[api.FirstLook](text)
	w.answers["GET /v1/status"] = filled[api.Status](text)
	w.answers["GET /v1/health"] = filled[api.Health](text)
	w.answers["GET /v1/agents"] = filled[api.Agents](text)
	w.answers["GET /v1/agents/builder"] = filled[api.AgentDetail](text)
	w.answers["GET /v1/agents/builder/screen"] = filled[api.Screen](text)
	order := filled[api.Order](text)
	order.Agent = "builder"
	w.answers["GET /v1/orders/X"] = order
	w.answers["GET /v1/alerts"] = filled[api.Alerts](text)
	w.answers["GET /v1/story"] = filled[api.Story](text)
	w.answers["GET /v1/alerts/3/offer"] = filled[api.Offer](text)
	sayingRecords(w, text)
	w.answers["GET /v1/plan"] = filled[api.Plan](text)
	w.answers["GET /v1/preflight"] = filled[api.Preflight](text)
	w.answers["GET /v1/feed"] = filled[api.Feed](text)
	w.answers["GET /v1/journal"] = filled[api.Journal](text)
	w.answers["GET /v1/report"] = filled[api.Report](text)
	w.answers["GET /v1/doctor"] = filled[api.Doctor](text)
	w.answers["GET /v1/then"] = filled[api.Then](text)
	w.answers["GET /v1/readings"] = filled[api.Readings](text)
	w.answers["GET /v1/settings"] = filled[api.Settings](text)
	w.answers["GET /v1/agents/broken"] = &api.Error{Kind: api.BadInput, Message: text, Hint: text}
}

// everyPage lists a path of each page.
func everyPage() []string {
	return append([]string{"/", "/agents", "/agents/builder?order=X", "/agents/builder/stop", "/agents/broken", "/alerts", "/alerts?all=1", "/alerts/3", "/alerts/3?done=ack",
		"/plan", "/why?of=x", "/host", "/timeline?agent=x", "/timeline?at=2026-11-24T09:00:00Z", "/journal", "/morning", "/doctor?all=1", "/settings",
		"/hosts/box/agents/builder?order=X", "/hosts/box/agents/builder/stop", "/hosts/box/alerts/3"}, recordPages()...)
}

// shape are the elements of a page and the names of their attributes, in order. Addresses
// must be of this page.
func shape(t *testing.T, path, text string, doc *html.Node) (out []string) {
	t.Helper()
	for _, n := range all(doc, func(*html.Node) bool { return true }) {
		names := []string{n.Data}
		for _, a := range n.Attr {
			names = append(names, a.Key)
			if slices.Contains([]string{"href", "src", "action", "formaction"}, a.Key) && a.Val != "" && !strings.HasPrefix(a.Val, "#") && (!strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "//")) {
				t.Errorf("%s with %.80q: %s leads to %.80q", path, text, a.Key, a.Val)
			}
		}
		out = append(out, strings.Join(names, " "))
	}
	return out
}

// Whatever a text says, a page has the elements and attributes that it has with a harmless
// one, and leads nowhere else.
func TestNoTextBecomesAnElement(t *testing.T) {
	for _, path := range everyPage() {
		w := newWorld(t)
		w.held = w.made(t)
		saying(w, "harmless")
		rec := w.get(t, path)
		if path != "/agents/broken" && rec.Code != http.StatusOK {
			t.Fatalf("%s: %s", path, describe(rec))
		}
		want := shape(t, path, "harmless", parsed(t, rec))
		if !strings.Contains(rec.Body.String(), "harmless") {
			t.Errorf("%s shows nothing of what it was told", path)
		}
		for _, said := range hostile() {
			saying(w, said)
			rec := w.get(t, path)
			if got := shape(t, path, said, parsed(t, rec)); !slices.Equal(got, want) {
				t.Errorf("%s with %.80q is of another shape: %d elements, want %d", path, said, len(got), len(want))
			}
			for name, values := range rec.Header() {
				if strings.Contains(strings.Join(values, ""), "x=y") {
					t.Errorf("%s with %.80q set the header %s", path, said, name)
				}
			}
		}
	}
}

// How long something is so is written as the commands write it, and not as the machine's form
// of it.
func TestDurationsAreWrittenForPersons(t *testing.T) {
	w := newWorld(t)
	w.held = w.made(t)
	saying(w, "50h25m45s")
	for path, shown := range map[string][]string{"/": {"for 2d2h"}, "/agents": {"for 2d2h"}, "/agents/builder?order=X": {"for 2d2h of 2d2h", "for 2d2h"}, "/agents/builder/stop": {"for 2d2h"},
		"/alerts": nil, "/alerts/3": {"for 2d2h"}, "/why?of=x": {"for 2d2h"}, "/host": nil, "/morning": {" 2d2h"}, "/timeline?at=2026-11-24T09:00:00Z": {"2d2h before"}} {
		doc := parsed(t, w.get(t, path))
		for _, want := range shown {
			if !strings.Contains(text(doc), want) {
				t.Errorf("%s does not show %q", path, want)
			}
		}
		for _, cell := range all(doc, func(n *html.Node) bool {
			return slices.Contains([]string{"Since", "For", "Age", "Idle for"}, attr(n, "data-label"))
		}) {
			if got := strings.TrimSpace(text(cell)); got != "2d2h" {
				t.Errorf("%s: %s is %q", path, attr(cell, "data-label"), got)
			}
		}
	}
}

// The heads of a page say how many rows it has, and of each state just as many as there are
// rows in it; unknown has a count of its own, also when it is none.
func TestCountsAreOfTheRowsShown(t *testing.T) {
	w := newWorld(t)
	w.held = w.made(t)
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) api.AgentRow {
			return api.AgentRow{Name: rapid.StringMatching(`[a-z0-9]{1,8}`).Draw(rt, "name"), State: rapid.SampledFrom(append(api.AgentStates(), "of tomorrow")).Draw(rt, "state")}
		}), 0, 30).Draw(rt, "rows")
		w.answers["GET /v1/look"] = api.FirstLook{Agents: rows}
		w.answers["GET /v1/agents"] = api.Agents{Agents: rows, Seen: api.PartSeen{Status: "ok"}}
		for _, path := range []string{"/", "/agents"} {
			doc := parsed(t, w.get(t, path))
			counted, shown := counts(doc), statesOfRows(doc)
			if _, ok := counted["unknown"]; !ok {
				rt.Fatalf("%s: unknown is not counted: %v", path, counted)
			}
			if shown["unknown"] == 0 {
				shown["unknown"] = 0
			}
			if !reflect.DeepEqual(counted, shown) || text(byID(t, doc, "states-title")) != plural(len(rows), "agent", "agents") {
				rt.Fatalf("%s counts %v under %q, and shows %v", path, counted, text(byID(t, doc, "states-title")), shown)
			}
		}
		state := rapid.SampledFrom(api.AgentStates()).Draw(rt, "shown")
		doc := parsed(t, w.get(t, "/agents?state="+state))
		n := statesOfRows(doc)
		if text(byID(t, doc, "states-title")) != plural(n[state], "agent is", "agents are")+" "+state || len(n) > 1 {
			rt.Fatalf("of %s alone it shows %v under %q", state, n, text(byID(t, doc, "states-title")))
		}
	})
}

// counts are the numbers beside the names of states.
func counts(doc *html.Node) map[string]int {
	out := map[string]int{}
	for _, a := range all(doc, func(n *html.Node) bool { return n.Data == "a" && strings.HasPrefix(attr(n, "href"), "/agents?state=") }) {
		var n int
		var state string
		_, _ = fmt.Sscanf(text(a), "%d %s", &n, &state)
		state, _ = url.QueryUnescape(strings.TrimPrefix(attr(a, "href"), "/agents?state="))
		out[state] = n
	}
	return out
}

// statesOfRows counts the rows of a page by their state.
func statesOfRows(doc *html.Node) map[string]int {
	out := map[string]int{}
	for _, tr := range all(doc, func(n *html.Node) bool { return attr(n, "data-agent") != "" }) {
		for _, s := range all(tr, func(n *html.Node) bool { return strings.HasPrefix(attr(n, "class"), "state ") }) {
			out[text(s)]++
		}
	}
	return out
}

// What is not seen is no fleet of none, and does not read as well.
func TestWhatIsNotSeenDoesNotReadAsWell(t *testing.T) {
	for _, status := range []string{"unknown", "pending"} {
		w := newWorld(t)
		part := api.PartSeen{Part: "agents", Status: status, Why: "the probe hangs"}
		w.answers["GET /v1/look"] = api.FirstLook{Seen: []api.PartSeen{part}}
		w.answers["GET /v1/agents"] = api.Agents{Seen: part}
		for _, path := range []string{"/", "/agents"} {
			if got := w.get(t, path).Body.String(); !strings.Contains(got, "the agents are not seen now ("+status+"): the probe hangs") || strings.Contains(got, "Nothing needs you") {
				t.Errorf("%s while agents are %s: %s", path, status, got)
			}
		}
	}
}

// What is wrong with Custos itself is on top of every page, also that it cannot be told.
func TestBanners(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/status"] = api.Status{Frozen: "by ann: the disk", Paused: []string{"shop, by bob"}, Notes: []string{"the ledger cannot be read: no"}}
	w.answers["GET /v1/health"] = api.Health{State: api.HealthLate, Why: "the last whole pass ended 5m ago", Notes: []string{"the ledger cannot be read: no"}, Mute: []string{"matrix: nothing has arrived"}}
	got := text(byID(t, parsed(t, w.get(t, "/")), "banners"))
	for _, want := range []string{"Frozen: nothing is done. by ann: the disk", "Paused: project shop, by bob", "(late): the last whole pass ended 5m ago. What is shown may be old.", "matrix: nothing has arrived"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Count(got, "the ledger cannot be read: no") != 1 {
		t.Errorf("said twice: %q", got)
	}
	delete(w.answers, "GET /v1/status")
	delete(w.answers, "GET /v1/health")
	got = text(byID(t, parsed(t, w.get(t, "/")), "banners"))
	if !strings.Contains(got, "How Custos itself is cannot be told") || !strings.Contains(got, "Whether Custos watches cannot be told") {
		t.Errorf("what cannot be told reads as well: %q", got)
	}
}

// Each thing that needs a person has its one next step: a place on the page, or a command.
func TestEachNeedHasItsNextStep(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/look"] = api.FirstLook{NeedsYou: []api.Need{
		{Number: 3, Priority: "P1", Subject: "worktree/x", Command: "custos approve 3"},
		{Number: 4, Priority: "P1", Subject: "agent/build er", Command: "custos answer 'build er'"},
		{Priority: "P2", Subject: "agent/idler", Command: "custos attach idler"},
		{Priority: "P3", Subject: "host/box", Command: "custos doctor"},
	}}
	needs := byID(t, parsed(t, w.get(t, "/")), "needs")
	var to []string
	for _, a := range all(needs, func(n *html.Node) bool { return n.Data == "a" }) {
		to = append(to, attr(a, "href"))
	}
	if !slices.Equal(to, []string{"/alerts/3", "/agents/build%20er", "/agents/idler"}) || !strings.Contains(text(needs), "custos doctor") || !strings.Contains(text(needs), "4 things need you") {
		t.Errorf("leads to %q: %s", to, text(needs))
	}
}

// Each form about an agent names the instance that is shown, and no other one is meant.
func TestFormsNameTheInstance(t *testing.T) {
	w := newWorld(t)
	w.mirrored.Store(true)
	w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "waiting", Owner: "custos", Instance: "i1"},
		Dialog: &api.AgentDialog{Hash: "h", Choices: []api.AgentChoice{{Name: "yes"}}}}
	found := 0
	for _, path := range []string{"/agents/builder", "/agents/builder/stop", "/hosts/box/agents/builder", "/hosts/box/agents/builder/stop"} {
		for _, f := range all(parsed(t, w.get(t, path)), func(n *html.Node) bool { return n.Data == "form" && attr(n, "action") != "/leave" }) {
			found++
			named := all(f, func(n *html.Node) bool { return attr(n, "name") == "instance" && attr(n, "value") == "i1" })
			if len(named) != 1 {
				t.Errorf("%s: the form to %s names %d instances", path, attr(f, "action"), len(named))
			}
		}
	}
	if found != 8 {
		t.Errorf("there are %d forms", found)
	}
}

// An agent's page gives the orders that its forms say, and nothing else: an answer goes to
// the question that was shown.
func TestWhatIsSentIsOrdered(t *testing.T) {
	for _, c := range []struct {
		path string
		form url.Values
		want api.OrderRequest
	}{
		{"/agents/builder/interrupt", url.Values{"id": {"AB2"}, "instance": {"i1"}}, api.OrderRequest{Do: "interrupt", Agent: "builder", ID: "AB2S1", Instance: "i1"}},
		{"/agents/build%20er/nudge", url.Values{"text": {"go on\r\nplease"}, "id": {"AB2"}}, api.OrderRequest{Do: "nudge", Agent: "build er", Text: "go on\nplease", ID: "AB2S1"}},
		{"/agents/builder/answer", url.Values{"choice": {"yes"}, "dialog": {"h4sh"}, "id": {"AB2"}}, api.OrderRequest{Do: "answer", Agent: "builder", Text: "yes", Dialog: "h4sh", ID: "AB2S1"}},
		{"/agents/builder/interrupt", url.Values{"id": {"AB2"}}, api.OrderRequest{Do: "interrupt", Agent: "builder", ID: "AB2S1"}},
		{"/agents/builder/stop", url.Values{"why": {"wrong branch"}, "id": {"AB2"}}, api.OrderRequest{Do: "stop", Agent: "builder", Text: "wrong branch", ID: "AB2S1"}},
	} {
		w := newWorld(t)
		w.answers["POST /v1/orders"] = api.Order{ID: "AB2", State: "queued"}
		rec := w.post(t, c.path, c.form)
		var got api.OrderRequest
		if err := json.Unmarshal([]byte(w.said["POST /v1/orders"]), &got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s ordered %+v, %v", c.path, got, err)
		}
		if rec.Code != 303 || rec.Header().Get("Location") != agentPath(c.want.Agent)+"?order=AB2S1#outcome" {
			t.Errorf("%s: %s to %s", c.path, describe(rec), rec.Header().Get("Location"))
		}
	}
	w := newWorld(t)
	for _, form := range []url.Values{{"text": {" \n"}, "id": {"AB2"}}, {"text": {"x"}}, {"text": {"x"}, "id": {"../x"}}} {
		if rec := w.post(t, "/agents/builder/nudge", form); rec.Code != 400 || w.did() {
			t.Errorf("%v: %s", form, describe(rec))
		}
	}
	w.answers["POST /v1/orders"] = &api.Error{Kind: api.BadInput, Message: "cannot stop it: it works", Hint: "custos why builder"}
	rec := w.post(t, "/agents/builder/stop", url.Values{"id": {"AB2"}})
	if rec.Code != 400 || !strings.Contains(rec.Body.String(), "cannot stop it: it works") || !strings.Contains(rec.Body.String(), `href="/agents/builder"`) {
		t.Errorf("a refusal: %s", describe(rec))
	}
}

// What became of an order is told where its form was, as far as it is known; an order of
// another agent is not.
func TestTheOutcomeIsTold(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/agents/builder"] = api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "idle", Owner: "custos"}}
	w.answers["GET /v1/orders/AB3"] = api.Order{ID: "AB3", Do: "stop", Agent: "other", State: "done"}
	for _, c := range []struct {
		o    api.Order
		want string
	}{
		{api.Order{State: "done", Why: "delivered (proof: transcript)", Arrival: &api.Arrival{Outcome: "delivered", Proof: "transcript"}}, "nudge: done delivered, as told by transcript"},
		{api.Order{State: "done", Arrival: &api.Arrival{Outcome: "delivered", Proof: "hook", Turn: &api.AgentTurn{State: "failed", Error: "authentication: API Error: 401 <b>"}}},
			"nudge: done delivered, as told by hook; the turn then failed: authentication: API Error: 401 <b>"},
		{api.Order{State: "done", Arrival: &api.Arrival{Outcome: "delivered", Proof: "hook", Turn: &api.AgentTurn{State: "unknown"}}}, "nudge: done delivered, as told by hook"},
		{api.Order{State: "failed", Why: "not delivered: nobody heard it", Arrival: &api.Arrival{Outcome: "not_delivered", Why: "nobody heard it"}}, "nudge: failed not delivered: nobody heard it"},
		{api.Order{State: "failed", Why: "cannot tell", Arrival: &api.Arrival{Outcome: "cannot_tell", Why: "it was killed"}}, "nudge: failed cannot tell whether it was delivered: it was killed"},
		{api.Order{State: "queued", Why: "it works", Guard: "state"}, "nudge: queued Held by the guard state. it works Look again"},
	} {
		c.o.ID, c.o.Do, c.o.Agent, c.o.Over = "AB2", "nudge", "builder", c.o.State != "queued"
		w.answers["GET /v1/orders/AB2"] = c.o
		if got := text(byID(t, parsed(t, w.get(t, "/agents/builder?order=AB2")), "outcome")); got != c.want {
			t.Errorf("told: %q, want %q", got, c.want)
		}
	}
	asks := api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "waiting", Owner: "custos"}, Dialog: &api.AgentDialog{Says: "May I?", Hash: "h", Choices: []api.AgentChoice{{Name: "yes"}}}}
	w.answers["GET /v1/agents/builder"] = asks
	for _, over := range []bool{false, true} { // who has answered is not asked again, and can stop it
		w.answers["GET /v1/orders/AB2"] = api.Order{ID: "AB2", Do: "answer", Agent: "builder", State: "open", Over: over}
		got := w.get(t, "/agents/builder?order=AB2").Body.String()
		if strings.Contains(got, `value="yes"`) != over || strings.Contains(got, "An answer is under way") == over || !strings.Contains(got, "/agents/builder/stop") {
			t.Errorf("answered, over %v: %s", over, got)
		}
	}
	for _, id := range []string{"AB3", "nobody"} {
		if got := w.get(t, "/agents/builder?order="+id).Body.String(); strings.Contains(got, `id="outcome"`) {
			t.Errorf("order %s is told: %s", id, got)
		}
	}
}

// A link shows what it names, without a terminal and without forms; what else there is it
// does not show, though it is asked for by name.
func TestALinkShowsWhatItNames(t *testing.T) {
	w := newWorld(t)
	row := func(name, project string) api.AgentRow {
		return api.AgentRow{Name: name, Project: project, State: "idle", Owner: "custos"}
	}
	for name, project := range map[string]string{"builder": "shop", "other": "bank"} {
		w.answers["GET /v1/agents/"+name] = api.AgentDetail{Agent: row(name, project), Dialog: &api.AgentDialog{Says: "the dialog"}, Signals: []api.AgentSignal{{Source: "output", Says: "the print"}}, Record: &api.AgentRecord{Prompt: "the prompt"}, Messages: []api.Message{{Subject: "the mail"}}}
		w.answers["GET /v1/agents/"+name+"/screen"] = api.Screen{Text: "the screen"}
	}
	w.answers["GET /v1/agents"] = api.Agents{Agents: []api.AgentRow{row("builder", "shop"), row("other", "bank")}}
	w.answers["GET /v1/story"] = api.Story{Subject: "agent/builder", Facts: []string{"a fact"}, Shown: []string{"the dialog"}, Alerts: []api.Alert{{Number: 3, Status: "firing"}}}
	w.sessions["why"], w.sessions["whyterminal"] = Session{ID: "w", Link: true, Page: "/why"}, Session{ID: "v", Link: true, Page: "/why", Terminal: true}
	w.sessions["alert"] = Session{ID: "x", Link: true, Page: "/alerts/3"}
	w.sessions["agent"] = Session{ID: "a", Link: true, Agent: "builder"}
	w.sessions["terminal"] = Session{ID: "t", Link: true, Agent: "builder", Terminal: true}
	w.sessions["project"] = Session{ID: "p", Link: true, Project: "shop"}
	w.sessions["page"] = Session{ID: "q", Link: true, Page: "/agents"}
	w.sessions["leave"] = Session{ID: "l", Link: true, Page: "/leave"}
	for _, c := range []struct {
		cookie, path string
		want         int
		shows, not   string
	}{
		{"agent", "/agents/builder", 200, "idle", "the screen"},
		{"agent", "/agents/builder", 200, "idle", "the dialog"},
		{"agent", "/agents/builder", 200, "idle", "the print"},
		{"why", "/why?of=builder", 200, "a fact", "the dialog"},
		{"whyterminal", "/why?of=builder", 200, "the dialog", "<form method=\"post\""},
		{"alert", "/alerts/3", 200, "a fact", "the dialog"},
		{"agent", "/agents/builder", 200, "idle", "<form"},
		{"agent", "/agents/builder", 200, "idle", "the prompt"},
		{"agent", "/agents/builder", 200, "idle", "the mail"},
		{"terminal", "/agents/builder", 200, "the screen", "<form"},
		{"agent", "/agents/other", 403, "", "idle"},
		{"agent", "/agents", 403, "", "idle"},
		{"agent", "/agents/builder/stop", 403, "", "idle"},
		{"project", "/agents", 200, "1 agent<", "other"},
		{"project", "/agents/builder", 200, "idle", "<form"},
		{"project", "/agents/other", 403, "", "idle"},
		{"project", "/", 403, "", "idle"},
		{"page", "/agents", 200, "2 agents<", "<form"},
		{"page", "/agents/builder", 403, "", "idle"},
	} {
		rec := w.get(t, c.path, cookie(c.cookie))
		if rec.Code != c.want || !strings.Contains(rec.Body.String(), c.shows) || strings.Contains(rec.Body.String(), c.not) {
			t.Errorf("%s by %s: want %d with %q, without %q: %s", c.path, c.cookie, c.want, c.shows, c.not, describe(rec))
		}
	}
	for _, by := range []string{"agent", "terminal", "project", "page", "leave"} {
		for _, path := range []string{"/agents/builder/nudge", "/agents/builder/stop", "/leave"} {
			if rec := w.post(t, path, url.Values{"text": {"x"}, "id": {"AB2"}}, cookie(by)); rec.Code != 403 || w.did() || len(w.sessions) != 10 {
				t.Errorf("POST %s by %s: %s", path, by, describe(rec))
			}
		}
	}
}

// What is approved is what was shown: its hash goes with it, and where something else would
// be done by then, that is said and nothing is done. What was not shown is not approved.
func TestWhatWasShownIsApproved(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{{Number: 3, Status: "firing", Priority: "P1", Rule: "lock-dead", Subject: "lock//a"}, {Number: 4, Status: "firing", Summary: "another"}}}
	w.answers["GET /v1/alerts/3/offer"] = api.Offer{Number: 3, Hash: "h4sh", Deeds: []api.Deed{{Do: "remove-lock", Subject: "lock//a", Why: "its owner is gone", Commands: []api.Command{{Argv: []string{"rm", "a b", "--", "$x"}, Note: "only that file"}}}}}
	w.answers["POST /v1/alerts/3/approve"] = api.Approved{Number: 3, Actions: []api.ApprovedThing{{ID: "a1"}}}
	doc := parsed(t, w.get(t, "/alerts/3"))
	plan := byID(t, doc, "plan")
	if got := text(plan); !strings.Contains(got, "rm 'a b' -- '$x'") || !strings.Contains(got, "only that file") || !strings.Contains(got, "its owner is gone") {
		t.Errorf("shown: %s", got)
	}
	if got := text(byID(t, doc, "others")); !strings.Contains(got, "another") {
		t.Errorf("the other alerts: %s", got)
	}
	form := url.Values{}
	for _, n := range all(plan, func(n *html.Node) bool { return n.Data == "input" }) {
		form.Set(attr(n, "name"), attr(n, "value"))
	}
	rec := w.post(t, "/alerts/3/approve", form)
	if rec.Code != 303 || leads(rec) != "/alerts/3?begun=a1&done=approve" || w.said["POST /v1/alerts/3/approve"] != `{"by":"","seen":"h4sh"}` {
		t.Errorf("%s, asked %s", describe(rec), w.said["POST /v1/alerts/3/approve"])
	}
	w.answers["POST /v1/alerts/3/approve"] = &api.Error{Kind: api.Changed, Message: "what would be done is not what was shown any more, and nothing was done"}
	if rec := w.post(t, "/alerts/3/approve", form); rec.Code != http.StatusConflict || !strings.Contains(rec.Body.String(), "nothing was done") || !strings.Contains(rec.Body.String(), `href="/alerts/3"`) {
		t.Errorf("when it has changed: %s", describe(rec))
	}
	w.asked = nil
	if rec := w.post(t, "/alerts/3/approve", nil); rec.Code != 400 || w.did() {
		t.Errorf("without what was shown: %s", describe(rec))
	}
	w.answers["GET /v1/alerts/3/offer"] = api.Offer{Number: 3, Refused: "mode: it is frozen"}
	if got := w.get(t, "/alerts/3").Body.String(); strings.Contains(got, "/approve") || !strings.Contains(got, "mode: it is frozen") {
		t.Errorf("with nothing to approve: %s", got)
	}
}

// Where a denial has something done instead, the page offers it, for just what it shows; nowhere else.
func TestWhatWasShownIsDenied(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{{Number: 3, Status: "firing", Subject: "vault/ops/pending/a"}}, Events: []api.Event{{Action: "a1", Kind: "action.ended", Text: "reject-vault-item: done"}}}
	offer := api.Offer{Number: 3, Hash: "h4sh", Deeds: []api.Deed{{Do: "approve-vault-item", Subject: "vault/ops/pending/a"}}}
	w.answers["GET /v1/alerts/3/offer"] = offer
	if got := w.get(t, "/alerts/3").Body.String(); strings.Contains(got, "/deny") {
		t.Errorf("nothing is done instead, and it is offered to be denied: %s", got)
	}
	offer.Instead = []string{"reject-vault-item"}
	w.answers["GET /v1/alerts/3/offer"] = offer
	w.answers["POST /v1/alerts/3/deny"] = api.Approved{Number: 3, Actions: []api.ApprovedThing{{ID: "a1"}}}
	if got := text(byID(t, parsed(t, w.get(t, "/alerts/3")), "plan")); !strings.Contains(got, "Deny it: reject-vault-item") {
		t.Errorf("shown: %s", got)
	}
	rec := w.post(t, "/alerts/3/deny", url.Values{"seen": {"h4sh"}})
	if rec.Code != 303 || leads(rec) != "/alerts/3?begun=a1&done=deny" || w.said["POST /v1/alerts/3/deny"] != `{"by":"","seen":"h4sh"}` {
		t.Errorf("%s, asked %s", describe(rec), w.said["POST /v1/alerts/3/deny"])
	}
	w.asked = nil
	if rec := w.post(t, "/alerts/3/deny", nil); rec.Code != 400 || w.did() {
		t.Errorf("without what was shown: %s", describe(rec))
	}
}

// Two persons are shown the same form: what each of them sends is a thing of its own.
func TestTwoPersonsSendTheSameForm(t *testing.T) {
	w := newWorld(t)
	w.sessions["bob"] = Session{ID: "s2", By: "bob", Terminal: true}
	w.answers["POST /v1/orders"] = api.Order{State: "queued"}
	said := map[string]bool{}
	for _, who := range []string{"ann", "bob", "ann"} {
		w.post(t, "/agents/builder/nudge", url.Values{"text": {"go on"}, "id": {"AB2"}}, cookie(who))
		said[w.said["POST /v1/orders"]] = true
	}
	if len(said) != 2 {
		t.Errorf("ordered: %v", said)
	}
}

// What was done is said by the record and to who has done it, and not by an address: one that
// anybody wrote says nothing, and neither does one that is old or that says more by now.
func TestAnAddressSaysNothingOfWhatWasDone(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	w.Now = func() time.Time { return now }
	w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{{Number: 3, Status: "firing"}}}
	w.answers["POST /v1/alerts/3/approve"] = api.Approved{Number: 3, Actions: []api.ApprovedThing{{ID: "a1"}}}
	done := w.post(t, "/alerts/3/approve", url.Values{"seen": {"x"}}).Header().Get("Location")
	says := func(path string) string {
		doc := parsed(t, w.ask(t, request(http.MethodGet, path, nil)))
		if len(all(doc, func(n *html.Node) bool { return attr(n, "id") == "outcome" })) == 0 {
			return ""
		}
		return text(byID(t, doc, "outcome"))
	}
	for _, c := range []struct{ kind, text, want string }{
		{"", "", "not written down yet"},
		{"action.started", "remove-lock", "and begun"},
		{"action.ended", "remove-lock: refused: it is another file now", "refused: it is another file now"},
		{"action.ended", "remove-lock: done", "done"},
	} {
		w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{{Number: 3, Status: "firing"}}, Events: []api.Event{{Action: "a2", Kind: "action.ended", Text: "rival: failed"}, {Action: "a1", Kind: c.kind, Text: c.text}}}
		if got := says(done); !strings.Contains(got, c.want) || strings.Contains(got, "rival") || strings.Contains(got, "begun") != (c.kind == "action.started") {
			t.Errorf("after %s %s: %q", c.kind, c.text, got)
		}
	}
	signed := (&site{Options: w.Options}).told("/alerts/3?done=ack")
	for _, path := range []string{"/alerts/3?done=approve", "/alerts/3?done=approve&begun=a1", strings.Replace(done, "begun=a1", "begun=a2", 1), strings.Replace(done, "/3", "/4", 1), signed + "1",
		strings.Replace(signed, "done=ack", "done=silence", 1), strings.Replace(signed, "proof=", "proof=1", 1), "/alerts/3?done=ack&proof=", "/mail?done=archive"} {
		w.answers["GET /v1/mail"] = api.MailList{}
		if got := says(path); got != "" {
			t.Errorf("%s says %q", path, got)
		}
	}
	if got := says(signed); got != "It is taken up." {
		t.Errorf("what was done says %q", got)
	}
	if now = now.Add(saidFor); says(signed) != "" {
		t.Error("it says so later, too")
	}
}

// An alert is taken up and silenced; one that is over has no forms, and one that there is
// not is not shown.
func TestAnAlertIsTakenUpAndSilenced(t *testing.T) {
	w := newWorld(t)
	firing := api.Alert{Number: 3, Status: "firing", Rule: "lock-dead", Subject: "lock//a"}
	w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{firing}}
	w.answers["POST /v1/alerts/3/ack"], w.answers["POST /v1/silences"] = firing, api.Silenced{}
	if rec := w.post(t, "/alerts/3/ack", url.Values{"id": {"2026-11-24T09:00:00.123456789Z"}}); !strings.Contains(w.said["POST /v1/alerts/3/ack"], `"id":"2026-11-24T09:00:00.123456789Z"`) {
		t.Errorf("%s: %s", describe(rec), w.said["POST /v1/alerts/3/ack"])
	}
	if rec := w.post(t, "/alerts/3/ack", nil); rec.Code != 303 || leads(rec) != "/alerts/3?done=ack" {
		t.Errorf("ack: %s", describe(rec))
	}
	form := url.Values{}
	for _, n := range all(byID(t, parsed(t, w.get(t, "/alerts/3")), "act"), func(n *html.Node) bool { return n.Data == "input" }) {
		form.Set(attr(n, "name"), attr(n, "value"))
	}
	form.Set("for", "2h")
	if rec := w.post(t, "/alerts/3/silence", form); rec.Code != 303 || w.said["POST /v1/silences"] != `{"rule":"lock-dead","subject":"lock//a","for":"2h"}` {
		t.Errorf("silence: %s, asked %s", describe(rec), w.said["POST /v1/silences"])
	}
	for _, path := range []string{"/alerts/x/ack", "/alerts/0/ack", "/alerts/-1/approve", "/alerts/99999999999999999999/silence"} {
		if rec := w.post(t, path, url.Values{"seen": {"x"}}); rec.Code != 404 {
			t.Errorf("%s: %s", path, describe(rec))
		}
	}
	firing.Status = "resolved"
	w.answers["GET /v1/story"] = api.Story{Alerts: []api.Alert{firing}}
	if got := w.get(t, "/alerts/3?done=<b>").Body.String(); strings.Contains(got, "/alerts/3/") || strings.Contains(got, "outcome") {
		t.Errorf("one that is over: %s", got)
	}
	if rec := w.post(t, "/alerts/3/silence", url.Values{"why": {strings.Repeat("x", mostForm+1)}}); rec.Code != 413 || !strings.Contains(rec.Body.String(), "it is larger than 4194304 bytes") {
		t.Errorf("a form that is too large: %d", rec.Code)
	}
	if rec := w.get(t, "/alerts/5"); rec.Code == 404 && (strings.Contains(rec.Body.String(), `href="/alerts/5"`) || !strings.Contains(rec.Body.String(), "It is not there")) {
		t.Errorf("what is not there leads to itself:\n%s", rec.Body.String())
	}
	if rec := w.get(t, "/alerts/5"); rec.Code != 404 {
		t.Errorf("one that there is not: %s", describe(rec))
	}
}

// Ten thousand alerts are shown some at a time, and what is counted is what is shown.
func TestManyAlertsArePaged(t *testing.T) {
	w := newWorld(t)
	var list []api.Alert
	for n := range int64(10_000) {
		list = append(list, api.Alert{Number: n + 1, Priority: fmt.Sprintf("P%d", n%5), Status: "firing"})
	}
	w.answers["GET /v1/alerts"] = api.Alerts{Alerts: list}
	w.held = w.made(t)
	shown := map[string]bool{}
	pages := 0
	for path := "/alerts"; path != ""; pages++ {
		doc := parsed(t, w.get(t, path))
		section := byID(t, doc, "alerts")
		rows := all(section, func(n *html.Node) bool { return attr(n, "data-alert") != "" })
		sum := 0
		for _, n := range all(section, func(n *html.Node) bool { return attr(n, "class") == "count" }) {
			var count int
			_, _ = fmt.Sscan(text(n), &count)
			sum += count
		}
		if head := text(byID(t, doc, "alerts-title")); sum != len(rows) || !strings.HasPrefix(head, plural(len(rows), "alert", "alerts")+", from number ") || !strings.HasSuffix(head, " of 10000") {
			t.Fatalf("%s: %d rows, counted %d, under %q", path, len(rows), sum, head)
		}
		for _, tr := range rows {
			shown[attr(tr, "data-alert")] = true
		}
		path = ""
		for _, a := range all(section, func(n *html.Node) bool { return n.Data == "a" && text(n) == "More" }) {
			path = attr(a, "href")
		}
	}
	if len(shown) != len(list) || pages != 50 {
		t.Errorf("%d of %d were shown on %d pages", len(shown), len(list), pages)
	}
	for _, from := range []string{"-1", "x", "100000", "9999"} {
		if rec := w.get(t, "/alerts?from="+from); rec.Code != 200 || strings.Contains(rec.Body.String(), "There are none") {
			t.Errorf("from %s: %d", from, rec.Code)
		}
	}
}

// many is a fleet of 500.
func many() (rows []api.AgentRow) {
	for n := range 500 {
		context, dollars, used := float64(n%100), float64(n)/7, int64(n*1234)
		rows = append(rows, api.AgentRow{Name: fmt.Sprintf("builder-%d-%x", n, n*7919), Kind: "claude", Owner: "custos", State: api.AgentStates()[n%len(api.AgentStates())], Since: fmt.Sprintf("%dm%ds", n%60, n%59),
			Reason: fmt.Sprintf("its hooks say that it uses the tool number %d", n), Source: "hook", Context: &context, Dollars: &dollars, Tokens: &used, Project: fmt.Sprintf("shop-%d", n%9)})
	}
	return rows
}

// The first page of five hundred agents, with all that it needs, is small on its way and
// soon made.
func TestAPageOfManyAgentsIsSmall(t *testing.T) {
	w, rows := newWorld(t), many()
	w.answers["GET /v1/look"] = api.FirstLook{Agents: rows}
	sent := 0
	for _, path := range []string{"/", "/assets/page.css", "/assets/page.js", "/assets/icon.svg"} {
		rec := w.get(t, path, header("Accept-Encoding", "gzip, br"))
		sent += rec.Body.Len()
	}
	if sent > 150_000 {
		t.Errorf("%d bytes", sent)
	}
	rec := w.get(t, "/", header("Accept-Encoding", "gzip"))
	z, err := gzip.NewReader(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if plain := w.get(t, "/").Body.String(); err != nil || string(whole) != plain || !strings.Contains(plain, "500 agents") {
		t.Errorf("what is packed is another page: %v", err)
	}
	t.Logf("%d bytes, of %d", sent, len(whole))
}

func BenchmarkFirstPage(b *testing.B) {
	w := newWorld(b)
	var rows []api.AgentRow
	for n := range 500 {
		rows = append(rows, api.AgentRow{Name: fmt.Sprintf("builder-%d", n), State: "working", Reason: "its hooks say so"})
	}
	w.answers["GET /v1/look"] = api.FirstLook{Agents: rows}
	h, err := New(w.Options)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h.ServeHTTP(newRecorder(), request("GET", "/", nil, header("Accept-Encoding", "gzip")))
	}
}

// Fifty browsers that ask at once have the daemon look once; the next change, and a second,
// have it look again. A link shares with nobody, and what failed is not kept for longer.
func TestWhoAsksAtOnceSharesALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var number, looks atomic.Int64
		w.Newest = number.Load
		answer := w.API
		var one sync.Mutex // the world notes what it is asked
		w.API = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/look" {
				looks.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
			one.Lock()
			defer one.Unlock()
			answer.ServeHTTP(rw, r)
		})
		w.sessions["page"] = Session{ID: "q", Link: true, Page: "/"}
		h, err := New(w.Options)
		if err != nil {
			t.Fatal(err)
		}
		get := func(as string) *httptest.ResponseRecorder {
			rec := newRecorder()
			h.ServeHTTP(rec, request("GET", "/", nil, cookie(as)))
			return rec
		}
		crowd := func(want int64, when string) {
			t.Helper()
			looks.Store(0)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if rec := get("ann"); rec.Code != 200 || !strings.Contains(rec.Body.String(), "builder") {
						t.Errorf("%s: %s", when, describe(rec))
					}
				})
			}
			all.Wait()
			if looks.Load() != want {
				t.Errorf("%s: %d looks, want %d", when, looks.Load(), want)
			}
		}
		crowd(1, "at once")
		crowd(0, "and again")
		number.Add(1)
		crowd(1, "after a change")
		time.Sleep(sharedFor)
		crowd(1, "a second later")
		if get("page").Body.String() == get("ann").Body.String() || looks.Load() != 2 {
			t.Errorf("a link shares a person's page: %d looks", looks.Load())
		}
		number.Add(1)
		good := w.answers["GET /v1/look"]
		w.answers["GET /v1/look"] = &api.Error{Kind: api.CannotLook, Message: "blind"}
		if rec := get("ann"); rec.Code != 503 {
			t.Errorf("it cannot look: %s", describe(rec))
		}
		w.answers["GET /v1/look"] = good
		time.Sleep(sharedFor)
		crowd(1, "when it can look again")
	})
}

// A fault in the making of one page is said on that page, and ends nothing else.
func TestAPanicOfAPageIsItsOwn(t *testing.T) {
	c := &shared{newest: func() int64 { return 1 }, now: time.Now, made: map[string]*madePage{}}
	_, err := c.get(t.Context(), "k", func(context.Context) ([]byte, error) { panic("no such row") })
	if err == nil || !strings.Contains(err.Error(), "a fault of Custos: no such row") {
		t.Errorf("it says %v", err)
	}
}

// Who goes away does not take from the others what is being made.
func TestWhoGoesAwayTakesNothingFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &shared{newest: func() int64 { return 1 }, now: time.Now, made: map[string]*madePage{}}
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.get(gone, "k", func(ctx context.Context) ([]byte, error) {
				time.Sleep(time.Second / 2)
				return []byte("page"), ctx.Err()
			}); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			m, err := c.get(t.Context(), "k", nil)
			if err != nil || string(m.body) != "page" {
				t.Errorf("the other: %v", err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
	})
}

// What says one thing is not kept up to date: it would be asked for again and again, and be
// called out of date because there is no such page.
func TestANoticeIsNotKeptUpToDate(t *testing.T) {
	w := newWorld(t)
	hasScript := func(rec *httptest.ResponseRecorder) bool {
		return len(all(parsed(t, rec), func(n *html.Node) bool { return n.Data == "script" })) > 0
	}
	if rec := w.get(t, "/"); !hasScript(rec) {
		t.Errorf("home has no script: %s", describe(rec))
	}
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"no such agent":     w.get(t, "/agents/nobody"),
		"no such page":      w.get(t, "/nothing"),
		"a form that fails": w.post(t, "/agents/builder/nudge", url.Values{}),
	} {
		if rec.Code < 400 || hasScript(rec) {
			t.Errorf("%s: %s", name, describe(rec))
		}
	}
}

// What may be done with an agent stands before what else is known of it, a question first; a
// question that is not read yet is told of; and of one that is not ours there are no forms.
func TestWhatMayBeDoneWithAnAgentComesFirst(t *testing.T) {
	w := newWorld(t)
	order := func(d api.AgentDetail) (ids []string, forms int) {
		w.answers["GET /v1/agents/builder"] = d
		doc := parsed(t, w.get(t, "/agents/builder"))
		for _, n := range all(doc, func(n *html.Node) bool { return n.Data == "section" }) {
			ids = append(ids, attr(n, "id"))
		}
		return ids, len(all(doc, func(n *html.Node) bool { return n.Data == "form" && strings.HasPrefix(attr(n, "action"), "/agents/") }))
	}
	asks := &api.AgentDialog{Says: "it asks", Hash: "h", Choices: []api.AgentChoice{{Name: "yes"}}}
	for _, c := range []struct {
		name  string
		d     api.AgentDetail
		want  string
		forms int
	}{
		{"one that asks", api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "waiting", Owner: "custos"}, Dialog: asks}, "banners state dialog act screen facts", 3},
		{"one whose question is not read", api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "waiting", Owner: "custos"}}, "banners state dialog act screen facts", 2},
		{"one that works", api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "working", Owner: "custos"}}, "banners state act screen facts", 2},
		{"one that is not ours", api.AgentDetail{Agent: api.AgentRow{Name: "builder", State: "waiting", Owner: "foreign"}, Dialog: asks}, "banners state dialog act screen facts", 0},
	} {
		ids, forms := order(c.d)
		if got := strings.Join(ids, " "); !strings.HasPrefix(got, c.want) || forms != c.forms {
			t.Errorf("%s: %s with %d forms, want %s with %d", c.name, got, forms, c.want, c.forms)
		}
	}
}
