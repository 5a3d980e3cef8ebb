package chromiumtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What the other tests demand to be nothing is seen where it is there: a script that the
// policy forbids, one that runs, an address elsewhere, what is too wide, and what not
// everybody can use.
func TestABrowserComplains(t *testing.T) {
	b := Start(t, Options{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/strict" {
			w.Header().Set("Content-Security-Policy", "default-src 'none'")
		}
		_, _ = w.Write([]byte(`<!DOCTYPE html><title>T</title><p style="width:3000px">wide</p><script>alert("ran")</script><img src="http://elsewhere.test/x">`))
	}))
	defer s.Close()
	c := b.Tab(t)
	c.Goes(s.URL + "/strict")
	if said := c.Complaints(); !strings.Contains(said, "CSP: ") || strings.Contains(said, `says "ran"`) {
		t.Errorf("of a script that is forbidden: %q", said)
	}
	c.Goes(s.URL + "/loose")
	c.Awaits("p", "wide")
	if said := c.Complaints(); !strings.Contains(said, `says "ran"`) {
		t.Errorf("of a script that runs: %q", said)
	}
	if found := c.Elsewhere(s.URL); len(found) == 0 || found[0] != "http://elsewhere.test/x" {
		t.Errorf("elsewhere: %q", found)
	}
	if over := c.Overflow(320); !strings.Contains(over, "wide</p>") {
		t.Errorf("it is wider than the screen by %q", over)
	}
	axe, err := Axe()
	if err != nil {
		t.Fatal(err)
	}
	if axe == "" {
		t.Skip("axe-core is not here: CUSTOS_AXE=$(scripts/axe)")
	}
	c.Audited()
	c.Goes(s.URL + "/loose")
	if found, _ := c.Faults(axe); !strings.Contains(found, "image-alt") {
		t.Errorf("axe-core finds %q", found)
	}
}
