package store

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"custos/internal/fleet"
)

// What an instance used is what it used since its start; of a conversation of nobody's, all of it.
func TestUsageBy(t *testing.T) {
	s := fresh(t)
	response := func(id, kind, session, instance string, pricing fleet.Pricing) fleet.Usage {
		u := response(id, 0, 10, 1)
		u.Kind, u.Session, u.Instance, u.Pricing = kind, session, instance, pricing
		return u
	}
	ok(t, s.AddUsage(t.Context(), []fleet.Usage{
		response("1", "claude", "s1", "i1", fleet.PricedByTable), response("2", "claude", "s1", "i2", fleet.PricedByTable), response("3", "claude", "s2", "i2", fleet.PricedByCLI),
		response("4", "claude", "s1", "", fleet.PricedByTable), response("5", "codex", "s1", "", fleet.Unpriced), response("6", "pi", "", "", fleet.PricedByTable),
	}, nil))
	i2, mine, codex := fleet.UsedBy{Kind: "claude", Session: "s2", Instance: "i2"}, fleet.UsedBy{Kind: "claude", Session: "s1"}, fleet.UsedBy{Kind: "codex", Session: "s1", Instance: "new"}
	got, err := s.UsageBy(t.Context(), []fleet.UsedBy{i2, mine, codex, {Kind: "claude", Session: "s9"}, {Kind: "pi"}})
	ok(t, err)
	want := []fleet.Used{{By: i2, Cost: fleet.Cost{Calls: 2, Tokens: 22, Output: 2, Told: 75, Table: 75}}, {By: mine, Cost: fleet.Cost{Calls: 1, Tokens: 11, Output: 1, Table: 75}}, {By: codex, Cost: fleet.Cost{Calls: 1, Tokens: 11, Output: 1, Unpriced: 1}}}
	if d := gocmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, known := want[2].Cost.Money().Get(); known {
		t.Error("what is unpriced has a price")
	}
	if got, err := s.UsageBy(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of nobody %v, %v", got, err)
	}
}
