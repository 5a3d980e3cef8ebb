package decide

import (
	"testing"

	"custos/internal/fleet"
)

// What takes a person's word for one alert is done for no mode, and for no approval
// of a whole pass.
func TestSingly(t *testing.T) {
	key := fleet.AlertKey{Rule: "code-untrusted", Subject: fleet.Subject{Kind: fleet.KindCode, Name: "/p"}}
	code := &fleet.CodeFacts{Dir: "/p", Digest: "d"}
	found := fleet.Assessment{Rules: map[string]fleet.Remedy{key.Rule: {Mode: fleet.ModeAuto}}, Findings: []fleet.Finding{{AlertKey: key, Priority: fleet.P3, Firing: true, Fresh: true,
		Parts: []fleet.PartName{fleet.PartSelf}, Wishes: []fleet.Wish{{Do: "trust-code", Subject: key.Subject, Target: fleet.Target{Code: code}}}}}}
	snap := fleet.Snapshot{}
	snap.Self.Status = fleet.StatusOK
	policy := fleet.Policy{Mode: fleet.ModeAuto, Budget: fleet.Attempts{Max: 9, In: fleet.Duration(1e12)}, Abilities: map[string]fleet.Ability{"trust-code": {Do: "trust-code", Idempotent: true, Singly: true}}}
	for name, c := range map[string]struct {
		by     string
		singly bool
		want   int
	}{"auto": {"", false, 0}, "a whole pass": {"anna", false, 0}, "nobody": {"", true, 0}, "this alert": {"anna", true, 1}} {
		policy.ApprovedBy, policy.Singly = c.by, c.singly
		plan := Decide(policy, snap, found, fleet.Past{})
		if len(plan.Actions) != c.want || c.want == 0 && (len(plan.Skipped) != 1 || plan.Skipped[0].Guard != fleet.GuardApproval) {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// Whoever may not by himself is told what to type: of an alert that is on record its number,
// and of an item of a vault which content it is; a fleet that only observes is no other answer.
func TestSinglySaysHow(t *testing.T) {
	key := fleet.AlertKey{Rule: "vault-item-waits", Subject: fleet.Subject{Kind: fleet.KindVault, Name: "ops/pending/a.md"}}
	item := &fleet.VaultItem{Name: key.Subject.Name, Owner: fleet.OwnerConfigured, Digest: "0123456789abcdef"}
	found := fleet.Assessment{Rules: map[string]fleet.Remedy{key.Rule: {Mode: fleet.ModeAsk}}, Alerts: []fleet.Alert{{AlertKey: key, Number: 3}}, Findings: []fleet.Finding{{AlertKey: key, Priority: fleet.P2, Firing: true, Fresh: true,
		Parts: []fleet.PartName{fleet.PartVaults}, Wishes: []fleet.Wish{{Do: "approve-vault-item", Subject: key.Subject, Target: fleet.Target{Vault: item}}}}}}
	snap := fleet.Snapshot{}
	snap.Vaults.Status = fleet.StatusOK
	policy := fleet.Policy{Mode: fleet.ModeObserve, Budget: fleet.Attempts{Max: 9, In: fleet.Duration(1e12)}, Abilities: map[string]fleet.Ability{"approve-vault-item": {Do: "approve-vault-item", Idempotent: true, Singly: true}}}
	for next, want := range map[int64]string{4: "custos approve 3 --digest 0123456789ab", 3: "custos approve NUMBER"} {
		plan := Decide(policy, snap, found, fleet.Past{NextAlert: next})
		if len(plan.Actions) != 0 || len(plan.Skipped) != 1 || plan.Skipped[0].Guard != fleet.GuardApproval || plan.Skipped[0].Hint != want {
			t.Errorf("with the next alert %d: %+v, want %q", next, plan.Skipped, want)
		}
	}
	item.Owner = fleet.OwnerForeign
	policy.ApprovedBy, policy.Singly = "ann", true
	if plan := Decide(policy, snap, found, fleet.Past{}); len(plan.Actions) != 0 || plan.Skipped[0].Guard != fleet.GuardForeign {
		t.Errorf("of a vault that is only watched: %+v", plan)
	}
}
