package view

import (
	"cmp"
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
		out = append(out, "At the rate since the first response of the last hour it is used up in "+left.Short()+".")
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
		return ", " + api.Percent(p)
	}
	return ""
}

// Budgets lists the allowances of all budgets, of which there are some, or none.
func Budgets(s *fleet.Snapshot, some bool) api.Budgets {
	out := api.Budgets{Unknown: unseenSpending(s), Rows: budgetRows(s.Spending.Value.Budgets)}
	if !some {
		out.Unknown = ""
	} else if out.Unknown == "" {
		out.AtLeast = s.Spending.Value.NotRead()
	}
	return out
}

// unseenSpending is why it is not known what was spent; empty where it is.
func unseenSpending(s *fleet.Snapshot) string {
	switch seen := s.Spending.Sight; {
	case seen.Usable():
		return cmp.Or(fleet.SpendForgotten(s.Self.Value.Lost.Or("")), s.Spending.Value.NotCounted())
	case seen.Why == "":
		return "spending is " + string(seen.Status)
	default:
		return "spending is " + string(seen.Status) + ": " + seen.Why
	}
}

func budgetRows(list []fleet.BudgetFacts) []api.Budget {
	out := []api.Budget{}
	for _, f := range list {
		b := api.Budget{Name: f.Name, Budget: f.Budget, Scope: string(f.By), Of: f.Of, Window: string(f.Window), Stage: stageOf(f), Metric: string(f.Metric),
			Used: pointer(f.Used), Limit: f.Limit, Percent: pointer(f.Percent), Says: f.Says, Left: f.Left(), Blind: f.Blind, Raised: f.Raised, PerHour: pointer(f.Rate), Agents: f.Agents, Foreign: f.Foreign}
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
		out = append(out, b)
	}
	return out
}

// stageOf is how far an allowance has come: unknown where what is known to be spent reaches nothing, and more may be.
func stageOf(f fleet.BudgetFacts) string {
	if _, known := f.Used.Get(); !known && f.Stage == fleet.StageUnder {
		return api.StageUnknown
	}
	return string(f.Stage)
}

// SpendLeft is what an agent has spent, and what is left of each budget that it spends of. Each is one
// line: an agent that asks for it pays for each word. Some says whether there are budgets at all.
func SpendLeft(a fleet.Agent, budgets []fleet.BudgetFacts, seen *fleet.Snapshot, some bool) api.SpendLeft {
	row := agentRow(a, seen)
	out := api.SpendLeft{Agent: a.Name, Tokens: row.Tokens, Dollars: row.Dollars, Budgets: budgetRows(budgets), Says: []string{"used so far: " + usedSoFar(row)}}
	switch {
	case !some:
		out.Says = append(out.Says, "no budget limits it")
	case unseenSpending(seen) != "":
		out.Unknown = unseenSpending(seen)
		out.Says = append(out.Says, "what is left of budgets is not known: "+out.Unknown)
	case len(budgets) == 0:
		out.Says = append(out.Says, "no budget limits it")
	}
	for _, b := range budgets {
		if says := b.Left(); says != "" {
			out.Says = append(out.Says, "budget "+b.Name+": "+says+until(b.Ends.Wall)+reached(a, b.Stage))
		}
	}
	for _, q := range a.Quota {
		if q.Resets.After(seen.At.Wall) {
			out.Says = append(out.Says, "plan, "+q.Window+": "+atMost(q, seen.At.Wall)+strconv.FormatFloat(100-q.Percent, 'f', 0, 64)+" % left"+until(q.Resets))
		}
	}
	return out
}

// atMost: what was told long ago is the least that is used.
func atMost(q fleet.Quota, now time.Time) string {
	if q.IsOld(now) {
		return "at most "
	}
	return ""
}

func usedSoFar(row api.AgentRow) string {
	tokens, dollars := "tokens not known", "cost not known"
	if row.Tokens != nil {
		tokens = fleet.TokenWords(*row.Tokens) + " tokens"
	}
	if row.Dollars != nil {
		dollars = fleet.USDWords(*row.Dollars) + " USD, as told or at list prices"
	}
	return tokens + ", " + dollars
}

func until(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return ", until " + end.UTC().Format("2006-01-02 15:04 UTC")
}

// reached is what a budget keeps an agent from, which it does of those alone that may be touched.
func reached(a fleet.Agent, stage fleet.BudgetStage) string {
	switch {
	case !a.Owner.MayTouch():
		return ""
	case stage.Reaches(fleet.StagePause):
		return "; turns end before the model is asked again"
	case stage.Reaches(fleet.StageHold):
		return "; nothing new is begun"
	}
	return ""
}
