package view

import (
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Plan is the dry run: what would be done, with the exact commands.
func Plan(p fleet.Pass, t Teller) api.Plan {
	out := api.Plan{
		At:         p.Plan.At.Wall.UTC(),
		Actions:    []api.Deed{},
		Skipped:    []api.Refusal{},
		Idle:       []api.Idle{},
		CannotTell: doubts(p.Assessment.Blind),
		Unsaid:     p.Snapshot.From.Unsaid,
		Moves:      []api.Move{},
		Held:       heldViews(append(heldOrders(p, func(fleet.Order) bool { return true }), p.Plan.Held...)),
	}
	for _, m := range p.Plan.Moves {
		if m.Noted() {
			out.Noted++
			continue
		}
		out.Moves = append(out.Moves, moveView(m))
	}
	for _, a := range p.Plan.Actions {
		out.Actions = append(out.Actions, deed(p, a, t))
	}
	for _, s := range p.Plan.Skipped {
		out.Skipped = append(out.Skipped, Refusal(s))
	}
	for _, k := range p.Plan.Idle {
		out.Idle = append(out.Idle, api.Idle{Rule: k.Rule, Subject: k.Subject.String()})
	}
	return out
}

func moveView(m fleet.Move) api.Move {
	return api.Move{Record: m.Record.String(), From: m.From, To: m.To, Why: m.Why, Told: m.Told}
}

func heldViews(list []fleet.HeldMove) []api.HeldMove {
	out := make([]api.HeldMove, 0, len(list))
	for _, m := range list {
		out = append(out, api.HeldMove{Move: moveView(m.Move), Guard: string(m.Guard), Held: m.Held, Until: Moment(m.Until), Hint: m.Hint})
	}
	return out
}

func Deed(a fleet.Action, t Teller) api.Deed {
	return api.Deed{
		ID: a.ID, Do: a.Do, Subject: a.Subject.String(), Priority: string(a.Priority),
		Rule: a.For.Rule, Why: a.Why, Attempt: a.Attempt, Commands: commandViews(t.Commands(a)),
	}
}

func Refusal(s fleet.Skipped) api.Refusal {
	return api.Refusal{
		Do: s.Do, Subject: s.Subject.String(), Priority: string(s.Priority), Rule: s.For.Rule,
		Guard: string(s.Guard), Why: s.Reason(), Until: Moment(s.Until), Hint: s.Hint, Also: s.Also,
	}
}

func doubts(list []fleet.CannotTell) []api.Doubt {
	out := make([]api.Doubt, 0, len(list))
	for _, c := range list {
		out = append(out, api.Doubt{Rule: c.Rule, Subject: c.Subject.String(), Why: c.Why})
	}
	return out
}

// PatrolReport is what one patrol found and did.
func PatrolReport(p fleet.Pass, applied bool, t Teller) api.PatrolReport {
	at := p.Snapshot.At
	firing, ended := ByStatus(p.Assessment.Alerts)
	done := Outcomes(p.Results)
	dry := Plan(p, t)
	out := api.PatrolReport{
		At: at.Wall.UTC(), Number: p.Number, Mode: string(p.Policy.Mode), Applied: applied,
		Host:     hostView(&p.Snapshot),
		Alerts:   Alerts(firing, at),
		Resolved: Alerts(ended, at),
		Planned:  dry.Actions, Done: done, Skipped: dry.Skipped,
		NotSeen:    notSeen(&p.Snapshot),
		CannotTell: dry.CannotTell,
	}
	out.Next = afterPatrol(out, p.Policy)
	return out
}

func Outcomes(results []fleet.Result) []api.Outcome {
	out := make([]api.Outcome, 0, len(results))
	for _, r := range results {
		ran := r.Ran
		if ran == nil {
			ran = []string{}
		}
		out = append(out, api.Outcome{
			ID: r.ActionID, Do: r.Do, Subject: r.Subject.String(), Rule: r.For.Rule,
			Status: string(r.Status), Effect: r.Effect, Why: r.Why, Ran: ran,
			Took: r.Ended.Since(r.Began).Round(time.Millisecond).String(), Arrival: arrival(r.Arrival),
		})
	}
	return out
}

// Teller knows the exact commands of an action. It does no I/O.
type Teller interface {
	Commands(a fleet.Action) []fleet.Command
}
