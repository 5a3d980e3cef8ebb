package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/api"
)

// What is published is looked at by who shows the token; nothing else is let through, and to
// what answers nobody is a person.
func TestWhatIsPublishedIsOnlyLookedAt(t *testing.T) {
	var got *http.Request
	p := Published{Token: func(context.Context) (string, error) { return "right", nil }}
	h := GuardPublished(p, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	for _, c := range []struct {
		method, token string
		through       bool
		says          string
	}{
		{"GET", "Bearer right", true, ""},
		{"GET", "", false, "the token of [publish]"},
		{"GET", "Bearer ", false, "the token of [publish]"},
		{"GET", "Bearer wrong", false, "the token of [publish]"},
		{"GET", "right", false, "the token of [publish]"},
		{"POST", "Bearer right", false, "orders are typed where its agents run"},
		{"DELETE", "Bearer right", false, "orders are typed where its agents run"},
		{"POST", "Bearer wrong", false, "the token of [publish]"},
	} {
		got = nil
		w := httptest.NewRecorder()
		req, _ := http.NewRequest(c.method, "http://custos/v1/agents", nil)
		req.Header.Set("Authorization", c.token)
		h.ServeHTTP(w, req)
		if c.through != (got != nil) || !strings.Contains(w.Body.String(), c.says) || !c.through && w.Code != http.StatusForbidden {
			t.Errorf("%s with %q: %d %s", c.method, c.token, w.Code, w.Body.String())
		}
	}
	req, _ := http.NewRequest("GET", "http://custos/v1/web", nil)
	req.Header.Set("Authorization", "Bearer right")
	h.ServeHTTP(httptest.NewRecorder(), req)
	if got == nil || got.Header.Get(api.OnBehalf) == "" || got.Header.Get("Authorization") != "" {
		t.Fatalf("it was handed on as %v", got)
	}
	if caller, _ := got.Context().Value(callerKey{}).(Caller); caller.UID != os.Getuid() || caller.Person {
		t.Errorf("it is asked by %+v", caller)
	}
	w := httptest.NewRecorder()
	New(Options{AgentOf: func(context.Context, Caller) (string, error) { return "", nil }}).ServeHTTP(w, got)
	if w.Code != http.StatusForbidden {
		t.Errorf("a look for persons alone is answered: %d %s", w.Code, w.Body.String())
	}
}

// The token is for the agents of this container: of other hosts that its Custos knows it shows nothing.
func TestWhatIsPublishedIsOfThisHost(t *testing.T) {
	var got *http.Request
	h := GuardPublished(Published{Token: func(context.Context) (string, error) { return "right", nil }}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	ask := func(path, host string) *httptest.ResponseRecorder {
		req, _ := http.NewRequest("GET", "http://custos"+path, nil)
		req.Header.Set("Authorization", "Bearer right")
		req.Header.Set(api.ForHost, host)
		got = nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	if ask("/v1/agents", "box2"); got == nil || got.Header.Get(api.ForHost) != "" {
		t.Errorf("it is handed on to another host: %v", got)
	}
	for _, path := range []string{"/v1/hub/looks", "/v1/hub/looks?since=3", "/v1//hub/./looks", "/v1/hub"} {
		if w := ask(path, ""); got != nil || w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "other hosts") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A token that cannot be read, or is empty, admits nobody.
func TestNothingIsPublishedWithoutAToken(t *testing.T) {
	for _, token := range []func(context.Context) (string, error){
		func(context.Context) (string, error) { return "", nil },
		func(context.Context) (string, error) { return "x", os.ErrNotExist },
	} {
		w := httptest.NewRecorder()
		req, _ := http.NewRequest("GET", "http://custos/v1/agents", nil)
		req.Header.Set("Authorization", "Bearer x")
		GuardPublished(Published{Token: token}, http.NotFoundHandler()).ServeHTTP(w, req)
		if w.Code != http.StatusForbidden {
			t.Errorf("%d %s", w.Code, w.Body.String())
		}
	}
}

// Users of other containers may connect; what lies at the place and is no socket stays.
func TestThePublishedSocket(t *testing.T) {
	dir := t.TempDir()
	l, err := ListenPublished(Published{Socket: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(filepath.Join(dir, "s")); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, is := l.(*net.UnixListener); !is {
		t.Errorf("it is %T", l)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenPublished(Published{Socket: filepath.Join(dir, "file")}); err == nil {
		t.Error("a file was taken for a socket")
	}
}
