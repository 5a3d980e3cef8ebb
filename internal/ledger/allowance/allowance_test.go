package allowance

import (
	"fmt"
	"slices"
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
	for _, f := range All(past, budgets, seen) {
		got = append(got, f.Name+" "+string(f.Stage)+" "+strings.Join(f.Agents, " ")+"|"+strings.Join(f.Foreign, " "))
	}
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	seen.Spending.Blind("locked")
	if got := All(past, budgets, seen); got != nil {
		t.Errorf("nothing is known of what was spent, and budgets are judged: %+v", got)
	}
}

// What was spent before a database was lost is not known until a person acknowledges that: no allowance is called unused.
func TestBudgetsOfALostPast(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	seen := fleet.Snapshot{At: at}
	seen.Spending.Status = fleet.StatusOK
	seen.Spending.Value.Sums = []fleet.Spending{{Budget: "each", Of: "a", MicroUSD: 1e6}}
	budgets := []fleet.Budget{{Name: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, MicroUSD: 10e6, Hold: 100}, {Name: "each", By: fleet.SpendByAgent, Window: fleet.WindowDay, MicroUSD: 2e6, Hold: 100}}
	lost := fleet.Past{Amnesia: true, Lost: "it is gone"}
	left := Of(lost, budgets, seen, fleet.Spender{Agent: "b"})
	for _, list := range [][]fleet.BudgetFacts{All(lost, budgets, seen), left} {
		if len(list) != 2 {
			t.Errorf("%+v", list)
		}
		for _, f := range list {
			if f.Percent.IsKnown() || !strings.Contains(f.Blind, "(it is gone)") || !strings.HasPrefix(f.Says, "at least ") {
				t.Errorf("%s: %s, %q", f.Name, f.Says, f.Blind)
			}
		}
	}
	for _, f := range All(fleet.Past{}, budgets, seen) {
		if !f.Percent.IsKnown() || f.Blind != "" {
			t.Errorf("nothing is lost: %+v", f)
		}
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
		got := All(past, budgets, seen)
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
	if got := All(fleet.Past{}, budgets, seen); len(got) != 1 || got[0].Of != "new" || got[0].Stage != fleet.StageHold {
		t.Errorf("of an account that no response is written down of: %+v", got)
	}
}

// What an agent told of its plan holds until its window ends, though the agent is gone; a newer word of the
// same window takes its place. Only news is written down.
func TestQuotasOutliveTheirAgents(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	told := func(percent float64, ago, until time.Duration) fleet.Quota {
		return fleet.Quota{Window: "5h", Percent: percent, At: at.Wall.Add(-ago), Resets: at.Wall.Add(until)}
	}
	plan := []fleet.Budget{{Name: "plan", By: fleet.SpendByAccount, Window: fleet.WindowDay, Quota: 90, Hold: 100}}
	seen := fleet.Snapshot{At: at}
	seen.Spending.Status, seen.Agents.Status = fleet.StatusOK, fleet.StatusOK
	past := fleet.Past{}
	live := func(quota ...fleet.Quota) {
		seen.Agents.Value = []fleet.Agent{{Name: "h", Owner: fleet.OwnerForeign, Process: fleet.ProcessID{PID: 7, Start: 1}, Account: "own", Quota: quota}}
	}
	says := func() string {
		var out []string
		for _, f := range All(past, plan, seen) {
			out = append(out, f.Name+" "+string(f.Stage)+" "+f.Says)
		}
		return strings.Join(out, "; ")
	}
	wants := func(what, want string) {
		t.Helper()
		if got := says(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	news := func(want ...fleet.Quota) {
		t.Helper()
		var list []fleet.Quota
		for _, q := range QuotasTold(past, seen) {
			if q.Account != "own" {
				t.Errorf("of account %q: %+v", q.Account, q)
			}
			list = append(list, q.Quota)
		}
		if !slices.Equal(list, want) {
			t.Errorf("news: %+v, want %+v", list, want)
		}
		for _, q := range QuotasTold(past, seen) {
			past.Quotas = append(slices.DeleteFunc(past.Quotas, func(old fleet.AccountQuota) bool { return old.Window == q.Window }), q)
		}
	}
	live(told(97, time.Minute, 4*time.Hour))
	news(told(97, time.Minute, 4*time.Hour))
	news() // it is written down
	live(told(97, 0, 4*time.Hour))
	news() // it was only said again
	live(told(98, 0, 4*time.Hour))
	news(told(98, 0, 4*time.Hour))
	const held = "plan/own hold 98 % of the plan of 90 % of the plan"
	wants("it is told", held)
	seen.Agents.Value = nil
	wants("its agent is gone", held)
	news()
	seen.Agents.Blind("hidden")
	wants("agents are not seen", held)
	seen.Agents.Status = fleet.StatusOK
	live()
	wants("another has not told yet", held)
	live(told(30, -time.Minute, 4*time.Hour))
	wants("a newer word", "plan/own under 30 % of the plan of 90 % of the plan")
	live(told(30, time.Hour, 4*time.Hour))
	wants("an older word", held)
	seen.Agents.Value, seen.At = nil, at.Add(4*time.Hour)
	wants("its window has ended", "")
}

// A limit that an agent met holds for its account when the agent is gone, until it is reset, or the model
// answers another one of the account. It is no window of a plan, and holds no budget back.
func TestLimitsOutliveTheirAgents(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: 1, Boot: "b"}
	seen := fleet.Snapshot{At: at}
	seen.Spending.Status, seen.Agents.Status = fleet.StatusOK, fleet.StatusOK
	past := fleet.Past{}
	keep := func() (said string) {
		for _, q := range QuotasTold(past, seen) {
			said += q.Account + " " + q.Window + " until " + q.Resets.Format("15:04") + ";"
			past.Quotas = []fleet.AccountQuota{q}
		}
		return said
	}
	limited := fleet.Agent{Name: "h", Account: "own", State: fleet.StateRateLimited, RateLimitedUntil: at.Add(4 * time.Hour), RateLimitedAt: at.Add(-time.Minute)}
	answered := func(ago time.Duration) []fleet.Agent {
		return []fleet.Agent{{Name: "i", Account: "own", Process: fleet.ProcessID{PID: 8, Start: 1}, State: fleet.StateIdle, Answered: at.Add(-ago)}}
	}
	plan := []fleet.Budget{{Name: "plan", By: fleet.SpendByAccount, Window: fleet.WindowDay, Quota: 90, Hold: 100}}
	for _, step := range []struct {
		what   string
		agents []fleet.Agent
		news   string
		holds  bool
	}{
		{"nobody met one, and one works", answered(0), "", false},
		{"one is told", []fleet.Agent{limited}, "own limit until 14:00;", true},
		{"it is written down", []fleet.Agent{limited}, "", true},
		{"it is gone", nil, "", true},
		{"another was answered before", answered(2 * time.Minute), "", true},
		{"another is answered since", answered(30 * time.Second), "own limit until 09:59;", false},
		{"that is written down", answered(0), "", false},
	} {
		seen.Agents.Value = step.agents
		if got := keep(); got != step.news {
			t.Errorf("%s: news %q, want %q", step.what, got, step.news)
		}
		if got := fleet.LimitOf("own", nil, past.Quotas, fleet.Instant{}, at, at).IsExhausted(at); got != step.holds {
			t.Errorf("%s: the account is at its limit: %t", step.what, got)
		}
		if got := All(past, plan, seen); slices.ContainsFunc(got, func(f fleet.BudgetFacts) bool { return f.Stage == fleet.StageHold }) {
			t.Errorf("%s: a budget is held: %+v", step.what, got)
		}
	}
}
