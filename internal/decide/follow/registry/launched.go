package registry

import (
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// tick is what the start of a process is counted in.
const tick = time.Second / 100

// launched returns a registration as the instance of it that runs, where no action
// lived to note that it started it. One that is under way will.
func (s *settlement) launched(r fleet.Registration, a fleet.Agent) fleet.Registration {
	p := a.Process
	if r.Owner != fleet.OwnerCustos || !a.Registered || p.PID == 0 || p == r.Process || p.Boot == "" || p.Boot != s.at.Boot || s.isStarting(r.Name) {
		return r
	}
	since := s.at.Add(time.Duration(p.Start)*tick - time.Duration(s.at.Up))
	out, err := ledger.Started(r, a.Instance, p, since)
	if err != nil {
		return r
	}
	if a.Pane != nil && r.Where == fleet.WhereTmux {
		out.Server = a.Pane.ID.Socket
	}
	if out.PromptState == fleet.DeliveryPending || out.PromptState == fleet.DeliveryUndelivered {
		out.PromptState = fleet.DeliverySent // its signals say whether it arrived
	}
	return out
}

// isStarting says whether an action that starts the agent is under way.
func (s *settlement) isStarting(name string) bool {
	return slices.ContainsFunc(s.past.Actions, func(a fleet.ActionRecord) bool {
		starts := a.Do == fleet.OrderSpawn.Action() || a.Do == fleet.OrderRecover.Action()
		return a.Open() && starts && a.Subject.Kind == fleet.KindAgent && a.Subject.Name == name
	})
}
