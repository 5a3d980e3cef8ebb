package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Of an agent that was ordered and is not there its order is told, and what it waits for.
func TestTheStoryOfAnAgentThatIsOrdered(t *testing.T) {
	w := newWorld()
	w.pass.Past.Orders = []fleet.Order{
		{ID: "o1", Do: fleet.OrderSpawn, Agent: "bee", By: "ann", At: instant(0), State: fleet.OrderQueued, Why: "frozen: by ann"},
		{ID: "o2", Do: fleet.OrderSpawn, Agent: "wasp", By: "ann", At: instant(0), State: fleet.OrderRefused, Why: "no"},
	}
	c := client(w)
	s, err := c.Story(t.Context(), "bee")
	if said := strings.Join(s.Facts, "\n"); err != nil || !strings.Contains(said, "Order o1, to spawn it, by ann, is queued for 0s: frozen: by ann.") {
		t.Errorf("of bee: %q, %v", said, err)
	}
	if len(s.Next) == 0 || !strings.Contains(s.Next[len(s.Next)-1].Command, "custos orders cancel o1") {
		t.Errorf("next: %+v", s.Next)
	}
	_, err = c.Agent(t.Context(), "bee")
	wantError(t, err, api.NotFound, "order o1, to spawn it, is queued: frozen: by ann")
	_, err = c.Story(t.Context(), "wasp")
	wantError(t, err, api.NotFound, "nothing is known by that name")
}

// Who asks in the same process is told of a fault once, with who finds out more; a daemon
// writes it to its log as well. The doctor is not sent to itself.
func TestAFaultIsToldOnce(t *testing.T) {
	for inProcess, logged := range map[bool]int{true: 0, false: 1} {
		var log bytes.Buffer
		o := newWorld().options()
		o.InProcess, o.Log = inProcess, slog.New(slog.NewTextHandler(&log, nil))
		said := httptest.NewRecorder()
		(&server{Options: o}).fail(said, httptest.NewRequest(http.MethodGet, "/v1/schedules", nil), errors.New("the database is damaged"))
		if !strings.Contains(said.Body.String(), `"hint":"custos doctor"`) {
			t.Errorf("it is told %s", said.Body)
		}
		if n := strings.Count(log.String(), "damaged"); n != logged {
			t.Errorf("in process %t: logged %d times: %s", inProcess, n, &log)
		}
	}
	if e := advised(&api.Error{Kind: api.Internal, Message: "damaged"}, "/v1/doctor"); e.Hint != "" {
		t.Errorf("the doctor sends to %s", e.Hint)
	}
}
