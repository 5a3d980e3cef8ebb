package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// Whatever costs are added up by, their sum is the same, and that of the budget of the fleet; what each
// instance used, as ps has it, is what cost has of all of them.
func TestCostsAreTheSameByWhatever(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n)), StartedAt: at(0), Now: func() time.Time { return epoch }, synchronous: "OFF"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		word := func(what string) string { return rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, what) }
		since := epoch.Add(-time.Duration(rapid.IntRange(0, 96).Draw(t, "since")) * time.Hour)
		var list []fleet.Usage
		var want, ofInstances fleet.Cost
		for i := range rapid.IntRange(0, 12).Draw(t, "responses") {
			u := fleet.Usage{Key: fmt.Sprint("c:", i), Kind: word("kind"), Session: word("session"), Model: word("model"), Agent: word("agent"), Instance: word("instance"), Role: word("role"),
				Project: word("project"), Account: word("account"), Run: word("run"), Work: word("work"), At: epoch.Add(-time.Duration(rapid.IntRange(0, 96*60).Draw(t, "ago")) * time.Minute),
				Tokens: fleet.Tokens{Input: rapid.Int64Range(0, 1e6).Draw(t, "input"), CacheRead: 7, CacheWrite1h: 5, Output: 3}, Pricing: rapid.SampledFrom([]fleet.Pricing{fleet.PricedByCLI, fleet.PricedByTable, fleet.Unpriced}).Draw(t, "pricing")}
			c := fleet.Cost{Calls: 1, Tokens: u.Tokens.All(), Cached: 7, Output: 3}
			switch u.Pricing {
			case fleet.PricedByCLI:
				u.MicroUSD = int64(i)
				c.Told = u.MicroUSD
			case fleet.PricedByTable:
				u.MicroUSD = int64(i)
				c.Table = u.MicroUSD
			default:
				c.Unpriced = 1
			}
			list = append(list, u)
			if u.Instance != "" {
				ofInstances.Add(c)
			}
			if !u.At.Before(since) {
				want.Add(c)
			}
		}
		if err := s.AddUsage(context.Background(), list, nil); err != nil {
			t.Fatal(err)
		}
		for _, by := range fleet.CostBys() {
			costs, err := s.Costs(context.Background(), fleet.Instant{Wall: since}, by)
			if err != nil {
				t.Fatal(err)
			}
			var got fleet.Cost
			for _, c := range costs {
				got.Add(c)
			}
			if got != want {
				t.Fatalf("by %s %+v, want %+v", by, got, want)
			}
		}
		sums, err := s.Spending(context.Background(), []fleet.SpendScope{{By: fleet.SpendByFleet, From: since, At: epoch}})
		var got fleet.Spending
		if len(sums) > 0 {
			got = sums[0]
		}
		if err != nil || got.Responses != want.Calls || got.Unpriced != want.Unpriced || got.Tokens.All() != want.Tokens || got.MicroUSD != want.Told+want.Table {
			t.Fatalf("the budget of the fleet has %+v, want %+v, %v", got, want, err)
		}
		used, err := s.UsageBy(context.Background(), []fleet.UsedBy{{Instance: "a"}, {Instance: "b"}})
		var both fleet.Cost
		for _, u := range used {
			both.Add(u.Cost)
		}
		if err != nil || both != ofInstances {
			t.Fatalf("instances used %+v, want %+v, %v", both, ofInstances, err)
		}
	})
}
