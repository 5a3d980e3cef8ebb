package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// raises is a book of budgets in memory.
type raises struct {
	list   []fleet.Silence
	events []string
}

func (r *raises) Limits() []fleet.Budget {
	return []fleet.Budget{{Name: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, MicroUSD: 10e6}, {Name: "each", By: fleet.SpendByAgent, Of: "build-*", Tokens: 1000}}
}

func (r *raises) Raise(_ context.Context, list []fleet.Silence, e fleet.Event) error {
	for _, s := range list {
		for i := range r.list {
			if r.list[i].Rule == s.Rule && r.list[i].Subject == s.Subject {
				r.list[i] = s
			}
		}
		if !strings.Contains(e.Kind, "lowered") {
			r.list = append(r.list, s)
		}
	}
	r.events = append(r.events, e.Text)
	return nil
}

// TestRaise: a budget is raised by its name or by an allowance's, in what it limits, for a time; and lowered.
func TestRaise(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	book := &raises{}
	c := &Control{Budgets: book, Now: func() fleet.Instant { return now }, Past: func(context.Context) (fleet.Past, error) { return fleet.Past{Silences: book.list}, nil }}
	ask := func(o api.RaiseOrder) (api.Raised, error) { return c.raise(context.Background(), Call{By: "ann"}, o) }
	for _, bad := range []struct {
		o    api.RaiseOrder
		says string
	}{
		{api.RaiseOrder{Name: "dya", By: "+1usd", For: "1h"}, `no such section, did you mean "day"?`},
		{api.RaiseOrder{Name: "day/x", By: "+1usd", For: "1h"}, "no such section"},
		{api.RaiseOrder{Name: "each/tester", By: "+1k", For: "1h"}, "no such section"},
		{api.RaiseOrder{Name: "day", By: "1usd", For: "1h"}, "write +10usd"},
		{api.RaiseOrder{Name: "day", By: "+1k", For: "1h"}, "it has no limit of that"},
		{api.RaiseOrder{Name: "day", By: "+1usd", For: "-1h"}, "want a time up to 31 days"},
		{api.RaiseOrder{Name: "day", By: "+1usd", For: "9000h"}, "want a time up to 31 days"},
		{api.RaiseOrder{Name: "day", Lower: true}, "it is not raised"},
	} {
		if _, err := ask(bad.o); err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%+v: %v, want %q", bad.o, err, bad.says)
		}
	}
	if len(book.list) > 0 {
		t.Fatalf("what was refused is written down: %+v", book.list)
	}
	for _, o := range []api.RaiseOrder{{Name: "day", By: "+5usd", For: "2h", Why: "the release"}, {Name: "each/build-1", By: "+1k", For: "1h"}} {
		if _, err := ask(o); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(fleet.Raises(book.list, now)); got != "[+5.00 USD +1k tokens]" {
		t.Error(got)
	}
	if want := "raised by +5.00 USD until 2026-11-20T11:00:00Z by ann: the release"; book.events[0] != want {
		t.Errorf("written down: %q, want %q", book.events[0], want)
	}
	if got, err := ask(api.RaiseOrder{Name: "each", Lower: true}); err != nil || got.Ended != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if left := fleet.Raises(book.list, now); len(left) != 1 || left[0].Name != "day" {
		t.Errorf("left: %+v", left)
	}
	var of *api.Error
	if _, err := ask(api.RaiseOrder{Name: "gone", By: "+1usd", For: "1h"}); !errors.As(err, &of) || of.Kind != api.NotFound {
		t.Error(err)
	}
}
