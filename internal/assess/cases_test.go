package assess

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/rules"
	"custos/internal/scenario"
)

// Each file in testdata is named after a rule, and its stories are about it.
func TestCases(t *testing.T) {
	set := builtin(t)
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		rule := strings.TrimSuffix(filepath.Base(file), ".txtar")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		told, err := scenario.Read(file, text, rule)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range told.Stories {
			t.Run(rule+"/"+s.Name, func(t *testing.T) { play(t, set, kinds, s) })
		}
	}
}

// play tells a story: what is assessed at one moment is remembered at the next.
func play(t *testing.T, set *rules.Set, kinds *agent.Kinds, s scenario.Story) {
	t.Helper()
	var past fleet.Past
	var patrol int64
	for _, step := range s.Steps {
		seen, err := step.Snapshot(kinds)
		if err != nil {
			t.Fatal(err)
		}
		if step.Patrol {
			patrol++
			seen.Patrol = patrol
		}
		if step.Back > 0 {
			past.Newest = seen.At.Add(step.Back)
			past.Newest.Boot = "earlier" // within one boot no clock goes back
		}
		p := fleet.Pass{Snapshot: seen, Past: past, Assessment: Assess(set, seen, past)}
		missed, err := step.Check(p, scenario.Known{Rules: set.Names(), Actions: wished(set)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range missed {
			t.Errorf("%s:%d: after %v: %s", m.Line.File, m.Line.Number, step.At, m.Says)
		}
		past = after(past, p.Assessment)
	}
}

// wished are the actions that rules ask for.
func wished(set *rules.Set) (out []string) {
	for _, r := range set.Rules() {
		for _, a := range r.Actions {
			out = append(out, a.Do)
		}
	}
	return out
}

// TestEveryRuleHasItsCases fails for a built-in rule without one of the four.
func TestEveryRuleHasItsCases(t *testing.T) {
	for _, r := range builtin(t).Rules() {
		a, err := txtar.ParseFile("testdata/" + r.Name + ".txtar")
		if err != nil {
			t.Errorf("rule %s has no cases: %v", r.Name, err)
			continue
		}
		for _, want := range []string{"fires", "holds", "cannot-tell", "ends"} {
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == want })
			if i < 0 || !strings.Contains(string(a.Files[i].Data), "want ") {
				t.Errorf("rule %s has no case %q that wants something", r.Name, want)
			}
		}
	}
}

func TestHealthyWorldHasNothingToSay(t *testing.T) {
	got := Assess(builtin(t), healthy(start()), fleet.Past{})
	if len(got.Findings)+len(got.Alerts)+len(got.Blind) != 0 {
		t.Errorf("a healthy world gave %+v", got)
	}
}

// after is what would be remembered of an assessment.
func after(past fleet.Past, got fleet.Assessment) fleet.Past {
	alerts := slices.Clone(got.Alerts)
	for _, old := range past.Alerts {
		if !slices.ContainsFunc(alerts, func(a fleet.Alert) bool { return a.AlertKey == old.AlertKey }) {
			alerts = append(alerts, old)
		}
	}
	past.Alerts = alerts
	for _, a := range alerts {
		past.NextAlert = max(past.NextAlert, a.Number+1)
	}
	return past
}
