package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func TestTellByAPerson(t *testing.T) {
	w := newWorld()
	got, err := client(w).Tell(t.Context(), api.Tell{From: "ops", Text: "  all\x1b[31m is out\nsecond line\n", Priority: "P1"})
	if err != nil || len(w.told) != 1 {
		t.Fatalf("%+v, %v, told %+v", got, err, w.told)
	}
	m := w.told[0]
	if m.Subject != "ops: all is out" || m.Body != "all is out\nsecond line" || m.Priority != fleet.P1 || m.Kind != fleet.MessageTold || m.About != "" || m.To != "" {
		t.Errorf("%+v", m)
	}
	if _, err = client(w).Tell(t.Context(), api.Tell{From: "ops", Text: "all is out\nsecond line", Priority: "P1"}); err != nil || w.told[1].ID != m.ID {
		t.Errorf("the same words of the same one are another message: %+v, %v", w.told, err)
	}
}

// Who tells something hears who is told: nobody, where no route leads to anybody.
func TestTellNamesWhoHears(t *testing.T) {
	w := newWorld()
	if got, err := client(w).Tell(t.Context(), api.Tell{Text: "out"}); err != nil || got.To == nil || len(got.To) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	w.hears = []string{"phone"}
	if got, err := client(w).Tell(t.Context(), api.Tell{Text: "out"}); err != nil || len(got.To) != 1 || got.To[0] != "phone" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Of whom it is known that what was told before has not got there, that is said with it.
func TestTellNamesWhoDoesNotTakeIt(t *testing.T) {
	w := newWorld()
	w.hears = []string{"phone", "pager"}
	got, err := client(w).Tell(t.Context(), api.Tell{Text: "out"})
	if err != nil || len(got.To) != 2 || strings.Join(got.Failing, "|") != "pager: no member" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTellByAnAgent(t *testing.T) {
	w := newWorld()
	w.agent = "builder"
	if _, err := client(w).Tell(t.Context(), api.Tell{From: "supervisor", Text: "token=abcdefghijklmnop"}); err != nil {
		t.Fatal(err)
	}
	if m := w.told[0]; m.About != "builder" || m.Subject != "supervisor (agent/builder): token=***" || m.Priority != fleet.P2 {
		t.Errorf("an agent passes for somebody else, or its secret is told: %+v", m)
	}
	_, err := client(w).Tell(t.Context(), api.Tell{Text: "fire", Priority: "P1"})
	wantError(t, err, api.BadInput, "P2 at most")
	for range 10 {
		w.events = append(w.events, fleet.Event{ID: 9, Kind: "told", At: instant(-time.Minute), Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}})
	}
	_, err = client(w).Tell(t.Context(), api.Tell{Text: "more"})
	wantError(t, err, api.Forbidden, "done so 10 times within an hour")
	for i := range w.events {
		w.events[i].At = instant(-61 * time.Minute)
	}
	if _, err := client(w).Tell(t.Context(), api.Tell{Text: "more"}); err != nil {
		t.Errorf("an hour later: %v", err)
	}
	w.agent, w.agentErr = "", errors.New("its parent is gone")
	_, err = client(w).Tell(t.Context(), api.Tell{Text: "fire", Priority: "P0"})
	wantError(t, err, api.BadInput, "P2 at most")
}

// An agent may be called as a person is: who said it is told with the kind.
func TestTellSaysThatAnAgentSaidIt(t *testing.T) {
	w := newWorld()
	w.agent = "ann"
	got, err := client(w).Tell(t.Context(), api.Tell{Text: "the release is out"})
	if err != nil || got.By != "agent/ann" || got.Subject != "agent/ann: the release is out" || w.told[0].Subject != got.Subject {
		t.Errorf("%+v, told %+v, %v", got, w.told, err)
	}
}

func TestTellBadWords(t *testing.T) {
	w := newWorld()
	for text, want := range map[string]string{" \n\x1b[2J": "cannot notify people of nothing", strings.Repeat("x", 16<<10+1): "in a file"} {
		_, err := client(w).Tell(t.Context(), api.Tell{Text: text})
		wantError(t, err, api.BadInput, want)
	}
	_, err := client(w).Tell(t.Context(), api.Tell{Text: "x", Priority: "urgent"})
	wantError(t, err, api.BadInput, `priority "urgent"`)
	if len(w.told) > 0 {
		t.Errorf("told %+v", w.told)
	}
}
