package view

import (
	"testing"

	"custos/internal/fleet"
)

// That what holds an agent was changed is said before what its version is not proven to keep.
func TestAChangedPolicyIsSaidOfItsAgent(t *testing.T) {
	a := fleet.Agent{Name: "a", Policy: "default", PolicyGap: "not for its sub-agents"}
	for tampered, want := range map[string]string{"": "not for its sub-agents", "/run/p.json": "changed since it was started: /run/p.json"} {
		a.Tampered = tampered
		if row := agentRow(a, &fleet.Snapshot{}); row.Policy != "default" || row.PolicyGap != want {
			t.Errorf("%+v, want %q", row.PolicyGap, want)
		}
	}
}
