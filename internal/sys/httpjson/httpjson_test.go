package httpjson_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"custos/internal/sys/httpjson"
)

// TestAsk: what comes back is whole, or there is an error that says why, with what
// was read and without the URL.
func TestAsk(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hunter2/half":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		case "/hunter2/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 11))
		case "/hunter2/away":
			http.Redirect(w, r, "/hunter2/exact", http.StatusFound)
		case "/hunter2/cut":
			panic(http.ErrAbortHandler)
		default:
			b, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Header.Get("Content-Type")[:4]+string(b))
		}
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct{ path, want, fault string }{
		{"/exact", "appl{}", ""},
		{"/half", "half", "its answer broke off"},
		{"/long", strings.Repeat("x", 10), "its answer is larger than is read: it has more than 10 bytes"},
		{"/cut", "", "EOF"},
	} {
		req, err := httpjson.Request(t.Context(), http.MethodPost, s.URL+"/hunter2"+c.path, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := httpjson.Ask(nil, req, 10)
		if string(body) != c.want || (err == nil) != (c.fault == "") || err != nil && (!strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %q %v, want %q %q", c.path, body, err, c.want, c.fault)
		}
		if errors.Is(err, httpjson.ErrTooMuch) != (c.path == "/long") {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	req, _ := httpjson.Request(t.Context(), http.MethodGet, s.URL+"/hunter2/away", nil)
	if resp, _, err := httpjson.Ask(nil, req, 100); err != nil || resp.StatusCode != http.StatusFound || req.Header.Get("Content-Type") != "" {
		t.Errorf("a redirect was followed: %v", err)
	}
}

// TestRequestRefuses: what is no URL or no JSON is refused without repeating it.
func TestRequestRefuses(t *testing.T) {
	if _, err := httpjson.Request(t.Context(), http.MethodGet, "http://hunter2\x00", nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
	if _, err := httpjson.Request(t.Context(), http.MethodGet, "http://a", func() {}); err == nil {
		t.Error("a function was sent")
	}
}
