package ledger

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestBudgets: each purse is judged with who spends of it; whose agents are not ours is said.
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
