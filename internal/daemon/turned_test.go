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

// TestALostLoginHoldsWhatWaits: what was queued for an agent whose login is then refused is
// not typed into it, and goes on when a person says that the login works.
func TestALostLoginHoldsWhatWaits(t *testing.T) {
	w := newTown(t, "")
	w.spawn("builder", "tool 3s sleep; auth", false)
	w.awaitState("builder", "working")
	c, jobs := w.client(), [2]string{}
	is := func(id string) api.Order {
		o, err := c.OrderState(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for i := range jobs {
		o, err := c.Order(t.Context(), api.OrderRequest{Do: "nudge", Agent: "builder", Text: fmt.Sprintf("fake reply job %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		jobs[i] = o.ID
	}
	w.awaitState("builder", "auth_lost")
	for _, id := range jobs {
		await(t, func() string { return fmt.Sprintf("%+v\n%s", is(id), w.said) }, func() bool {
			o := is(id)
			return o.Over || o.Guard == "gate"
		})
		if o := is(id); o.State != "queued" || !strings.Contains(o.Why, "its login was refused") {
			t.Fatalf("it was typed into a lost login: %+v\n%s", o, w.said)
		}
	}
	if o := w.order(api.OrderRequest{Do: "nudge", Agent: "builder", Text: "fake reply back"}); o.State != "done" {
		t.Fatalf("a person cannot say that the login works: %+v\n%s", o, w.said)
	}
	for _, id := range jobs {
		await(t, func() string { return fmt.Sprintf("%+v\n%s", is(id), w.said) }, func() bool { return is(id).State == "done" })
	}
}
