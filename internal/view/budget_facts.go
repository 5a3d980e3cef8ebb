package view

import (
	"strconv"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// budgetFacts says how much of a budget is used, and what follows.
func budgetFacts(b fleet.BudgetFacts) []string {
	out := []string{"Used: " + b.Says + BudgetShare(b) + "."}
	if b.Blind != "" {
		out = append(out, "More may be used: "+b.Blind+".")
	}
	if b.Raised != "" {
		out = append(out, "Raised by "+b.Raised+".")
	}
	if left, known := b.TimeToLimit.Get(); known && left > 0 {
		out = append(out, "At the rate of the last hour it is used up in "+left.Short()+".")
	}
	if !b.Ends.IsZero() {
		out = append(out, "Its window ends at "+b.Ends.Wall.UTC().Format(time.RFC3339)+".")
	}
	if b.Stage.Reaches(fleet.StageHold) {
		out = append(out, "Nothing new is begun that spends of it: "+b.HintRaise()+" raises it.")
	}
	if len(b.Agents) > 0 {
		out = append(out, "Of ours spend of it: "+strings.Join(b.Agents, ", ")+".")
	}
	if len(b.Foreign) > 0 {
		out = append(out, "Not ours, and never touched: "+strings.Join(b.Foreign, ", ")+".")
	}
	return out
}

// BudgetShare is the share of a budget that is used, where it is known.
func BudgetShare(b fleet.BudgetFacts) string {
	if p, known := b.Percent.Get(); known {
		return ", " + strconv.FormatFloat(p, 'f', 0, 64) + " %"
	}
	return ""
}

// Budgets lists the allowances of all budgets.
func Budgets(s *fleet.Snapshot) api.Budgets {
	out := api.Budgets{Rows: []api.Budget{}}
	if seen := s.Spending.Sight; !seen.Usable() {
		out.Unknown = "spending is " + string(seen.Status)
		if seen.Why != "" {
			out.Unknown += ": " + seen.Why
		}
	}
	for _, f := range s.Spending.Value.Budgets {
		b := api.Budget{Name: f.Name, Budget: f.Budget, Scope: string(f.By), Of: f.Of, Window: string(f.Window), Stage: string(f.Stage), Metric: string(f.Metric),
			Used: pointer(f.Used), Limit: f.Limit, Percent: pointer(f.Percent), Says: f.Says, Blind: f.Blind, Raised: f.Raised, PerHour: pointer(f.Rate), Agents: f.Agents, Foreign: f.Foreign}
		if left, known := f.TimeToLimit.Get(); known {
			b.TimeToLimit = fleet.Duration(time.Duration(left).Round(time.Minute)).Short()
		}
		if !f.Ends.IsZero() {
			ends := f.Ends.Wall.UTC().Round(time.Second)
			b.Ends = &ends
		}
		if f.Stage.Reaches(fleet.StageHold) {
			b.Hint = f.HintRaise()
		}
		out.Rows = append(out.Rows, b)
	}
	return out
}
