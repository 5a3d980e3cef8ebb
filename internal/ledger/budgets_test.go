package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestBudgets: each allowance is judged with who spends of it; whose agents are not ours is said.
func TestBudgets(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	seen := fleet.Snapshot{At: at}
	seen.Spending.Status, seen.Agents.Status = fleet.StatusOK, fleet.StatusOK
	running := fleet.ProcessID{PID: 7, Start: 1}
	seen.Agents.Value = []fleet.Agent{
		{Name: "b1", Kind: "claude", Owner: fleet.OwnerCustos, Process: running}, {Name: "b2", Kind: "claude", Owner: fleet.OwnerCustos},
		{Name: "mine", Kind: "claude", Owner: fleet.OwnerForeign, Process: running}, {Name: "x", Kind: "codex", Owner: fleet.OwnerAdopted, Process: running},
	}
	past := fleet.Past{Registrations: []fleet.Registration{{Name: "b1", Role: "builder", Kind: "claude"}, {Name: "b2", Role: "builder", Kind: "claude"}, {Name: "x", Kind: "codex"}}}
	past.Records.Work = []fleet.WorkItem{{Head: fleet.Head{ID: "w1"}, State: fleet.WorkTaken, Agent: "b1"}, {Head: fleet.Head{ID: "w2"}, State: fleet.WorkTaken, Agent: "x", Person: true}}
	past.Silences = []fleet.Silence{fleet.Raise{Name: "day", Metric: fleet.MetricUSD, Amount: 10e6, By: "ann", From: at, Until: at.Add(time.Hour)}.Silence()}
	budgets := []fleet.Budget{
		{Name: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, MicroUSD: 10e6, Hold: 100},
		{Name: "each", By: fleet.SpendByRole, Window: fleet.WindowDay, MicroUSD: 1e6, Hold: 100},
		{Name: "claude", By: fleet.SpendByKind, Of: "claude", Window: fleet.WindowDay, MicroUSD: 1e6, Hold: 100},
		{Name: "piece", By: fleet.SpendByWork, Window: fleet.WindowTotal, MicroUSD: 1e6, Hold: 100},
	}
	end := at.Wall.Add(14 * time.Hour)
	seen.Spending.Value.Sums = []fleet.Spending{
		{Budget: "day", MicroUSD: 15e6, Until: end}, {Budget: "each", Of: "builder", MicroUSD: 1e6, Until: end},
		{Budget: "each", Of: "tester", MicroUSD: 5e6, Until: at.Wall}, // its window has just ended
		{Budget: "piece", Of: "w1", MicroUSD: 2e6}, {Budget: "gone", MicroUSD: 5e6},
	}
	want := "day under b1 x|mine; each/builder hold b1|; claude under b1|mine; piece/w1 hold b1|"
	var got []string
	for _, f := range Budgets(past, budgets, seen) {
		got = append(got, f.Name+" "+string(f.Stage)+" "+strings.Join(f.Agents, " ")+"|"+strings.Join(f.Foreign, " "))
	}
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	seen.Spending.Blind("locked")
	if got := Budgets(past, budgets, seen); got != nil {
		t.Errorf("nothing is known of what was spent, and budgets are judged: %+v", got)
	}
}

// What a plan has left is what agents of its account tell, also of one that no response is
// written down of; what nobody tells is not known, and trips nothing.
func TestBudgetsOfAPlan(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	running := fleet.ProcessID{PID: 7, Start: 1}
	told := func(percent float64, ago, until time.Duration) fleet.Quota {
		return fleet.Quota{Window: "5h", Percent: percent, At: at.Wall.Add(-ago), Resets: at.Wall.Add(until)}
	}
	budgets := []fleet.Budget{{Name: "plan", By: fleet.SpendByAccount, Window: fleet.WindowDay, Quota: 80, Warn: 80, Hold: 100}}
	for what, c := range map[string]struct {
		own, hand []fleet.Quota
		stage     fleet.BudgetStage
		says      string
	}{
		"nothing is told":           {stage: fleet.StageUnder, says: "at least 0 % of the plan of 80 % of the plan; unknown"},
		"little":                    {own: []fleet.Quota{told(10, 0, time.Hour)}, stage: fleet.StageUnder, says: "10 % of the plan of 80 % of the plan; 12"},
		"enough to warn":            {own: []fleet.Quota{told(70, 0, time.Hour)}, stage: fleet.StageWarn, says: "70 % of the plan of 80 % of the plan; 88"},
		"the fuller of two windows": {own: []fleet.Quota{told(10, 0, time.Hour), told(85, 0, 72*time.Hour)}, stage: fleet.StageHold, says: "85 % of the plan of 80 % of the plan; 106"},
		"told by one of a person":   {hand: []fleet.Quota{told(85, 0, time.Hour)}, stage: fleet.StageHold, says: "85 % of the plan of 80 % of the plan; 106"},
		"reset since":               {own: []fleet.Quota{told(85, time.Minute, -time.Second)}, stage: fleet.StageUnder, says: "at least 0 % of the plan of 80 % of the plan; unknown"},
		"told long ago, little":     {own: []fleet.Quota{told(10, 2*time.Hour, time.Hour)}, stage: fleet.StageUnder, says: "at least 10 % of the plan of 80 % of the plan; unknown"},
		"told long ago, and enough": {own: []fleet.Quota{told(85, 2*time.Hour, time.Hour)}, stage: fleet.StageHold, says: "at least 85 % of the plan of 80 % of the plan; 106"},
	} {
		seen := fleet.Snapshot{At: at}
		seen.Spending.Status, seen.Agents.Status = fleet.StatusOK, fleet.StatusOK
		seen.Spending.Value.Sums = []fleet.Spending{{Budget: "plan", Of: "own"}}
		seen.Agents.Value = []fleet.Agent{{Name: "a", Owner: fleet.OwnerCustos, Process: running, Quota: c.own}, {Name: "h", Owner: fleet.OwnerForeign, Process: running, Account: "own", Quota: c.hand}}
		past := fleet.Past{Registrations: []fleet.Registration{{Name: "a", Account: "own"}}}
		got := Budgets(past, budgets, seen)
		if len(got) != 1 {
			t.Fatalf("%s: %+v", what, got)
		}
		percent := "unknown"
		if n, ok := got[0].Percent.Get(); ok {
			percent = fmt.Sprintf("%.0f", n)
		}
		if says := got[0].Says + "; " + percent; got[0].Stage != c.stage || says != c.says {
			t.Errorf("%s: %s, %s; want %s, %s", what, got[0].Stage, says, c.stage, c.says)
		}
	}
	seen := fleet.Snapshot{At: at}
	seen.Spending.Status, seen.Agents.Status = fleet.StatusOK, fleet.StatusOK
	seen.Agents.Value = []fleet.Agent{{Name: "h", Owner: fleet.OwnerForeign, Process: running, Account: "new", Quota: []fleet.Quota{told(85, 0, time.Hour)}}}
	if got := Budgets(fleet.Past{}, budgets, seen); len(got) != 1 || got[0].Of != "new" || got[0].Stage != fleet.StageHold {
		t.Errorf("of an account that no response is written down of: %+v", got)
	}
}
