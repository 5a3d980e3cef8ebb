package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// askedBook is a book of orders that are open.
type askedBook struct {
	Orders
	list []fleet.Order
	let  string
}

func (b *askedBook) Open(context.Context) ([]fleet.Order, error) { return b.list, nil }
func (b *askedBook) Order(_ context.Context, id string) (fleet.Order, error) {
	return *fleet.Find(b.list, func(o *fleet.Order) bool { return o.ID == id }), nil
}
func (b *askedBook) Take(_ context.Context, o fleet.Order) (fleet.Order, error) {
	b.list = append(b.list, o)
	return o, nil
}
func (b *askedBook) Let(_ context.Context, o fleet.Order, by string) (fleet.Order, error) {
	b.let = o.ID + " by " + by
	o.State, o.Approved = fleet.OrderOpen, by
	return o, nil
}
func (b *askedBook) Cancel(_ context.Context, o fleet.Order, by string, _ func(fleet.Registration) (fleet.Registration, error)) (fleet.Order, error) {
	o.State = fleet.OrderRefused
	return o, nil
}

// TestWhatIsAskedFor: what comes from a host whose people only ask waits as it was written, up to some; it is taken back
// there by who gave it alone; and here somebody approves of it, once, and while its time lasts.
func TestWhatIsAskedFor(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Boot: "b"}
	book := &askedBook{}
	c := &Control{Orders: book, Now: func() fleet.Instant { return now }, Registry: func(context.Context) ([]fleet.Registration, error) { return nil, nil }}
	asks := func(id, by string) (api.Order, error) {
		return c.order(t.Context(), Call{By: by, Asks: true}, api.OrderRequest{ID: id, Do: "nudge", Agent: "worker", Text: "go on"})
	}
	id := func(n int) string { return fmt.Sprintf("%016x", n) }
	for _, taken := range []string{"sling-w1-1", "relieve-a", "go-on-a", id(0) + "-prompt", "x; reboot", "..", "0A1B2C3D4E5F6071"} {
		if _, err := asks(taken, "person@box2"); err == nil || !strings.Contains(err.Error(), "16 hexadecimal digits") {
			t.Errorf("%q is taken: %v", taken, err)
		}
	}
	o, err := asks(id(0), "person@box2")
	if err != nil || o.State != "asked" || o.Guard != "approval" || len(o.Asks) != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if o, err := c.askedShown(t.Context(), Call{ID: id(0)}); err != nil || !slices.Equal(o.Asks, []string{`do: "nudge"`, `agent: "worker"`, `types: "go on"`}) {
		t.Errorf("%q, %v", o.Asks, err)
	}
	long := api.OrderRequest{ID: id(99), Do: "nudge", Agent: "worker", Text: strings.Repeat("x", longestAsked)}
	if _, err := c.order(t.Context(), Call{By: "person@box2", Asks: true}, long); err == nil || !strings.Contains(err.Error(), "8192 at most") {
		t.Errorf("more than a person reads is taken: %v", err)
	}
	for i := 1; i < mostAsked; i++ {
		if _, err := asks(id(i), "person@box3"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := asks(id(50), "person@box2"); err == nil || !strings.Contains(err.Error(), "20 orders of other hosts wait") {
		t.Errorf("one more is taken: %v", err)
	}
	if _, err := c.cancelOrder(t.Context(), Call{ID: id(0), By: "person@box3", Asks: true}); err == nil {
		t.Error("another host takes it back")
	}
	if o, err := c.cancelOrder(t.Context(), Call{ID: id(1), By: "person@box3", Asks: true}); err != nil || o.State != "refused" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := c.letOrder(t.Context(), Call{ID: id(0), By: "ann"}); err != nil || o.State != "open" || o.Approved != "ann" || book.let != id(0)+" by ann" {
		t.Errorf("%+v, %v; %q", o, err, book.let)
	}
	if _, err := c.letOrder(t.Context(), Call{ID: id(3), By: "person@box2", From: "box2"}); err == nil || !strings.Contains(err.Error(), "from another host") {
		t.Errorf("approved of elsewhere: %v", err)
	}
	now = now.Add(fleet.AskedFor)
	if _, err := c.letOrder(t.Context(), Call{ID: id(2), By: "ann"}); err == nil || !strings.Contains(err.Error(), "its time is over") {
		t.Errorf("approved of after its time: %v", err)
	}
	book.list = []fleet.Order{{ID: "open", State: fleet.OrderOpen}}
	if _, err := c.letOrder(t.Context(), Call{ID: "open", By: "ann"}); err == nil || !strings.Contains(err.Error(), "it is open") {
		t.Errorf("approved of what waits for nothing: %v", err)
	}
}
