package loop_test

import (
	"testing"
	"testing/synctest"

	"custos/internal/fleet"
	"custos/internal/loop"
)

func ofLock(name string) []fleet.AlertKey {
	return []fleet.AlertKey{{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: name}}}
}

func all(fleet.Action) bool  { return true }
func none(fleet.Action) bool { return false }

// Mend does what was chosen and meant, says by whom, and comes back when nothing is left.
func TestMend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		by := fleet.PatrolOrder{Apply: true, By: "ann"}
		for name, mend := range map[string]func() (fleet.Pass, error){
			"another alert": func() (fleet.Pass, error) { return w.loop.Mend(t.Context(), by, ofLock("/other"), all) },
			"not meant":     func() (fleet.Pass, error) { return w.loop.Mend(t.Context(), by, ofLock("/l"), none) },
		} {
			if p, err := mend(); err != nil || len(p.Plan.Actions) != 0 || len(w.turns) != 0 || !w.dead {
				t.Errorf("%s: %+v, %v", name, p.Plan.Actions, err)
			}
		}
		p, err := w.loop.Mend(t.Context(), by, ofLock("/l"), all)
		if err != nil || w.dead || len(w.turns) != 1 || len(p.Plan.Actions) != 1 || len(p.Results) != 1 || p.Results[0].Status != fleet.ResultDone {
			t.Fatalf("%+v, %+v, %v", p.Plan, p.Results, err)
		}
		turn := w.turns[0]
		if turn.Plan.Actions[0].Approved != "ann" || turn.Patrol != 0 || len(turn.Assessment.Alerts) != 0 {
			t.Errorf("committed %+v", turn)
		}
		if p, err := w.loop.Mend(t.Context(), by, ofLock("/l"), all); err != nil || len(p.Plan.Actions) != 0 {
			t.Errorf("when it is mended: %+v, %v", p.Plan, err)
		}
	})
}

// A freeze, and a turn that cannot be committed, leave everything as it is.
func TestMendIsGuarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		by := fleet.PatrolOrder{Apply: true, By: "ann"}
		w.clash = 1
		if _, err := w.loop.Mend(t.Context(), by, ofLock("/l"), all); err == nil || !w.dead {
			t.Errorf("it was not committed: %v", err)
		}
		p, err := w.loop.Look(t.Context(), 0, by)
		if err != nil {
			t.Fatal(err)
		}
		p.Policy.Frozen = "by ann"
		if plan := loop.Mending(p, ofLock("/l")); len(plan.Actions) != 0 || len(plan.Skipped) != 1 || plan.Skipped[0].Guard != fleet.GuardFrozen {
			t.Errorf("while frozen: %+v", plan)
		}
	})
}

// What another alert leads to takes no room from what is to be mended.
func TestMendingAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := asking(t)
		p, err := w.loop.Look(t.Context(), 0, fleet.PatrolOrder{Apply: true, By: "ann"})
		if err != nil || len(p.Assessment.Findings) == 0 {
			t.Fatalf("%+v, %v", p.Assessment, err)
		}
		worse := p.Assessment.Findings[0]
		worse.AlertKey, worse.Wishes = ofLock("/worse")[0], []fleet.Wish{worse.Wishes[0]}
		worse.Wishes[0].Subject = worse.Subject
		p.Assessment.Findings = append([]fleet.Finding{worse}, p.Assessment.Findings...)
		p.Policy.Budget = fleet.Attempts{Max: 1, In: fleet.Duration(3600e9)}
		if plan := loop.Mending(p, ofLock("/l")); len(plan.Actions) != 1 || len(plan.Skipped) != 0 {
			t.Errorf("%+v", plan)
		}
	})
}
