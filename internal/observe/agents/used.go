package agents

import (
	"context"

	"custos/internal/fleet"
)

// charge notes what agents used, as the ledger has it. Where nothing of one is written down, what it told itself
// stays; where the ledger cannot be read, of all.
func (l *look) charge(ctx context.Context, found []fleet.Agent) {
	if l.o.Used == nil || len(found) == 0 {
		return
	}
	by := make([]fleet.UsedBy, len(found))
	for i, a := range found {
		by[i] = fleet.UsedBy{Kind: a.Kind, Session: a.SessionID, Instance: a.Instance}
	}
	used, err := l.o.Used(ctx, by)
	if err != nil {
		return
	}
	known := make(map[fleet.UsedBy]fleet.Cost, len(used))
	for _, u := range used {
		known[u.By] = u.Cost
	}
	for i := range found {
		if cost, ok := known[by[i]]; ok {
			found[i].Tokens, found[i].Cost = fleet.Known(cost.Tokens), cost.Money()
		}
	}
}
