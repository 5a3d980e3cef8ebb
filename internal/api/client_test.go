package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering is a handler that notes what was asked and answers a fixed body.
type answering struct {
	status      int
	body        string
	asked, sent string
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	a.asked, a.sent = r.Method+" "+r.URL.RequestURI(), string(b)
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	fmt.Fprint(w, a.body)
}

func TestEveryQuestionGoesWhereItBelongs(t *testing.T) {
	h := &answering{body: "{}"}
	c := NewClient(InProcess(h))
	ctx := t.Context()
	for want, ask := range map[string]func() error{
		"GET /v1/look ":                        func() error { _, err := c.FirstLook(ctx); return err },
		`POST /v1/patrol {"apply":true}`:       func() error { _, err := c.Patrol(ctx, PatrolOrder{Apply: true}); return err },
		"GET /v1/preflight ":                   func() error { _, err := c.Preflight(ctx); return err },
		"GET /v1/plan ":                        func() error { _, err := c.Plan(ctx); return err },
		"POST /v1/plan recorded":               func() error { _, err := c.Judge(ctx, []byte("recorded")); return err },
		"GET /v1/recording ":                   func() error { _, err := c.Record(ctx); return err },
		"GET /v1/kinds ":                       func() error { _, err := c.Kinds(ctx); return err },
		"GET /v1/rules ":                       func() error { _, err := c.Rules(ctx); return err },
		"GET /v1/alerts?all=true ":             func() error { _, err := c.Alerts(ctx, true); return err },
		`POST /v1/alerts/7/ack {"by":"x"}`:     func() error { _, err := c.Acknowledge(ctx, 7, AckOrder{By: "x"}); return err },
		`POST /v1/alerts/7/deny {"by":"x"}`:    func() error { _, err := c.Deny(ctx, 7, ApproveOrder{By: "x"}); return err },
		`POST /v1/alerts/7/approve {"by":"x"}`: func() error { _, err := c.Approve(ctx, 7, ApproveOrder{By: "x"}); return err },
		`POST /v1/silences {"for":"1h"}`:       func() error { _, err := c.Silence(ctx, SilenceOrder{For: "1h"}); return err },
		`POST /v1/tell {"text":"t"}`:           func() error { _, err := c.Tell(ctx, Tell{Text: "t"}); return err },
		"GET /v1/story?of=a+%26%2Fb%3F ":       func() error { _, err := c.Story(ctx, "a &/b?"); return err },
		`POST /v1/explain {"screen":"s"}`:      func() error { _, err := c.Explain(ctx, ExplainOrder{Screen: "s"}); return err },
		"GET /v1/journal?day=d ":               func() error { _, err := c.Journal(ctx, "d"); return err },
		"GET /v1/status ":                      func() error { _, err := c.Status(ctx); return err },
		"POST /v1/down ":                       func() error { return c.Down(ctx) },
		"GET /v1/agents ":                      func() error { _, err := c.Agents(ctx); return err },
		"GET /v1/agents/a%2Fb%3F ":             func() error { _, err := c.Agent(ctx, "a/b?"); return err },
		"GET /v1/agents/a%20b/screen?lines=7 ": func() error { _, err := c.Screen(ctx, "a b", 7); return err },
		"GET /v1/agents/a%20b/log?lines=3 ":    func() error { _, err := c.Log(ctx, "a b", LogQuery{Lines: 3}); return err },
		"GET /v1/agents/a/log?after=i+1&errors=true&lines=7 ": func() error {
			_, err := c.Log(ctx, "a", LogQuery{Lines: 7, Errors: true, After: "i 1"})
			return err
		},
		`POST /v1/orders {"do":"stop","agent":"a"}`: func() error {
			_, err := c.Order(ctx, OrderRequest{Do: "stop", Agent: "a"})
			return err
		},
		"GET /v1/orders/x%2Fy ": func() error { _, err := c.OrderState(ctx, "x/y"); return err },
		"GET /v1/feed? ":        func() error { _, err := c.Feed(ctx, FeedQuery{}); return err },
		"GET /v1/feed?limit=3&of=a+b&since=2026-11-20T09%3A00%3A00.5Z&view=trace ": func() error {
			_, err := c.Feed(ctx, FeedQuery{View: FeedTrace, Of: "a b", Limit: 3, Since: time.Date(2026, 11, 20, 9, 0, 0, 5e8, time.UTC)})
			return err
		},
		"GET /v1/failures?agent=a+b ":                             func() error { _, err := c.Failures(ctx, "a b"); return err },
		`POST /v1/hookfiles/claude {"do":"status","settings":""}`: func() error { _, err := c.EditHooks(ctx, "claude", HookEdit{Do: "status"}); return err },
		"GET /v1/schema/..%2Fx ":                                  func() error { _, err := c.Schema(ctx, "../x"); return err },
	} {
		if err := ask(); err != nil || h.asked+" "+h.sent != want {
			t.Errorf("asked %q, %v; want %q", h.asked+" "+h.sent, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		h          *answering
		kind, text string
	}{
		{&answering{status: 404, body: `{"kind":"not_found","message":"no","hint":"h"}`}, NotFound, "no"},
		{&answering{status: 502, body: `<html>`}, Internal, "status 502"},
		{&answering{body: `not json`}, Internal, "cannot read the answer"},
	} {
		_, err := NewClient(InProcess(c.h)).Status(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.text) {
			t.Errorf("got %v, want %s %q", err, c.kind, c.text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewClient(InProcess(&answering{body: "{}"})).Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
}

// Each kind of error travels with a status that says the same.
func TestStatusCodes(t *testing.T) {
	for kind, want := range map[string]int{BadInput: 400, NotFound: 404, Forbidden: 403, CannotLook: 503, Unseen: 503, Unreachable: 503, Internal: 500, "": 500} {
		if got := (&Error{Kind: kind}).HTTPStatus(); got != want {
			t.Errorf("%s travels with %d, want %d", kind, got, want)
		}
	}
}

// A client that never asks leaves no connection behind.
func TestCloseWithoutAsking(t *testing.T) {
	dir, err := os.MkdirTemp("", "custos") // t.TempDir() may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := Dial(t.Context(), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is still there: %v", err)
	}
}
