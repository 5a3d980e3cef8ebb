package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	for _, s := range list { // as the store keeps them: one of each rule and subject
		at := slices.IndexFunc(r.list, func(old fleet.Silence) bool { return old.Rule == s.Rule && old.Subject == s.Subject })
		if at < 0 {
			at, r.list = len(r.list), append(r.list, s)
		}
		r.list[at] = s
	}
	r.events = append(r.events, e.Text)
	return nil
}

// TestRaise: a budget is raised by its name or by an allowance's, in what it limits, for a time; and lowered.
func TestRaise(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	book := &raises{}
	var pass fleet.Pass
	pass.Snapshot.Spending.Status, pass.Snapshot.Agents.Status = fleet.StatusOK, fleet.StatusOK
	pass.Snapshot.Spending.Value.Budgets = []fleet.BudgetFacts{{Budget: "each", Of: "build-2"}, {Budget: "day", Of: "build-3"}}
	pass.Snapshot.Agents.Value = []fleet.Agent{{Name: "build-4", Process: fleet.ProcessID{PID: 4}}}
	pass.Past.Registrations = []fleet.Registration{{Name: "build-1"}, {Name: "tester"}}
	look := func(context.Context, time.Duration) (fleet.Pass, error) { return pass, nil }
	c := &Control{Budgets: book, Look: look, Now: func() fleet.Instant { return now }, Past: func(context.Context) (fleet.Past, error) { return fleet.Past{Silences: book.list}, nil }}
	ask := func(o api.RaiseOrder) (api.Raised, error) { return c.raise(context.Background(), Call{By: "ann"}, o) }
	for _, bad := range []struct {
		o    api.RaiseOrder
		says string
	}{
		{api.RaiseOrder{Name: "dya", By: "+1usd", For: "1h"}, `no such section, did you mean "day"?`},
		{api.RaiseOrder{Name: "day/x", By: "+1usd", For: "1h"}, "no such section"},
		{api.RaiseOrder{Name: "each/tester", By: "+1k", For: "1h"}, "no such section"},
		{api.RaiseOrder{Name: "day", By: "1usd", For: "1h"}, "write +10usd"},
		{api.RaiseOrder{Name: "day", By: "+1k", For: "1h"}, "cannot raise budget day by +1k tokens: it limits 10.00 USD, so write +10usd"},
		{api.RaiseOrder{Name: "day", By: "+20%", For: "1h"}, "cannot raise budget day by +20 % of the plan: it limits 10.00 USD, so write +10usd"},
		{api.RaiseOrder{Name: "each/build-3", By: "+1k", For: "1h"}, `no agent is known that is called "build-3"`},
		{api.RaiseOrder{Name: "each/build-11", By: "+1k", For: "1h"}, `no agent is known that is called "build-11", did you mean "build-1"?`},
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
	for _, name := range []string{"build-2", "build-4"} {
		if err := c.knowsWhose(t.Context(), &book.Limits()[1], "each/"+name); err != nil {
			t.Error(err)
		}
	}
	pass.Snapshot.Agents.Blind("locked")
	if err := c.knowsWhose(t.Context(), &book.Limits()[1], "each/build-3"); err != nil {
		t.Errorf("who there is is not known: %v", err)
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
	book.list, book.events = nil, nil
	first := api.RaiseOrder{Name: "day", By: "+5usd", For: "2h", Key: "k1"}
	for _, o := range []api.RaiseOrder{first, {Name: "day", By: "+5usd", For: "2h", Key: "k2"}, first} {
		if got, err := ask(o); err != nil || got.By != "+5.00 USD" || !got.Until.Equal(now.Wall.Add(2*time.Hour)) {
			t.Errorf("%+v: %+v, %v", o, got, err)
		}
	}
	if got := fmt.Sprint(fleet.Raises(book.list, now)); got != "[+5.00 USD +5.00 USD]" || len(book.events) != 2 {
		t.Errorf("two commands in the same moment, one of which was given twice: %s, %q", got, book.events)
	}
	if got, err := ask(api.RaiseOrder{Name: "day", Lower: true}); err != nil || got.Ended != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	now = now.Add(time.Minute)
	if _, err := ask(first); err != nil || len(fleet.Raises(book.list, now)) > 0 {
		t.Errorf("what was lowered since is raised by a command that comes again: %+v, %v", book.list, err)
	}
	if _, err := ask(api.RaiseOrder{Name: "day", By: "+5usd", For: "2h", Key: "k 3"}); err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("a key with a space: %v", err)
	}
	var of *api.Error
	if _, err := ask(api.RaiseOrder{Name: "gone", By: "+1usd", For: "1h"}); !errors.As(err, &of) || of.Kind != api.NotFound {
		t.Error(err)
	}
}

// TestSpendLeft: an agent is told what it used and what is left of each budget that it spends of, one that
// nothing was spent of yet and its plan included; what is not known is said to be so. Who is no agent names one.
func TestSpendLeft(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	midnight := now.Wall.Add(15 * time.Hour)
	snap := fleet.Snapshot{At: now}
	snap.Agents.Status, snap.Spending.Status = fleet.StatusOK, fleet.StatusOK
	snap.Agents.Value = []fleet.Agent{
		{Name: "build-1", Owner: fleet.OwnerCustos, Tokens: fleet.Known[int64](12_300), Cost: fleet.Known[int64](1_250_000),
			Quota: []fleet.Quota{{Window: "5h", Percent: 97, Resets: now.Wall.Add(5 * time.Hour), At: now.Wall}, {Window: "7d", Percent: 50, Resets: now.Wall, At: now.Wall.Add(-time.Hour)}}},
		{Name: "mine", Owner: fleet.OwnerForeign},
		{Name: "quiet", Owner: fleet.OwnerForeign, Account: "own", Quota: []fleet.Quota{{Window: "5h", Percent: 30, Resets: now.Wall.Add(5 * time.Hour), At: now.Wall.Add(-time.Hour)}}},
	}
	book := &raises{}
	day, each := book.Limits()[0], book.Limits()[1]
	day.Hold, day.Pause = 100, 100
	sum := fleet.Spending{Budget: "day", MicroUSD: 11e6, Until: midnight}
	snap.Spending.Value.Budgets = []fleet.BudgetFacts{day.Facts(sum, nil, now), each.Facts(fleet.Spending{Budget: "each", Of: "build-2", Tokens: fleet.Tokens{Input: 990}}, nil, now)}
	plan := func(account, window string, percent float64, ago time.Duration) fleet.AccountQuota {
		return fleet.AccountQuota{Account: account, Quota: fleet.Quota{Window: window, Percent: percent, Resets: now.Wall.Add(5 * time.Hour), At: now.Wall.Add(-ago)}}
	}
	past := fleet.Past{Quotas: []fleet.AccountQuota{plan("own", "5h", 40, time.Minute), plan("own", "7d", 60, 2*time.Hour), plan("other", "5h", 99, 0)}}
	c := &Control{Budgets: book, Registry: func(context.Context) ([]fleet.Registration, error) { return nil, nil }, Look: func(context.Context, time.Duration) (fleet.Pass, error) {
		return fleet.Pass{Snapshot: snap, Past: past}, nil
	}}
	left := func(by, name string) string {
		got, err := c.spendLeft(context.Background(), Call{By: by, Ask: func(string) string { return name }})
		if err != nil {
			return err.Error()
		}
		return got.Agent + ": " + strings.Join(got.Says, " | ")
	}
	for _, want := range [][3]string{
		{fleet.ByAgent("build-1"), "", "build-1: used so far: 12.3k tokens, 1.25 USD, as told or at list prices" +
			" | budget day: 0.00 USD left of 10.00 USD, until 2026-11-21 00:00 UTC; turns end before the model is asked again" +
			" | budget each/build-1: 1k tokens left of 1k tokens | plan, 5h: 3 % left, until 2026-11-20 14:00 UTC"},
		{"ann", "mine", "mine: used so far: tokens not known, cost not known | budget day: 0.00 USD left of 10.00 USD, until 2026-11-21 00:00 UTC"},
		{"ann", "quiet", "quiet: used so far: tokens not known, cost not known | budget day: 0.00 USD left of 10.00 USD, until 2026-11-21 00:00 UTC" +
			" | plan, 5h: 60 % left, until 2026-11-20 14:00 UTC | plan, 7d: at most 40 % left, until 2026-11-20 14:00 UTC"},
		{"ann", "", "you are no agent, so name one"},
		{"ann", "nobody", "there is no agent of this name"},
	} {
		if got := left(want[0], want[1]); got != want[2] && !strings.Contains(got, ": "+want[2]) {
			t.Errorf("%s asks for %q:\n%s\nwant\n%s", want[0], want[1], got, want[2])
		}
	}
	sum.MicroUSD, sum.Unpriced = 4e6, 2
	snap.Spending.Value.Budgets[0] = day.Facts(sum, nil, now)
	if got, want := left("ann", "mine"), "budget day: what is left is not known: used is at least 4.00 USD of 10.00 USD"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	snap.Self.Value.Lost = fleet.Known("the database is damaged")
	const forgotten = "what was spent before is forgotten until a person acknowledges the alert self-amnesia (the database is damaged)"
	if got, want := left("ann", "mine"), "what is left of budgets is not known: "+forgotten; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, err := c.listBudgets(context.Background(), Call{}); err != nil || got.Unknown != forgotten {
		t.Errorf("%q, %v", got.Unknown, err)
	}
	snap.Spending.Blind("locked")
	if got, want := left("ann", "mine"), "what is left of budgets is not known: spending is unknown: locked"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := c.spendLeft(context.Background(), Call{By: fleet.ByAgent(Unnamed), Doubt: errors.New("process 7"), Ask: func(string) string { return "" }}); api.ErrorOf(err).Kind != api.Forbidden {
		t.Errorf("who is not known to be an agent, or which: %v", err)
	}
}
