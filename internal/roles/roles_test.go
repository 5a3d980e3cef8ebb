package roles

import (
	"slices"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

func TestDrift(t *testing.T) {
	r := fleet.Role{Name: "b", Kind: "claude", Prompt: "do"}
	changed := r
	changed.Prompt = "do it"
	a := ledger.RoleStart(r, nil, nil, nil, fleet.Past{})
	if a.RoleSum == "" || len(a.RoleSum) > 12 {
		t.Fatalf("kept is %q", a.RoleSum)
	}
	started := a
	started.Instance, started.Policy = "i", "default"
	for name, c := range map[string]struct {
		a      fleet.Registration
		r      fleet.Role
		policy string
		drift  []string
		known  bool
	}{
		"the same":            {started, r, "default", nil, true},
		"another prompt":      {started, changed, "default", []string{"role"}, true},
		"another policy":      {started, r, "", []string{"policy"}, true},
		"both":                {started, changed, "read-only", []string{"role", "policy"}, true},
		"not started":         {a, r, "default", nil, true},
		"not kept":            {fleet.Registration{Instance: "i"}, r, "", nil, false},
		"not kept, by policy": {fleet.Registration{Instance: "i"}, r, "default", []string{"policy"}, false},
	} {
		if got, known := drift(c.a, c.r, c.policy); !slices.Equal(got, c.drift) || known != c.known {
			t.Errorf("%s: %q, %v", name, got, known)
		}
	}
}

// The budgets of a role are those that its agents spend of.
func TestBudgets(t *testing.T) {
	r := fleet.Role{Name: "b", Kind: "claude", Project: "shop", Account: "work"}
	has := []fleet.Registration{{Name: "b-w1", Role: "b", Kind: "claude", Task: "w1", Desired: fleet.DesiredRunning}, {Name: "gone", Role: "b", Task: "w2", Desired: fleet.DesiredRetired}, {Name: "x", Role: "x", Run: "r9", Desired: fleet.DesiredRunning}}
	for name, c := range map[string]struct {
		by   fleet.SpendBy
		of   string
		want bool
	}{
		"fleet": {fleet.SpendByFleet, "", true}, "role": {fleet.SpendByRole, "b", true}, "each role": {fleet.SpendByRole, "", true}, "other role": {fleet.SpendByRole, "x", false},
		"project": {fleet.SpendByProject, "sh*", true}, "other project": {fleet.SpendByProject, "x", false}, "account": {fleet.SpendByAccount, "work", true}, "kind": {fleet.SpendByKind, "claude", true}, "other kind": {fleet.SpendByKind, "codex", false},
		"each agent": {fleet.SpendByAgent, "", true}, "agent": {fleet.SpendByAgent, "b-*", true}, "retired": {fleet.SpendByAgent, "gone", false}, "other agent": {fleet.SpendByAgent, "x", false},
		"work": {fleet.SpendByWork, "w1", true}, "other work": {fleet.SpendByWork, "w2", false}, "run": {fleet.SpendByRun, "r9", false}, "each run": {fleet.SpendByRun, "", true},
	} {
		if got := budgetsOf(r, has, []fleet.Budget{{Name: "x", By: c.by, Of: c.of}}); len(got) > 0 != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
