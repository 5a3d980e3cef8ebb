package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"custos/internal/api"
	"custos/internal/terminal/live"
)

// world is a page whose daemon answers what a test says.
type world struct {
	Options
	answers  map[string]any // by method and path
	asked    []string
	said     map[string]string // body of each
	queries  map[string]string // what was asked of it last
	sessions map[string]Session
	token    string // of an invitation that is open
	barred   error  // of who does something
	refused  []string
	number   int64
	mirrored atomic.Bool  // another machine, called box, says the same
	held     http.Handler // the page, for a test that asks often; nil: it is made for each request
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{said: map[string]string{}, queries: map[string]string{}, sessions: map[string]Session{"ann": {ID: "s1", By: "ann", Terminal: true}, "link": {ID: "l1", Link: true, Agent: "builder"}}, answers: map[string]any{
		"GET /v1/look":   api.FirstLook{At: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), Mode: "observe", Agents: []api.AgentRow{{Name: "builder", State: "working"}}},
		"GET /v1/status": api.Status{Mode: "observe"},
		"GET /v1/health": api.Health{State: api.HealthWell},
	}}
	w.Options = Options{API: http.HandlerFunc(w.answer), Site: Site{Port: 7777}, Sessions: w, Peers: w, Now: time.Now, Newest: func() int64 { w.number++; return w.number }, // nothing is shared, but where a test says so
		Refused: func(_ context.Context, what string) { w.refused = append(w.refused, what) }}
	w.Hosts, w.Key = mirror{w}, []byte("proves")
	w.Terminals = live.New(live.Options{
		Find: func(context.Context, string) (live.Scene, error) {
			return live.Scene{}, errors.New("it has no terminal")
		},
		Seat: func(context.Context, string) (live.Seat, error) { return live.Seat{}, errors.New("it has no terminal") },
		Good: func(context.Context, string) bool { return true }, Note: func(context.Context, live.Note) {}, Changed: func() {},
	})
	return w
}

// mirror is another machine, called box, that says what this one says, where a test wants it.
type mirror struct{ w *world }

func (m mirror) Looks(bool) ([]api.HostLook, int64) {
	if !m.w.mirrored.Load() {
		return nil, 0
	}
	c, _ := m.Client("box")
	look, _ := c.FirstLook(context.Background()) // where it tells nothing, nothing is told
	list, _ := c.Alerts(context.Background(), false)
	return []api.HostLook{{HostSeen: api.HostSeen{Name: "box", Status: "ok", Why: look.Mode}, Got: m.w.Now(), Look: look, Alerts: list.Alerts, Lacks: []string{look.Mode}}}, 0
}

func (mirror) Hold() func() { return func() {} }

func (m mirror) Client(name string) (*api.Client, bool) {
	return api.NewClient(api.InProcess(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { m.w.API.ServeHTTP(rw, r) }))), name == "box"
}

func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	at := r.Method + " " + r.URL.Path
	body, _ := io.ReadAll(r.Body)
	w.queries[at] = r.URL.RawQuery
	w.asked, w.said[at] = append(w.asked, at), string(body)
	v, ok := w.answers[at]
	if err, is := v.(*api.Error); is || !ok {
		if !ok {
			err = &api.Error{Kind: api.NotFound, Message: "there is no " + at}
		}
		rw.WriteHeader(err.HTTPStatus())
		v = err
	}
	_ = json.NewEncoder(rw).Encode(v)
}

func (w *world) Of(_ context.Context, cookie string) (Session, bool) {
	s, ok := w.sessions[cookie]
	return s, ok
}

func (w *world) Enter(_ context.Context, token, _ string) (string, time.Time, Session, error) {
	if link, ok := w.sessions[token]; ok && link.Link {
		return token, time.Now().Add(time.Hour), link, nil
	}
	if token == "" || token != w.token {
		return "", time.Time{}, Session{}, errors.New("it was used already")
	}
	w.token = ""
	return "ann", time.Now().Add(time.Hour), w.sessions["ann"], nil
}

func (w *world) Leave(_ context.Context, id string) error {
	for cookie, s := range w.sessions {
		if s.ID == id {
			delete(w.sessions, cookie)
		}
	}
	return nil
}

func (w *world) Looks(ctx context.Context) context.Context { return ctx }

func (w *world) Person(ctx context.Context, _, _ netip.AddrPort, _ bool) (context.Context, error) {
	return ctx, w.barred
}

// request is what a browser asks for: of a page that it has from here, with its session.
func request(method, path string, form url.Values, with ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7777"+path, strings.NewReader(form.Encode()))
	r.AddCookie(&http.Cookie{Name: "custos-7777", Value: "ann"})
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr("127.0.0.1:7777")))
	r.RemoteAddr = "127.0.0.1:50000"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "null")
	}
	for _, change := range with {
		change(r)
	}
	return r
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

func (w *world) ask(t *testing.T, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	h := w.held
	if h == nil {
		h = w.made(t)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func (w *world) made(t testing.TB) http.Handler {
	t.Helper()
	h, err := New(w.Options)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (w *world) get(t *testing.T, path string, with ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, request(http.MethodGet, (&site{Options: w.Options}).told(path), nil, with...))
}

func (w *world) post(t *testing.T, path string, form url.Values, with ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	return w.ask(t, request(http.MethodPost, path, form, with...))
}

// leads is where an answer leads to, without the proof of what was done.
func leads(rec *httptest.ResponseRecorder) string {
	return proofs.ReplaceAllString(rec.Header().Get("Location"), "")
}

var proofs = regexp.MustCompile(`&proof=[^#]*`)

// did says whether the daemon was asked for anything but looks.
func (w *world) did() bool {
	return slices.ContainsFunc(w.asked, func(s string) bool { return !strings.HasPrefix(s, "GET ") })
}

// header sets one, or takes it away.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func cookie(value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del("Cookie")
		if value != "" {
			r.AddCookie(&http.Cookie{Name: "custos-7777", Value: value})
		}
	}
}

// parsed is an answer as a browser reads it.
func parsed(t *testing.T, rec *httptest.ResponseRecorder) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(rec.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// all are the elements that something is so of.
func all(doc *html.Node, is func(*html.Node) bool) (found []*html.Node) {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && is(n) {
			found = append(found, n)
		}
	}
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// byID is the element of an ID; it is an error when there is not exactly one.
func byID(t *testing.T, doc *html.Node, id string) *html.Node {
	t.Helper()
	found := all(doc, func(n *html.Node) bool { return attr(n, "id") == id })
	if len(found) != 1 {
		t.Fatalf("there are %d elements with the ID %s", len(found), id)
	}
	return found[0]
}

// describe is an answer in short, for what went wrong.
func describe(rec *httptest.ResponseRecorder) string {
	return fmt.Sprintf("%d %s", rec.Code, rec.Body)
}

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }
