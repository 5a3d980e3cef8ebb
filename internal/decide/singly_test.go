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
