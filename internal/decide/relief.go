package decide

import (
	"strings"
	"time"

	"custos/internal/fleet"
)

// isRelief says whether it is a stage of a hand-off, or ends a worker that its pool
// does not need, or one whose work is over: what Custos orders of an agent whose turn is over.
func (r *request) isRelief() bool {
	if r.order == nil || r.order.By != fleet.ByCustos || r.reg == nil {
		return false
	}
	h := r.reg.Handoff
	return h != nil && h.Order == r.order.ID || r.reg.Pool != "" && strings.HasPrefix(r.order.ID, poolOrder) || r.reg.Dispatched && strings.HasPrefix(r.order.ID, fleet.RelieveOrder)
}

// poolOrder is how the IDs of the orders of pools begin (see registry.Pools).
const poolOrder = "pool-"

// askRelieved leaves an agent whose turn is over alone while a person may be at its
// terminal, and while it may have begun another turn since it was looked at.
func (p *pass) askRelieved(r *request, a *fleet.Agent) *refusal {
	if a.Attached > 0 || a.Pane != nil && a.Pane.Attached > 0 {
		return &refusal{why: "a person looks at its pane"}
	}
	dwell, known := a.Dwell.Get()
	if !known || time.Duration(dwell) < restful {
		return &refusal{why: "its turn has only just ended: it may be at work yet", until: p.snap.At.Add(restful)}
	}
	return p.askInput(a)
}

// restful is for how long a turn must have been over.
const restful = 3 * time.Second
