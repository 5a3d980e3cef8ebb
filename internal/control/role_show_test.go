package control

import (
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// oneBudget is what agents of builders may spend.
type oneBudget struct{ Budgets }

func (oneBudget) Limits() []fleet.Budget {
	return []fleet.Budget{{Name: "b", By: fleet.SpendByRole, Of: "builder", Window: fleet.WindowDay, MicroUSD: 5e6}, {Name: "c", By: fleet.SpendByRole, Of: "scout"}}
}

// Who was started with another role than there is now is told so; who has no section keeps nothing of it.
func TestRoleShowsDrift(t *testing.T) {
	r := fleet.Role{Name: "builder", Kind: "claude", Dir: "/src", Prompt: "Do {{work}}"}
	o := newOffice(t, r)
	o.Budgets = oneBudget{}
	for name, role := range map[string]string{"ann": "builder", "bob": "painter"} {
		reg, err := o.spawned(t.Context(), api.SpawnRequest{Role: role, Kind: "claude", Dir: "/src"}, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"builder": ledger.RoleSum(r)}[role]; reg.RoleSum != want {
			t.Errorf("%s keeps %q, want %q", name, reg.RoleSum, want)
		}
		reg.Desired = fleet.DesiredRunning
		o.regs = append(o.regs, *reg)
	}
	o.regs = append(o.regs, fleet.Registration{Name: "old", Role: "builder", Desired: fleet.DesiredRunning}, fleet.Registration{Name: "gone", Role: "builder", Desired: fleet.DesiredRetired})
	states := func() (out []string) {
		v, err := o.roleShown(t.Context(), Call{ID: "builder"})
		if err != nil || len(v.Budgets) != 1 || v.Budgets[0].Limits != "5.00 USD" || v.From["kind"] != "custos.toml:2" {
			t.Fatalf("%+v, %v", v, err)
		}
		for _, a := range v.Having {
			out = append(out, a.Agent+" "+a.State)
		}
		return out
	}
	if got := states(); !slices.Equal(got, []string{"ann same", "old unknown"}) {
		t.Errorf("%q", got)
	}
	o.Roles[0].Max = 9 // counts at once, and is no drift
	if got := states(); !slices.Equal(got, []string{"ann same", "old unknown"}) {
		t.Errorf("%q", got)
	}
	o.Roles[0].Prompt = "Do {{work}} well"
	if got := states(); !slices.Equal(got, []string{"ann drift", "old unknown"}) {
		t.Errorf("%q", got)
	}
}
