// Package web is the page: what custos ps, alerts and why show, in a browser, and what a
// person does there. It asks the API of its own daemon in process, so that each count, name
// and redaction is what the commands show; it knows nothing else of Custos.
//
// Whoever asks passes the guards (guards.go) in their order, then a session (sessions.go),
// and, to do anything, is shown to be a person (Peers).
package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/terminal/live"
)

// Options are what the page is made of. All but Hosts and Key must be set.
type Options struct {
	API       http.Handler // of the daemon
	Site      Site
	Sessions  Sessions
	Peers     Peers
	Terminals *live.Hub // what agents show, and who types there
	// Refused writes down what was refused to whom, for people.
	Refused func(ctx context.Context, what string)
	Now     func() time.Time
	// Newest is the number of the last change that the API has told of.
	Newest func() int64
	Key    []byte // proves to the page what was done by it; nil: one of its own, which ends with it
	Hosts  Hosts  // other machines; nil: there are none
}

// Session is what lets a browser see the page: a person's, or a link that shows one thing.
type Session struct {
	ID       string
	By       string // who made it
	Link     bool
	Agent    string // of a link: what it shows
	Project  string
	Page     string
	Terminal bool // it shows terminals
}

// Sessions is the book of them.
type Sessions interface {
	// Of finds whose a cookie is; false where it is nobody's now.
	Of(ctx context.Context, cookie string) (Session, bool)
	// Enter returns the cookie for the token of an address, and until when it is good.
	Enter(ctx context.Context, token, browser string) (cookie string, until time.Time, s Session, err error)
	// Leave ends a session.
	Leave(ctx context.Context, id string) error
}

// Peers says who is at the other end of a connection.
type Peers interface {
	// Looks returns the context of a question to the API that changes nothing.
	Looks(ctx context.Context) context.Context
	// Person returns the context of one that does something, in the name of the person who
	// asks. An error says that it is an agent, or that it cannot be shown to be none.
	// Proxied: the other end is a proxy, behind which nobody can be seen.
	Person(ctx context.Context, from, to netip.AddrPort, proxied bool) (context.Context, error)
}

type site struct {
	Options
	api    *api.Client
	pages  pages
	shared *shared
	// refusals and glances keep a stranger from filling the log. Nothing keeps one from trying
	// tokens, which are too long to be found: what did would keep persons out.
	refusals, glances *pace
}

// New returns the handler of the page.
func New(o Options) (http.Handler, error) {
	all, err := parsePages()
	if err != nil {
		return nil, err
	}
	if o.Key == nil {
		o.Key = []byte(rand.Text())
	}
	s := &site{Options: o, api: api.NewClient(api.InProcess(o.API)), pages: all, shared: &shared{newest: o.Newest, now: o.Now, mark: rand.Text(), made: map[string]*madePage{}}, refusals: newPace(30, o.Now), glances: newPace(10, o.Now)}
	return s.guarded(s.routes()), nil
}

// Pages are the paths of what there is to see, like "/alerts" and "/alerts/{number}".
func Pages() (out []string) {
	for pattern := range (&site{}).views() {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(pattern, "GET "), "{$}"))
	}
	return out
}

// views is the table of what there is to see.
func (s *site) views() map[string]view {
	return map[string]view{
		"GET /{$}":                s.home,
		"GET /agents":             s.agents,
		"GET /agents/{name}":      s.agent,
		"GET /agents/{name}/stop": s.stopAsked,
		"GET /alerts":             s.alerts,
		"GET /alerts/{number}":    s.alert,

		"GET /hosts/{host}/agents/{name}":      s.there((*site).agent),
		"GET /hosts/{host}/agents/{name}/stop": s.there((*site).stopAsked),
		"GET /hosts/{host}/alerts/{number}":    s.there((*site).alert),

		"GET /work":                 s.work,
		"GET /work/items/{ref}":     s.workItem,
		"GET /work/gates/{id}":      s.gate,
		"GET /work/convoys/{id}":    s.convoy,
		"GET /mail":                 s.mails,
		"GET /mail/{id}":            s.mail,
		"GET /runs":                 s.runs,
		"GET /runs/{id}":            s.run,
		"GET /costs":                s.costs,
		"GET /costs/budgets/{name}": s.budget,
		"GET /plan":                 s.plan,
		"GET /why":                  s.why,
		"GET /host":                 s.host,
		"GET /timeline":             s.timeline,
		"GET /journal":              s.journal,
		"GET /morning":              s.morning,
		"GET /doctor":               s.doctor,
		"GET /settings":             s.settings,
	}
}

// routes is the table of what there is, each with who may have it.
func (s *site) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets())
	mux.HandleFunc("GET /enter", s.enter)
	for pattern, show := range s.views() {
		mux.Handle(pattern, s.seen(s.shown(show)))
	}
	mux.Handle("GET /changes", s.seen(s.changes))
	mux.Handle("GET /assets/terminal.css", sheet())
	mux.Handle("GET /agents/{name}/terminal", s.seen(s.terminal))
	mux.Handle("POST /agents/{name}/terminal/{do}", s.seen(s.keyboard))
	for pattern, do := range map[string]deed{
		"POST /agents/{name}/nudge":     s.nudge,
		"POST /agents/{name}/answer":    s.answer,
		"POST /agents/{name}/interrupt": s.interrupt,
		"POST /agents/{name}/stop":      s.stop,
		"POST /alerts/{number}/ack":     s.acknowledge,
		"POST /alerts/{number}/silence": s.silence,
		"POST /alerts/{number}/approve": s.approve,
		"POST /alerts/{number}/deny":    s.deny,
		"POST /leave":                   s.leave,

		"POST /settings/receivers/{name}/try": s.tryReceiver,

		"POST /hosts/{host}/agents/{name}/nudge":     s.doneThere((*site).nudge),
		"POST /hosts/{host}/agents/{name}/answer":    s.doneThere((*site).answer),
		"POST /hosts/{host}/agents/{name}/interrupt": s.doneThere((*site).interrupt),
		"POST /hosts/{host}/agents/{name}/stop":      s.doneThere((*site).stop),
		"POST /hosts/{host}/alerts/{number}/ack":     s.doneThere((*site).acknowledge),
		"POST /hosts/{host}/alerts/{number}/silence": s.doneThere((*site).silence),
		"POST /hosts/{host}/alerts/{number}/approve": s.doneThere((*site).approve),
		"POST /hosts/{host}/alerts/{number}/deny":    s.doneThere((*site).deny),

		"POST /work/gates/{id}/close":      s.closeGate,
		"POST /mail/{id}/read":             s.readMail,
		"POST /mail/{id}/archive":          s.archiveMail,
		"POST /mail/{id}/reply":            s.reply,
		"POST /runs/{id}/change":           s.changeRun,
		"POST /costs/budgets/{name}/raise": s.raiseBudget,
		"POST /costs/budgets/{name}/lower": s.lowerBudget,
	} {
		mux.Handle(pattern, s.seen(s.done(do)))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusNotFound, "There is no such page here.", "/")
	})
	return mux
}
