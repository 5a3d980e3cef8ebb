package decide

import (
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// TestNothingIsBegunBeyondABudget: whatever was spent, and whoever wants it, what spends of a
// allowance is begun only where that is known not to be used up; what spends nothing is never held by it.
func TestNothingIsBegunBeyondABudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		names := []string{"a", "b", "c"}
		for _, name := range names {
			set := map[string]string{"role": pick(t, "role", []string{"", "builder", "tester"}), "project": pick(t, "project", []string{"", "shop"})}
			w.past.Registrations = append(w.past.Registrations, registration(name, set))
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "budgets") {
			b := fleet.Budget{Name: string(rune('k' + i)), By: pick(t, "by", fleet.SpendBys()), Window: fleet.WindowTotal, MicroUSD: 10,
				Hold: pick(t, "hold", []float64{0, 50, 100}), Pause: pick(t, "pause", []float64{0, 100}), Stop: pick(t, "stop", []float64{0, 150})}
			w.policy.Budgets = append(w.policy.Budgets, b)
			for _, of := range []string{"", "a", "b", "builder", "shop", "claude"} {
				if b.Matches(of) && rapid.Bool().Draw(t, "spent") {
					s := fleet.Spending{Of: of, MicroUSD: rapid.Int64Range(0, 20).Draw(t, "usd"), Unpriced: rapid.Int64Range(0, 1).Draw(t, "unpriced")}
					w.snap.Spending.Value.Budgets = append(w.snap.Spending.Value.Budgets, b.Facts(s, nil, w.snap.At))
				}
			}
		}
		w.snap.Spending.Status = pick(t, "sight", []fleet.Status{fleet.StatusOK, fleet.StatusOK, fleet.StatusStale, fleet.StatusUnknown, fleet.StatusPending})
		w.snap.Spending.Value.Uncounted = pick(t, "uncounted", []string{"", "", "no daemon runs"})
		do := pick(t, "do", []string{"spawn", "recover", "nudge", "triage", "stop", "interrupt", "answer", "checkpoint", "rotate-log"})
		p := newPass(&w.policy, &w.snap, &w.found, &w.past)
		reg := &w.past.Registrations[rapid.IntRange(0, 2).Draw(t, "agent")]
		no := askSpend(p, &request{wish: &fleet.Wish{Do: do, Subject: agentSubject(reg.Name)}, reg: reg})
		spent, known := beyond(w, reg)
		switch {
		case !spends(do) && no != nil:
			t.Fatalf("%s spends nothing, and is held: %s", do, no.why)
		case spends(do) && no == nil && spent:
			t.Fatalf("%s of %s is begun beyond its budget", do, reg.Name)
		case spends(do) && no == nil && !known:
			t.Fatalf("%s of %s is begun, and what was spent is not known", do, reg.Name)
		case no != nil && !spent && known:
			t.Fatalf("%s of %s is held, and no budget is used up: %s", do, reg.Name, no.why)
		}
	})
}

// beyond counts for itself.
func beyond(w *world, reg *fleet.Registration) (spent, known bool) {
	known = true
	of := map[fleet.SpendBy]string{fleet.SpendByAgent: reg.Name, fleet.SpendByRole: reg.Role, fleet.SpendByProject: reg.Project, fleet.SpendByKind: reg.Kind}
	for _, b := range w.policy.Budgets {
		name, mine := of[b.By]
		if b.By != fleet.SpendByFleet && (!mine || name == "") || b.Hold+b.Pause+b.Stop == 0 {
			continue
		}
		known = known && w.snap.Spending.Usable() && w.snap.Spending.Value.Uncounted == ""
		for _, f := range w.snap.Spending.Value.Budgets {
			spent = spent || f.Budget == b.Name && f.Of == name && (f.Stage == fleet.StageHold || f.Stage == fleet.StagePause || f.Stage == fleet.StageStop)
		}
	}
	return spent, known
}
