package ping

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func to(url string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return url, nil }
}

// A ping is one GET, and good when it is answered by 2xx. Its URL, which is its
// key, is in no error.
func TestBeat(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string // in the error; "" for none
	}{
		"well":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") }, ""},
		"empty":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, ""},
		"unknown": {func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }, "it answered 404"},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"long":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<20)) }, ""},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/hunter2", http.StatusFound)
		}, "it answered 302"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Method != http.MethodGet || r.URL.Path != "/hunter2" {
					t.Errorf("it asked %s %s", r.Method, r.URL)
				}
				c.answer(w, r)
			}))
			defer s.Close()
			err := Ping{Called: "dms", URL: to(s.URL + "/hunter2")}.Beat(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if n := asked.Load(); n < 1 || n > 2 || n == 2 && name != "broken" { // a GET whose connection broke may be tried anew by net/http
				t.Errorf("it asked %d times", n)
			}
		})
	}
}

func TestBadURL(t *testing.T) {
	for _, bad := range []string{"http://[::1", "no url hunter2", "ftp://hunter2/x", ""} {
		if err := (Ping{Called: "dms", URL: to(bad)}).Beat(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	lost := func(context.Context) (string, error) { return "", errors.New("no such file") }
	if err := (Ping{Called: "dms", URL: lost}).Beat(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a URL: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Ping{Called: "dms", URL: to("http://127.0.0.1:1/hunter2")}).Beat(ctx); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("given up: %v", err)
	}
}
