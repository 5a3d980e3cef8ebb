package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// postsOf are receivers of a test: phone takes what it is sent, pager does not.
type postsOf struct{ w *world }

func (p postsOf) Standing() []fleet.Receiver {
	return []fleet.Receiver{{Name: "phone", Proof: fleet.Known(fleet.Duration(time.Minute))}, {Name: "pager", Barred: "no member", Tries: 2, Why: "403", Waiting: fleet.Duration(2 * time.Minute)}, {Name: "known"}}
}

func (p postsOf) Try(_ context.Context, to string, m fleet.Message) error {
	p.w.told = append(p.w.told, m)
	if to == "pager" {
		return errors.New("403 token=abcdefghijklmnop")
	}
	return nil
}

func (p postsOf) Note(_ context.Context, e fleet.Event) error {
	p.w.events = append(p.w.events, e)
	return nil
}

// A person tries one receiver: it alone is told, at once; that it is, and what came of it, is
// written down. An agent does not.
func TestTryingAReceiver(t *testing.T) {
	w := newWorld()
	before := len(w.events)
	list, err := client(w).Receivers(t.Context())
	if err != nil || len(list.Receivers) != 3 || list.Receivers[0] != (api.Receiver{Name: "phone", Proof: "1m0s"}) || list.Receivers[1] != (api.Receiver{Name: "pager", Barred: "no member", Waiting: "2m0s", Why: "403"}) {
		t.Fatalf("%+v, %v", list, err)
	}
	got, err := client(w).Try(t.Context(), "phone")
	if err != nil || got.To != "phone" || len(w.told) != 1 || !strings.Contains(w.told[0].Subject, "a test message of Custos to phone") {
		t.Fatalf("%+v, %v, told %+v", got, err, w.told)
	}
	_, err = client(w).Try(t.Context(), "pager")
	wantError(t, err, api.Unreachable, "receiver pager did not take the test message: 403 token=***")
	_, err = client(w).Try(t.Context(), "phon")
	wantError(t, err, api.NotFound, `cannot find receiver "phon", did you mean "phone"?`)
	w.agent = "builder"
	_, err = client(w).Try(t.Context(), "phone")
	wantError(t, err, api.Forbidden, "person")
	if len(w.told) != 2 {
		t.Errorf("told %+v", w.told)
	}
	var said []string
	for _, e := range w.events[before:] {
		said = append(said, e.Kind+" "+e.Text)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{" sends receiver phone a test message", "receiver.try receiver phone took the test message after", " sends receiver pager a test message", "receiver.try receiver pager did not take the test message: 403 token=***"} {
		if !strings.Contains(all, want) {
			t.Errorf("it is not written down that %q:\n%s", want, all)
		}
	}
	if len(said) != 4 {
		t.Errorf("%d things are written down:\n%s", len(said), all)
	}
}
