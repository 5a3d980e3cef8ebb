package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// What another host of the hub may do here: look, and where this one lets it what a person there orders about agents and
// alerts; an agent there, or somebody of whom that is not known, orders nothing.
func TestWhatAnotherHostMayDo(t *testing.T) {
	for _, c := range []struct {
		method, path, behalf string
		acts                 bool
		person               bool // it counts as one
		says                 string
	}{
		{"GET", "/v1/agents", "", false, false, ""},
		{"GET", "/v1/agents", "", true, true, ""},
		{"GET", "/v1/agents", "builder", true, false, ""},
		{"GET", "/v1/web", "", false, false, ""}, // a look for persons: the handler refuses it
		{"POST", "/v1/orders", "", false, false, "only lets itself be looked at"},
		{"POST", "/v1/orders", "", true, true, ""},
		{"POST", "/v1/orders", "builder", true, false, ""}, // the handler refuses it
		{"POST", "/v1/orders/o1/cancel", "", true, true, ""},
		{"POST", "/v1/orders/o1/approve", "", true, false, "done on the host itself"},
		{"POST", "/v1/alerts/3/approve", "", true, true, ""},
		{"POST", "/v1/alerts/3/deny", "", true, true, ""},
		{"POST", "/v1/alerts/3/ack", "", true, true, ""},
		{"POST", "/v1/alerts/3/other", "", true, false, "done on the host itself"},
		{"POST", "/v1/orders/../code", "", true, false, "done on the host itself"},
		{"POST", "/v1/code", "", true, false, "done on the host itself"},
		{"POST", "/v1/budgets", "", true, false, "done on the host itself"},
		{"POST", "/v1/down", "", true, false, "done on the host itself"},
		{"POST", "/v1/become", "", true, false, "done on the host itself"},
		{"POST", "/v1/thaw", "", true, false, "done on the host itself"},
		{"POST", "/v1/patrol", "", true, false, "done on the host itself"},
		{"DELETE", "/v1/orders", "", true, false, "done on the host itself"},
		{"PUT", "/v1/code", "", true, false, "done on the host itself"},
	} {
		var got *http.Request
		h := GuardHub("box1", map[bool]fleet.Remote{true: fleet.RemoteAct, false: fleet.RemoteView}[c.acts], http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
		req := httptest.NewRequest(c.method, "http://custos"+c.path, nil)
		req.Header.Set(api.ForHost, "box3")
		if c.behalf != "" {
			req.Header.Set(api.OnBehalf, c.behalf)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if (got == nil) != (c.says != "") || !strings.Contains(w.Body.String(), c.says) || got == nil && w.Code != http.StatusForbidden {
			t.Errorf("%s %s acts=%v: %d %s", c.method, c.path, c.acts, w.Code, w.Body)
		}
		if got == nil {
			continue
		}
		caller, _ := got.Context().Value(callerKey{}).(Caller)
		if caller.Person != c.person || caller.From != "box1" || caller.UID != os.Getuid() || caller.Name() != "person@box1" || got.Header.Get(api.ForHost) != "" || c.person != (got.Header.Get(api.OnBehalf) == "") {
			t.Errorf("%s %s behalf=%q acts=%v: asked by %+v, for %q, on behalf of %q", c.method, c.path, c.behalf, c.acts, caller, got.Header.Get(api.ForHost), got.Header.Get(api.OnBehalf))
		}
	}
}

// TestWhatWaitsForAPersonHere: where remote is "ask" a person elsewhere may order, and take back what they ordered: it is
// said that it waits; what a person here says is theirs alone, and a look is one as of anybody.
func TestWhatWaitsForAPersonHere(t *testing.T) {
	for _, c := range []struct {
		method, path, behalf string
		person               bool // it counts as one
		says                 string
	}{
		{"GET", "/v1/agents", "", false, ""},
		{"POST", "/v1/orders", "", true, ""},
		{"POST", "/v1/orders", "builder", false, ""}, // the handler refuses it
		{"POST", "/v1/orders/o1/cancel", "", true, ""},
		{"POST", "/v1/orders/o1/approve", "", false, "done on the host itself"},
		{"POST", "/v1/alerts/3/approve", "", false, "waits for a person here"},
		{"POST", "/v1/alerts/3/deny", "", false, "waits for a person here"},
		{"POST", "/v1/alerts/3/ack", "", false, "waits for a person here"},
		{"POST", "/v1/code", "", false, "done on the host itself"},
	} {
		var got *http.Request
		req := httptest.NewRequest(c.method, "http://custos"+c.path, nil)
		if c.behalf != "" {
			req.Header.Set(api.OnBehalf, c.behalf)
		}
		w := httptest.NewRecorder()
		GuardHub("box1", fleet.RemoteAsk, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(w, req)
		if (got == nil) != (c.says != "") || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
		if got == nil {
			continue
		}
		if caller, _ := got.Context().Value(callerKey{}).(Caller); !caller.Asks || caller.Person != c.person {
			t.Errorf("%s %s behalf=%q: asked by %+v", c.method, c.path, c.behalf, caller)
		}
	}
}

// TestWhileTwoTellUnderOneName: nothing is ordered, as either of them would do it; what is shown is shown.
func TestWhileTwoTellUnderOneName(t *testing.T) {
	doubled, got := true, 0
	h := WhileOne(func() bool { return doubled }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got++ }))
	ask := func(method string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "http://custos/v1/orders", nil))
		return w.Body.String()
	}
	if said := ask("POST"); got != 0 || !strings.Contains(said, "not known which one is meant") {
		t.Errorf("it is ordered: %s", said)
	}
	if ask("GET"); got != 1 {
		t.Error("nothing is shown")
	}
	doubled = false
	if ask("POST"); got != 2 {
		t.Error("nothing is ordered where there is one")
	}
}

// wayTo is a host that notes what it is asked.
type wayTo struct{ got *http.Request }

func (w *wayTo) RoundTrip(req *http.Request) (*http.Response, error) {
	w.got = req
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// What is handed on to another host says which agent asks; of whom it cannot be shown that they are none, nothing is
// handed on but a look.
func TestWhoAsksAnotherHost(t *testing.T) {
	unseen := errors.New("agents are not seen")
	for name, c := range map[string]struct {
		method, path, says string
		agent              string
		unknown            error
		given              string // on whose behalf the caller says it asks
		connection         string // headers that it wants taken out
		handed             bool
		behalf             string
	}{
		"a person orders":                   {method: "POST", path: "/v1/orders", handed: true},
		"an agent orders":                   {method: "POST", path: "/v1/orders", agent: "builder", handed: true, behalf: "builder"},
		"an agent takes out that it is one": {method: "POST", path: "/v1/orders", agent: "builder", connection: "Custos-On-Behalf, close", handed: true, behalf: "builder"},
		"nobody knows who orders":           {method: "POST", path: "/v1/orders", unknown: unseen, says: "cannot be shown to be no agent"},
		"nobody knows who looks":            {method: "GET", path: "/v1/agents", unknown: unseen, handed: true},
		"a look for persons":                {method: "GET", path: "/v1/web", agent: "builder", handed: true, behalf: "builder"},
		"for an agent of another one":       {method: "POST", path: "/v1/orders", given: "tester", handed: true, behalf: "tester"},
		"an agent that names another's":     {method: "POST", path: "/v1/orders", agent: "builder", given: "x", handed: true, behalf: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			way := &wayTo{}
			h := New(Options{Log: slog.New(slog.DiscardHandler), AgentOf: func(context.Context, Caller) (string, error) { return c.agent, c.unknown },
				Hub: func(host string) (http.RoundTripper, error) {
					if host != "box2" {
						t.Errorf("asked of %q", host)
					}
					return way, nil
				}})
			req := httptest.NewRequest(c.method, "http://custos"+c.path+"?x=1", bytes.NewReader([]byte("body")))
			req.Header.Set(api.ForHost, "box2")
			if c.given != "" {
				req.Header.Set(api.OnBehalf, c.given)
			}
			req.Header.Set("Connection", c.connection)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req.WithContext(WithCaller(t.Context(), Caller{UID: os.Getuid(), PID: 7})))
			if (way.got != nil) != c.handed || !strings.Contains(w.Body.String(), c.says) {
				t.Fatalf("handed on: %v; %d %s", way.got != nil, w.Code, w.Body)
			}
			if way.got != nil && (way.got.Header.Get(api.OnBehalf) != c.behalf || way.got.Header.Get(api.ForHost) != "" || way.got.URL.RequestURI() != c.path+"?x=1") {
				t.Errorf("handed on as %s on behalf of %q, for %q", way.got.URL.RequestURI(), way.got.Header.Get(api.OnBehalf), way.got.Header.Get(api.ForHost))
			}
		})
	}
}

// Another user, or nobody that is known, asks no other host.
func TestAStrangerAsksNoOtherHost(t *testing.T) {
	h := New(Options{Hub: func(string) (http.RoundTripper, error) { t.Error("it was asked"); return nil, errors.New("no") }})
	req := httptest.NewRequest("GET", "http://custos/v1/agents", nil)
	req.Header.Set(api.ForHost, "box2")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
