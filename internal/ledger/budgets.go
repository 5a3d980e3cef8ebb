package ledger

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Budgets is what was spent means now: each allowance of each budget, with what people raised it
// by, and who spends of it. Of a budget that was never spent of, there are only the allowances that
// its section names.
func Budgets(past fleet.Past, budgets []fleet.Budget, seen fleet.Snapshot) (out []fleet.BudgetFacts) {
	if len(budgets) == 0 || !seen.Spending.Usable() {
		return nil
	}
	raised := fleet.Raises(past.Silences, seen.At)
	who := spenders(past, seen)
	for i := range budgets {
		b := &budgets[i]
		for _, s := range allowances(b, who, seen) {
			f := b.Facts(s, raised, seen.At)
			f.Agents, f.Foreign = who.of(b, s.Of)
			out = append(out, f)
		}
	}
	return out
}

// allowances are the sums of a budget. One of a window that has ended says nothing of this one.
func allowances(b *fleet.Budget, who spenderList, seen fleet.Snapshot) (out []fleet.Spending) {
	for _, s := range seen.Spending.Value.Sums {
		if s.Budget == b.Name && b.Matches(s.Of) && (s.Until.IsZero() || seen.At.Wall.Before(s.Until)) {
			out = append(out, s)
		}
	}
	if b.Quota > 0 {
		out = who.quotas(b, out)
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
	registered := map[string]*fleet.Registration{}
	for i := range past.Registrations {
		registered[past.Registrations[i].Name] = &past.Registrations[i]
	}
	working := past.Records.Working()
	for i := range seen.Agents.Value {
		a := &seen.Agents.Value[i]
		if a.Process.PID == 0 {
			continue
		}
		s := fleet.SpenderOf(registered[a.Name], a)
		s.Work = working[a.Name]
		out = append(out, spender{s, a.Owner.MayTouch(), a.Quota})
	}
	return out
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

// quotas adds to the sums of a budget what agents tell of their plans: also of one of which no
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
