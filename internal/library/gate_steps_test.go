package library

import (
	"testing"

	"custos/internal/formula"
	"custos/internal/ledger"
)

// TestGateOfAFormula: each type of gate of a step is one that the ledger takes.
func TestGateOfAFormula(t *testing.T) {
	for _, g := range []formula.Gate{{Type: "human", ID: "approved"}, {Type: "event", ID: "trigger:x"}, {Type: "gh:run", ID: "wp/shop#4"}, {Type: "gh:pr", ID: "shop!7"},
		{Type: "timer", Timeout: 1e9}, {Type: "condition", Condition: "host.cpus > 1"}, {Type: "mail", ID: "review", From: "reviewer", To: "builder", Subject: "review"}} {
		if err := ledger.CheckStepGate(gateOf(g)); err != nil {
			t.Errorf("%+v: %v", g, err)
		}
	}
}
