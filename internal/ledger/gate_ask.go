package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"custos/internal/fleet"
)

// AskGate is the ask for the gate that an alert is about, if that waits for a person's word:
// approve closes it as passed, deny as failed.
func AskGate(all fleet.Records, a fleet.Alert) (fleet.Ask, bool) {
	if a.Subject.Kind != fleet.KindGate {
		return fleet.Ask{}, false
	}
	g := Gate(all, a.Subject.Name)
	if g == nil || g.Over() || g.Type != fleet.GateHuman {
		return fleet.Ask{}, false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "gate %q %q %q", g.ID, g.Title, g.At.Wall))
	return fleet.Ask{Alert: a.AlertKey, Number: a.Number, Hash: hex.EncodeToString(sum[:8]), Gate: g.ID, Lines: []string{
		fleet.Redact(fleet.Text(fmt.Sprintf("#%d: gate %s waits for a person's word: %s", a.Number, g.ID, g.Title))),
		fmt.Sprintf("approve %d closes it as %s, deny %d as %s", a.Number, fleet.GatePassed, a.Number, fleet.GateFailed)}}, true
}
