package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// spent writes sums for people: allowance, responses, unpriced, all tokens, micro-dollars.
func spent(t interface{ Fatal(...any) }, s *Store, scope fleet.SpendScope) string {
	got, err := s.Spending(context.Background(), []fleet.SpendScope{scope})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range got {
		out = append(out, strings.TrimSpace(fmt.Sprint(g.Of, " ", g.Responses, " ", g.Unpriced, " ", g.Tokens.All(), " ", g.MicroUSD)))
	}
	return strings.Join(out, ", ")
}

func TestSpending(t *testing.T) {
	s := fresh(t)
	now := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)
	n := 0
	use := func(ago time.Duration, agent, role, session string, tokens, money int64) {
		n++
		u := fleet.Usage{Key: fmt.Sprint("claude:", n), Kind: "claude", Session: session, Agent: agent, Role: role, At: now.Add(-ago), Pricing: fleet.PricedByTable, MicroUSD: money, Table: "t",
			Tokens: fleet.Tokens{Output: tokens}}
		if money == 0 {
			u.Pricing, u.Table = fleet.Unpriced, ""
		}
		ok(t, s.AddUsage(context.Background(), []fleet.Usage{u}, nil))
	}
	use(40*24*time.Hour, "build-1", "builder", "old", 1000, 10)
	use(26*time.Hour, "build-1", "builder", "old", 100, 20)
	use(13*time.Hour, "build-1", "builder", "old", 10, 40)
	use(50*time.Minute, "build-1", "builder", "new", 1, 80)
	use(50*time.Minute+30*time.Second, "build-1", "builder", "new", 1, 0)
	use(70*time.Minute, "build-2", "builder", "x", 5, 160)
	use(time.Minute, "", "", "hand", 7, 320) // of a person: nobody's
	for _, c := range []struct {
		name  string
		scope fleet.SpendScope
		want  string
	}{
		{"all there was", fleet.SpendScope{By: fleet.SpendByFleet}, "7 1 1124 630"},
		{"an hour", fleet.SpendScope{By: fleet.SpendByFleet, From: now.Add(-time.Hour)}, "3 1 9 400"},
		{"a day of another zone", fleet.SpendScope{By: fleet.SpendByFleet, From: now.Add(-14 * time.Hour)}, "5 1 24 600"},
		{"from midnight on", fleet.SpendScope{By: fleet.SpendByFleet, From: now.Truncate(24 * time.Hour)}, "4 1 14 560"},
		{"each agent", fleet.SpendScope{By: fleet.SpendByAgent, From: now.Add(-30 * time.Hour)}, "build-1 4 1 112 140, build-2 1 0 5 160"},
		{"of a pattern", fleet.SpendScope{By: fleet.SpendByAgent, Of: "*-2"}, "build-2 1 0 5 160"},
		{"of a name", fleet.SpendScope{By: fleet.SpendByRole, Of: "builder", From: now.Add(-30 * time.Hour)}, "builder 5 1 117 300"},
		{"of a name that is none", fleet.SpendScope{By: fleet.SpendByRole, Of: "x' OR 1=1 --"}, ""},
		{"the newest conversation", fleet.SpendScope{By: fleet.SpendByAgent, Session: true}, "build-1 2 1 2 80, build-2 1 0 5 160"},
		{"a kind", fleet.SpendScope{By: fleet.SpendByKind}, "claude 7 1 1124 630"},
		{"no project", fleet.SpendScope{By: fleet.SpendByProject}, ""},
	} {
		c.scope.At = now
		if got := spent(t, s, c.scope); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	use(30*time.Second, "build-1", "builder", "old", 3, 640) // it was resumed
	if got := spent(t, s, fleet.SpendScope{By: fleet.SpendByAgent, Of: "build-1", Session: true, At: now}); got != "build-1 4 0 1113 710" {
		t.Errorf("resumed: %q", got)
	}
}

// TestSpendingTellsTheLastHour, and in how many minutes it was answered.
func TestSpendingTellsTheLastHour(t *testing.T) {
	s := fresh(t)
	now := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)
	for i, ago := range []time.Duration{90 * time.Minute, 30 * time.Minute, 29*time.Minute + 50*time.Second, 10 * time.Minute} {
		ok(t, s.AddUsage(context.Background(), []fleet.Usage{{Key: fmt.Sprint("c:", i), Session: fmt.Sprint(i / 2), Agent: "a", At: now.Add(-ago), Pricing: fleet.PricedByCLI, MicroUSD: 1, Tokens: fleet.Tokens{Output: 1}}}, nil))
	}
	got, err := s.Spending(context.Background(), []fleet.SpendScope{{Budget: "b", By: fleet.SpendByAgent, Hours: true, At: now}})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	g := got[0]
	if g.Minutes != 20 || !g.Last.Equal(now.Add(-10*time.Minute)) || len(g.Recent) != 2 || g.Recent[0].MicroUSD != 2 || !g.Recent[0].At.Equal(now.Add(-30*time.Minute)) {
		t.Errorf("%+v", g)
	}
	fast, err := s.SpentNow(context.Background(), now)
	if err != nil || len(fast) != 1 || fast[0].Now != 1 || fast[0].Usual.IsKnown() {
		t.Errorf("%+v %v", fast, err)
	}
	before, err := s.UsageMark(context.Background(), now)
	ok(t, err)
	ok(t, s.AddUsage(context.Background(), []fleet.Usage{{Key: "c:3", Session: "1", Agent: "a", At: now.Add(-10 * time.Minute), Pricing: fleet.PricedByCLI, MicroUSD: 1, Tokens: fleet.Tokens{Output: 9}}}, nil))
	if after, err := s.UsageMark(context.Background(), now); err != nil || after == before {
		t.Errorf("one response is told to be larger, and the mark stays %q, %v", after, err)
	}
}

// TestSpendingAcrossAClockThatIsSet: whatever the clock was set to in between, an allowance has spent at least what was
// used in its window, and an agent is not told to spend fast for what is dated later than now.
func TestSpendingAcrossAClockThatIsSet(t *testing.T) {
	s := fresh(t)
	now := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)
	n := 0
	use := func(at time.Time, tokens int64) {
		n++
		ok(t, s.AddUsage(context.Background(), []fleet.Usage{{Key: fmt.Sprint("c:", n), Session: "s", Agent: "a", At: at, Pricing: fleet.PricedByCLI, MicroUSD: 1, Tokens: fleet.Tokens{Output: tokens}}}, nil))
	}
	for i := range 60 { // of the last ten hours, ten minutes each
		use(now.Add(-time.Duration(10*i+1)*time.Minute), 100)
	}
	pace := func(at time.Time) (now, usual int64) {
		t.Helper()
		fast, err := s.SpentNow(context.Background(), at)
		if err != nil || len(fast) != 1 {
			t.Fatal(fast, err)
		}
		return fast[0].Now, fast[0].Usual.Or(-1)
	}
	today := fleet.SpendScope{By: fleet.SpendByFleet, From: now.Truncate(24 * time.Hour)}
	for _, hours := range []time.Duration{0, -3, 3, -9, 0} { // the clock is set, and what was used stays as it was dated
		at := now.Add(hours * time.Hour)
		today.At = at
		if got := spent(t, s, today); got != "60 0 6000 60" {
			t.Errorf("%d hours from then today has spent %q", hours, got)
		}
		want := int64(100)
		if hours > 0 {
			want = 0
		}
		if fast, usual := pace(at); fast != want || usual != 100 {
			t.Errorf("%d hours from then it spends %d in ten minutes, usually %d, want %d and 100", hours, fast, usual, want)
		}
	}
}

// TestSpendingIsTheSumOfTheRows, whatever the window begins with.
func TestSpendingIsTheSumOfTheRows(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n)), StartedAt: at(0), Now: func() time.Time { return epoch }, synchronous: "OFF"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		now := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)
		from := now.Add(-time.Duration(rapid.IntRange(0, 96).Draw(t, "hours")) * 30 * time.Minute)
		var list []fleet.Usage
		var want fleet.Tokens
		for i := range rapid.IntRange(0, 12).Draw(t, "responses") {
			u := fleet.Usage{Key: fmt.Sprint("c:", i), Agent: "a", At: now.Add(-time.Duration(rapid.IntRange(0, 72*60).Draw(t, "ago")) * time.Minute),
				Pricing: fleet.PricedByCLI, Tokens: fleet.Tokens{Input: int64(i), Output: 1}}
			list = append(list, u)
			if !u.At.Before(from) {
				want = want.Add(u.Tokens)
			}
		}
		if err := s.AddUsage(context.Background(), list, nil); err != nil {
			t.Fatal(err)
		}
		got, err := s.Spending(context.Background(), []fleet.SpendScope{{By: fleet.SpendByAgent, From: from, At: now}})
		var sum fleet.Tokens
		for _, g := range got {
			sum = sum.Add(g.Tokens)
		}
		if err != nil || sum != want {
			t.Fatalf("%+v, want %+v, %v", sum, want, err)
		}
	})
}
