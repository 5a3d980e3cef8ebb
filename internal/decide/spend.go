package decide

import (
	"slices"

	"custos/internal/fleet"
)

// spends says whether an action has a model asked that would not be asked without it.
func spends(do string) bool { return starts(do) || do == doNudge || do == doTriage }

// askSpend holds back what would spend of a budget that is used up, whoever wants it: a person
// raises the budget, and goes on. What was spent may not be known: then nothing is begun
// that would spend more, for unknown is not little.
func askSpend(p *pass, r *request) *refusal {
	if len(p.policy.Budgets) == 0 || !spends(r.wish.Do) {
		return nil
	}
	who := p.spender(r)
	var all []*refusal
	for i := range p.policy.Budgets {
		b := &p.policy.Budgets[i]
		of, ok := b.Allowance(who)
		if !ok || b.Hold <= 0 && b.Pause <= 0 && b.Stop <= 0 {
			continue
		}
		if b.Window == fleet.WindowSession && r.wish.Do == doSpawn {
			continue // it begins a conversation of its own
		}
		if no := p.askAllowance(b, of); no != nil {
			all = append(all, no)
		}
	}
	return together(all)
}

// together is the hold that lasts longest, where one that no time ends lasts longer than any,
// with the words of the others: who raises one budget is not to meet the next one then.
func together(list []*refusal) *refusal {
	if len(list) == 0 {
		return nil
	}
	last := 0
	for i, no := range list {
		if end := list[last].until; !end.IsZero() && (no.until.IsZero() || end.Before(no.until)) {
			last = i
		}
	}
	no := *list[last]
	for _, other := range slices.Delete(list, last, last+1) {
		no.why += "; " + other.why
	}
	return &no
}

// spender is who would spend by a request.
func (p *pass) spender(r *request) fleet.Spender {
	reg := r.wish.Target.Registration
	if reg == nil {
		reg = r.reg
	}
	var working map[string]string
	if slices.ContainsFunc(p.policy.Budgets, func(b fleet.Budget) bool { return b.By == fleet.SpendByWork }) {
		working = p.past.Records.Working()
	}
	return fleet.SpenderOf(reg, r.wish.Target.Agent, working)
}

// askAllowance is what one allowance of a budget says.
func (p *pass) askAllowance(b *fleet.Budget, of string) *refusal {
	if !p.snap.Spending.Usable() {
		return &refusal{why: "spending is " + status(p.snap.Spending.Status) + ": it is not known how much of budget " + b.Name + " is left", hint: hintLook}
	}
	if why := p.snap.Spending.Value.NotCounted(); why != "" && b.Counts() {
		return &refusal{why: "it is not known how much of budget " + b.Name + " is left: " + why, hint: hintLook}
	}
	facts := p.snap.Spending.Value.Budgets
	at := slices.IndexFunc(facts, func(f fleet.BudgetFacts) bool { return f.Budget == b.Name && f.Of == of })
	if at < 0 || !facts[at].Stage.Reaches(fleet.StageHold) {
		return nil
	}
	return &refusal{why: facts[at].Holds(), until: facts[at].Ends, hint: facts[at].HintRaise()}
}
