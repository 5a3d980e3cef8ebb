package gates

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Follow returns what becomes of the gates.
func Follow(p fleet.Pass) fleet.Follows {
	c := &pass{past: p.Past, at: p.Snapshot.At}
	c.gates(ledger.WatchGates(p.Past, p.Snapshot, slices.Concat(p.Past.Alerts, p.Assessment.Alerts), ledger.NewTrackers(p.Past, p.Snapshot)))
	return c.out
}

// pass is one pass over the gates.
type pass struct {
	past fleet.Past
	at   fleet.Instant
	out  fleet.Follows
}

// gates closes the gates whose time has come, each once, and tells whoever waits
// for them in the same transaction.
func (c *pass) gates(w ledger.GateWatch) {
	awaited := c.stepGates()
	for _, g := range c.past.Records.Gates {
		if g.Over() {
			continue
		}
		saw := w.See(&g)
		if g.Step != "" && !awaited[g.Key] {
			saw = ledger.GateSight{Outcome: fleet.GateCancelled, Why: "no step waits for it any more"}
		}
		c.out.Due(c.at, saw.Until)
		c.out.Due(c.at, g.Due)
		switch {
		case saw.Outcome != "":
			c.out.Records = c.out.Records.And(ledger.GateClosed(g, saw.Outcome, saw.Why, fleet.ByCustos, c.at))
		case saw.Blind:
			c.hidden(g, saw.Why)
		}
	}
}

// hidden tells of a gate that is not closed for what cannot be seen.
func (c *pass) hidden(g fleet.Gate, why string) {
	c.out.Hold(fleet.HeldMove{Move: fleet.Move{Record: fleet.Subject{Kind: fleet.KindGate, Name: g.ID}, From: string(g.State), To: string(fleet.GateClosed), Why: g.Title, Told: g.Waiters},
		Guard: fleet.GuardEvidence, Held: fleet.Line(why, 400)})
}

// stepGates makes the gates that steps await and that there are not yet. It returns
// the keys of all that are awaited.
func (c *pass) stepGates() map[string]bool {
	known := map[string]bool{}
	for i := range c.past.Records.Gates {
		known[c.past.Records.Gates[i].Key] = true
	}
	awaited := map[string]bool{}
	for i := range c.past.Runs {
		r := &c.past.Runs[i]
		for j := range r.Steps {
			s := &r.Steps[j]
			if r.IsOver() || r.Cancel != "" || !ledger.IsHeld(s) || s.Awaits == "" {
				continue
			}
			awaited[s.Awaits] = true
			if !known[s.Awaits] {
				c.out.Records.Gates = append(c.out.Records.Gates, ledger.StepGate(r, s, c.at))
			}
		}
	}
	return awaited
}
