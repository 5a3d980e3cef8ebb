package spending

import (
	"context"
	"errors"
	"testing"
	"time"

	"custos/internal/fleet"
)

type books struct {
	mark   string
	err    error
	asked  []fleet.SpendScope
	counts int
	recent []fleet.Spent
}

func (b *books) UsageMark(context.Context, time.Time) (string, error) { return b.mark, b.err }

func (b *books) SpentNow(context.Context, time.Time) ([]fleet.AgentSpends, error) {
	return []fleet.AgentSpends{{Agent: "a", Now: 5}}, b.err
}

func (b *books) UsageFaults(context.Context, time.Time) ([]fleet.UsageFault, error) {
	return []fleet.UsageFault{{Kind: "claude", Why: "odd"}}, b.err
}

func (b *books) Spending(_ context.Context, scopes []fleet.SpendScope) (out []fleet.Spending, err error) {
	b.asked, b.counts = scopes, b.counts+1
	for _, s := range scopes {
		out = append(out, fleet.Spending{Budget: s.Budget, MicroUSD: int64(b.counts), Recent: b.recent})
	}
	return out, b.err
}

// TestLook adds up anew when something was written down, when a window ends, and when a window has slid on.
func TestLook(t *testing.T) {
	now := time.Date(2026, 7, 8, 21, 59, 0, 0, time.UTC) // a minute before midnight in Berlin
	b := &books{mark: "1"}
	p, err := New(Options{Now: func() fleet.Instant { return fleet.Instant{Wall: now} }, Ledger: func(context.Context) (Ledger, error) { return b, nil },
		Budgets: []fleet.Budget{{Name: "day", Window: fleet.WindowDay, Zone: "Europe/Berlin"}, {Name: "talk", By: fleet.SpendByAgent, Window: fleet.WindowSession, Minutes: 60}}})
	if err != nil {
		t.Skip("no zones here: ", err)
	}
	look := func() fleet.Spendings {
		t.Helper()
		put, err := p.Look(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var s fleet.Snapshot
		put(&s)
		return s.Spending.Value
	}
	first := look()
	if len(first.Sums) != 2 || !first.Sums[0].Until.Equal(now.Add(time.Minute)) || !first.Sums[1].Until.IsZero() || len(first.Agents) != 1 || len(first.Faults) != 1 {
		t.Errorf("%+v", first)
	}
	if !b.asked[0].From.Equal(now.Add(-24*time.Hour+time.Minute)) || b.asked[0].Session || !b.asked[1].Session || !b.asked[1].Hours {
		t.Errorf("asked for %+v", b.asked)
	}
	for _, step := range []struct {
		name  string
		after time.Duration
		mark  string
		want  int
	}{
		{"nothing new", time.Second, "1", 1}, {"a response", time.Second, "2", 2}, {"nothing more", 3 * time.Second, "2", 2}, {"nothing was spent for an hour", 10 * time.Second, "2", 2},
		{"a response of this hour", time.Second, "3", 3}, {"still in the window", 9 * time.Second, "3", 3}, {"time went on", time.Second, "3", 4}, {"the clock went back", -20 * time.Second, "3", 5},
	} {
		now, b.mark = now.Add(step.after), step.mark
		if b.recent = nil; step.mark == "3" {
			b.recent = []fleet.Spent{{At: now}}
		}
		if look(); b.counts != step.want {
			t.Errorf("%s: added up %d times, want %d", step.name, b.counts, step.want)
		}
	}
	p.summed = now.Add(55 * time.Second)
	now = now.Add(56 * time.Second) // midnight has passed
	if got := look(); !got.Sums[0].Until.After(now) || b.counts != 6 {
		t.Errorf("the window of yesterday is told: %+v", got.Sums[0])
	}
	if again := p.Again(); again != 24*time.Hour-now.Sub(b.asked[0].From) {
		t.Errorf("the window that ends at %v is looked at in %v", first.Sums[0].Until, again)
	}
	b.err = errors.New("locked")
	if _, err := p.Look(context.Background()); err == nil {
		t.Error("what cannot be read is no answer")
	}
}
