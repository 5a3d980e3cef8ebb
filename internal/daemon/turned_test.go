package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"custos/internal/api"
)

// TestWhatBecameOfTheTurn: a nudge that was delivered says whether the turn that it began
// was answered or failed, and goes on to say so when the agent has had other turns. A person
// may nudge one whose login was refused.
func TestWhatBecameOfTheTurn(t *testing.T) {
	w := newTown(t, "")
	w.spawn("builder", "reply hello", false)
	w.awaitState("builder", "idle")
	c, ids := w.client(), map[string]string{}
	turn := func(id string) string {
		o, err := c.OrderState(t.Context(), id)
		if err != nil || o.Arrival == nil || o.Arrival.Turn == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		return strings.TrimSpace(o.Arrival.Turn.State + " " + o.Arrival.Turn.Error)
	}
	for _, c := range []struct{ text, want string }{{"fake reply again", "answered"}, {"fake auth", "failed authentication"}, {"fake reply back", "answered"}, {"fake tool 1h sleep", "under_way"}} {
		o := w.order(api.OrderRequest{Do: "nudge", Agent: "builder", Text: c.text})
		if o.State != "done" {
			t.Fatalf("%s: %+v\n%s", c.text, o, w.said)
		}
		ids[o.ID] = c.want
		await(t, func() string { return fmt.Sprintf("%s: %s\n%s", c.text, turn(o.ID), w.said) }, func() bool { return strings.HasPrefix(turn(o.ID), c.want) })
	}
	for id, want := range ids {
		if got := turn(id); !strings.HasPrefix(got, want) {
			t.Errorf("later, of the turn that was %s it is said: %s", want, got)
		}
	}
}
