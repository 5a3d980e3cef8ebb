package loop

import (
	"testing"

	"custos/internal/fleet"
)

// TestIsIdle: only what was seen whole, and has nothing that a patrol must see to,
// is idle.
func TestIsIdle(t *testing.T) {
	calm := func() fleet.Pass {
		p := fleet.Pass{}
		for _, name := range fleet.PartNames() {
			*p.Snapshot.Sight(name) = fleet.Sight{Status: fleet.StatusOK}
		}
		p.Snapshot.Engine.Status = fleet.StatusAbsent
		old := fleet.Alert{AlertKey: fleet.AlertKey{Rule: "r", Subject: fleet.Subject{Kind: fleet.KindHost, Name: "h"}}, Status: fleet.AlertFiring, Patrols: 9, TellAfter: 5}
		ended := old
		ended.Status = fleet.AlertResolved
		p.Past.Alerts, p.Assessment.Alerts = []fleet.Alert{old, ended}, []fleet.Alert{old}
		p.Past.Orders = []fleet.Order{{State: fleet.OrderDone}}
		p.Past.Runs = []fleet.Run{{State: fleet.RunDone}}
		p.Past.Actions = []fleet.ActionRecord{{Stage: fleet.StageEnded}}
		p.Snapshot.Agents.Value = []fleet.Agent{{State: fleet.StateWorking}}
		return p
	}
	for name, c := range map[string]struct {
		change func(*fleet.Pass)
		idle   bool
	}{
		"an alert that fires on":         {func(*fleet.Pass) {}, true},
		"something is not seen":          {func(p *fleet.Pass) { p.Snapshot.Locks.Status = fleet.StatusUnknown }, false},
		"something is seen as it was":    {func(p *fleet.Pass) { p.Snapshot.Locks.Status = fleet.StatusStale }, false},
		"an action":                      {func(p *fleet.Pass) { p.Plan.Actions = []fleet.Action{{}} }, false},
		"an action under way":            {func(p *fleet.Pass) { p.Past.Actions[0].Stage = fleet.StageStarted }, false},
		"an order":                       {func(p *fleet.Pass) { p.Past.Orders[0].State = fleet.OrderQueued }, false},
		"an order that was just settled": {func(p *fleet.Pass) { p.Plan.Orders = []fleet.Order{{State: fleet.OrderDone}} }, false},
		"a run":                          {func(p *fleet.Pass) { p.Past.Runs[0].State = fleet.RunOpen }, false},
		"an agent that may be stuck":     {func(p *fleet.Pass) { p.Snapshot.Agents.Value[0].Cycles = 1 }, false},
		"an alert that begins":           {func(p *fleet.Pass) { p.Past.Alerts = nil }, false},
		"an alert that ends":             {func(p *fleet.Pass) { p.Assessment.Alerts[0].Status = fleet.AlertResolved }, false},
		"an alert that waits": {func(p *fleet.Pass) {
			p.Assessment.Alerts[0].Status, p.Past.Alerts[0].Status = fleet.AlertPending, fleet.AlertPending
		}, false},
		"an alert people are not told of yet": {func(p *fleet.Pass) { p.Assessment.Alerts[0].Patrols = 4 }, false},
	} {
		p := calm()
		c.change(&p)
		if got := isIdle(p); got != c.idle {
			t.Errorf("%s: idle %v, want %v", name, got, c.idle)
		}
	}
}
