package view

import (
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Simulated shows what is thought and planned at one moment of a story, at a line of
// its file.
func Simulated(p fleet.Pass, line int, after time.Duration) api.SimulatedMoment {
	out := api.SimulatedMoment{Line: line, After: after.String(), Agents: []api.SimulatedAgent{}, Alerts: Alerts(p.Assessment.Alerts, p.Snapshot.At),
		Actions: []api.SimulatedDeed{}, Skipped: []api.Refusal{}, Moves: []api.Move{}, Held: heldViews(p.Plan.Held), CannotTell: doubts(p.Assessment.Blind)}
	for _, a := range p.Snapshot.Agents.Value {
		out.Agents = append(out.Agents, api.SimulatedAgent{Name: a.Name, State: string(a.State), Reason: a.Reason, Source: a.Source})
	}
	for _, a := range p.Plan.Actions {
		out.Actions = append(out.Actions, api.SimulatedDeed{Do: a.Do, Subject: a.Subject.String(), Rule: a.For.Rule, Why: a.Why})
	}
	for _, s := range p.Plan.Skipped {
		out.Skipped = append(out.Skipped, Refusal(s))
	}
	for _, m := range p.Plan.Moves {
		if !m.Noted() {
			out.Moves = append(out.Moves, moveView(m))
		}
	}
	return out
}
