package server

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"custos/internal/api"
)

// A request of this process in the name of somebody else is judged as that one's: an agent
// is refused, a person who was shown to be one is not asked about again, and of who is
// nobody's caller nothing is taken.
func TestARequestInAnothersNameIsJudgedAsTheirs(t *testing.T) {
	for _, c := range []struct {
		name, agent string
		as          *Caller
		refused     bool
	}{
		{"a person's process", "", &Caller{UID: os.Getuid(), PID: 7}, false},
		{"an agent's process", "builder", &Caller{UID: os.Getuid(), PID: 7}, true},
		{"a person by a session", "builder", &Caller{UID: os.Getuid(), Person: true}, false},
		{"another user", "", &Caller{UID: os.Getuid() + 1, Person: true}, true},
		{"nobody", "", nil, true},
	} {
		w := newWorld()
		w.agent = c.agent
		o := w.options()
		o.InProcess = false
		h := New(o)
		asks := api.NewClient(roundTrip(func(req *http.Request) (*http.Response, error) {
			if c.as != nil {
				req = req.WithContext(WithCaller(req.Context(), *c.as))
			}
			return api.InProcess(h).RoundTrip(req)
		}))
		_, err := asks.Acknowledge(t.Context(), 3, api.AckOrder{})
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := asks.Order(t.Context(), api.OrderRequest{Do: "stop", Agent: "x"}); (err != nil) != c.refused {
			t.Errorf("%s: an order: %v", c.name, err)
		}
	}
}

// A look that is a person's alone is one of those before which another machine is told who asks:
// it cannot see that by itself.
func TestPersonLooksAreKnownElsewhere(t *testing.T) {
	var got []string
	for _, r := range routes() {
		if r.method == http.MethodGet && r.access == person {
			got = append(got, r.pattern)
		}
	}
	if !slices.Equal(got, api.PersonLooks()) {
		t.Errorf("looks for persons are %q, and api knows %q", got, api.PersonLooks())
	}
}
