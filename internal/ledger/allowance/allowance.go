// Package allowance says what was spent means now: of each budget what is left of it, by whom it is spent of, and what of an
// account's plan was used.
package allowance

import (
	"cmp"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// All is what was spent means now: each allowance of each budget, with what people raised it
// by, and who spends of it. Of a budget that was never spent of, there are only the allowances that
// its section names.
func All(past fleet.Past, budgets []fleet.Budget, seen fleet.Snapshot) (out []fleet.BudgetFacts) {
	if len(budgets) == 0 || !seen.Spending.Usable() {
		return nil
	}
	raised := fleet.Raises(past.Silences, seen.At)
	who := spenders(past, seen)
	for i := range budgets {
		b := &budgets[i]
		for _, s := range allowances(b, who, past.Quotas, seen) {
			s.Lost, s.Uncounted = lost(past), seen.Spending.Value.MoreMayBe()
			f := b.Facts(s, raised, seen.At)
			f.Agents, f.Foreign = who.of(b, s.Of)
			out = append(out, f)
		}
	}
	return out
}

// lost says what became of what was written down before, of which what was spent is a part; "" while it is there.
func lost(past fleet.Past) string {
	if !past.Amnesia {
		return ""
	}
	return cmp.Or(past.Lost, "the database had to be set aside")
}

// Of are the allowances that one agent spends of, as a pass has judged them, and those that
// nothing was spent of yet.
func Of(past fleet.Past, budgets []fleet.Budget, seen fleet.Snapshot, s fleet.Spender) (out []fleet.BudgetFacts) {
	if !seen.Spending.Usable() {
		return nil
	}
	for i := range budgets {
		b := &budgets[i]
		of, ok := b.Allowance(s)
		if !ok {
			continue
		}
		f := b.Facts(fleet.Spending{Budget: b.Name, Of: of, Lost: lost(past), Uncounted: seen.Spending.Value.MoreMayBe()}, fleet.Raises(past.Silences, seen.At), seen.At)
		for _, judged := range seen.Spending.Value.Budgets {
			if judged.Budget == b.Name && judged.Of == of {
				f = judged
			}
		}
		out = append(out, f)
	}
	return out
}

// allowances are the sums of a budget. One of a window that has ended says nothing of this one.
func allowances(b *fleet.Budget, who spenderList, told []fleet.AccountQuota, seen fleet.Snapshot) (out []fleet.Spending) {
	for _, s := range seen.Spending.Value.Sums {
		if s.Budget == b.Name && b.Matches(s.Of) && (s.Until.IsZero() || seen.At.Wall.Before(s.Until)) {
			out = append(out, s)
		}
	}
	if b.Quota > 0 {
		out = who.remembered(told, seen.At.Wall).quotas(b, out)
	}
	named := b.By == fleet.SpendByFleet || b.Of != "" && !strings.ContainsAny(b.Of, `*?[\`)
	if len(out) == 0 && named {
		out = append(out, fleet.Spending{Budget: b.Name, Of: b.Of})
	}
	return out
}

// spender is an agent that runs.
type spender struct {
	fleet.Spender
	ours  bool
	quota []fleet.Quota
}

type spenderList []spender

func spenders(past fleet.Past, seen fleet.Snapshot) (out spenderList) {
	if !seen.Agents.Usable() {
		return nil
	}
	registered, working := ledger.ByName(past.Registrations), past.Records.Working()
	for i := range seen.Agents.Value {
		a := &seen.Agents.Value[i]
		if a.Process.PID == 0 {
			continue
		}
		out = append(out, spender{fleet.SpenderOf(registered[a.Name], a, working), a.Owner.MayTouch(), a.Quota})
	}
	return out
}

// Spenders lists whose allowances of a budget there are, or will be when they spend: of what was spent, of agents
// that are seen, and of those that are registered. They are sorted.
func Spenders(b *fleet.Budget, past fleet.Past, seen fleet.Snapshot) (names []string) {
	for _, f := range seen.Spending.Value.Budgets {
		if f.Budget == b.Name {
			names = append(names, f.Of)
		}
	}
	working := past.Records.Working()
	for i := range past.Registrations {
		names = append(names, fleet.SpenderOf(&past.Registrations[i], nil, working).By(b.By))
	}
	for _, s := range spenders(past, seen) {
		names = append(names, s.By(b.By))
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(of string) bool { return of == "" || !b.Matches(of) })
}

// of lists who spends of an allowance: agents of ours, and others.
func (c spenderList) of(b *fleet.Budget, allowance string) (ours, foreign []string) {
	for _, s := range c {
		if of, ok := b.Allowance(s.Spender); !ok || of != allowance {
			continue
		}
		if s.ours {
			ours = append(ours, s.Agent)
		} else {
			foreign = append(foreign, s.Agent)
		}
	}
	slices.Sort(ours)
	slices.Sort(foreign)
	return ours, foreign
}

// quotas adds to the sums of a budget what is told of the plans: also of one of which no
// response was written down yet.
func (c spenderList) quotas(b *fleet.Budget, sums []fleet.Spending) []fleet.Spending {
	for _, s := range c {
		of, ok := b.Allowance(s.Spender)
		if !ok || len(s.quota) == 0 {
			continue
		}
		i := slices.IndexFunc(sums, func(sum fleet.Spending) bool { return sum.Of == of })
		if i < 0 {
			i, sums = len(sums), append(sums, fleet.Spending{Budget: b.Name, Of: of})
		}
		sums[i].Quota = append(sums[i].Quota, s.quota...)
	}
	return sums
}

// SpendsNow returns the agents of a snapshot with how fast each of them spends.
func SpendsNow(seen fleet.Snapshot) []fleet.Agent {
	if !seen.Spending.Usable() || len(seen.Spending.Value.Agents) == 0 {
		return seen.Agents.Value
	}
	known := map[string]fleet.AgentSpends{}
	for _, s := range seen.Spending.Value.Agents {
		known[s.Agent] = s
	}
	agents := slices.Clone(seen.Agents.Value) // others share them
	for i := range agents {
		if s, ok := known[agents[i].Name]; ok {
			agents[i].SpendsNow, agents[i].SpendsUsually = s.Now, s.Usual
		}
	}
	return agents
}
