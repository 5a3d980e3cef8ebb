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
	for i := range found {
		for _, u := range used {
			if u.By == by[i] {
				found[i].Tokens, found[i].Cost = fleet.Known(u.Cost.Tokens), u.Cost.Money()
			}
		}
	}
}
