package agents

import (
	"context"
	"errors"
	"testing"

	"custos/internal/fleet"
)

// What the ledger knows takes the place of what an agent told; where it knows nothing, or cannot be
// read, that stays.
func TestWhatAgentsUsedIsTheLedgers(t *testing.T) {
	seen := func() []fleet.Agent {
		return []fleet.Agent{{Name: "a", Kind: "claude", SessionID: "s", Instance: "i", Cost: fleet.Known[int64](1), Tokens: fleet.Known[int64](1)},
			{Name: "b", Kind: "codex", Cost: fleet.Known[int64](2), Tokens: fleet.Known[int64](2)}, {Name: "c", Kind: "claude", SessionID: "u", Cost: fleet.Known[int64](3)}}
	}
	var err error
	l := &look{Probe: &Probe{o: Options{Used: func(_ context.Context, by []fleet.UsedBy) ([]fleet.Used, error) {
		return []fleet.Used{{By: fleet.UsedBy{Kind: "claude", Session: "s", Instance: "i"}, Cost: fleet.Cost{Tokens: 100, Told: 5, Table: 6}},
			{By: fleet.UsedBy{Kind: "claude", Session: "u"}, Cost: fleet.Cost{Tokens: 9, Told: 5, Unpriced: 1}}}, err
	}}}}
	found := seen()
	l.charge(t.Context(), found)
	if found[0].Cost.Or(-1) != 11 || found[0].Tokens.Or(-1) != 100 || found[1].Cost.Or(-1) != 2 || found[2].Tokens.Or(-1) != 9 || found[2].Cost.IsKnown() {
		t.Errorf("%+v", found)
	}
	err = errors.New("it is locked")
	found = seen()
	l.charge(t.Context(), found)
	if found[0].Cost.Or(-1) != 1 || found[2].Cost.Or(-1) != 3 {
		t.Errorf("%+v", found)
	}
}
