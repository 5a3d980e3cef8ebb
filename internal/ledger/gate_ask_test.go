package ledger_test

import (
	"strings"
	"testing"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Only an open gate that waits for a person's word is asked about, and each is another ask.
func TestAskGate(t *testing.T) {
	human := fleet.Gate{Head: fleet.Head{ID: "g1"}, Type: fleet.GateHuman, Title: "Read it, token=hunter2hunter2", State: fleet.GateOpen}
	closed, timer, other := human, human, human
	closed.ID, closed.State = "g2", fleet.GateClosed
	timer.ID, timer.Type = "g3", fleet.GateTimer
	other.ID = "g4"
	all := fleet.Records{Gates: []fleet.Gate{human, closed, timer, other}}
	about := func(kind fleet.Kind, name string) (fleet.Ask, bool) {
		return ledger.AskGate(all, fleet.Alert{Number: 7, AlertKey: fleet.AlertKey{Rule: "r", Subject: fleet.Subject{Kind: kind, Name: name}}})
	}
	for _, name := range []string{"g2", "g3", "g5"} {
		if ask, ok := about(fleet.KindGate, name); ok {
			t.Errorf("%s: %+v", name, ask)
		}
	}
	if ask, ok := about(fleet.KindWork, "g1"); ok {
		t.Errorf("work: %+v", ask)
	}
	ask, ok := about(fleet.KindGate, "g1")
	text := strings.Join(ask.Lines, "\n")
	if !ok || ask.Gate != "g1" || ask.Key() == "" || !strings.Contains(text, "#7: gate g1 waits") || !strings.Contains(text, "approve 7 closes it as passed, deny 7 as failed") || strings.Contains(text, "hunter2") {
		t.Errorf("%+v", ask)
	}
	if second, _ := about(fleet.KindGate, "g4"); second.Hash == ask.Hash {
		t.Error("another gate is the same ask")
	}
}
