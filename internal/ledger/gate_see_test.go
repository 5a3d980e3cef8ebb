package ledger

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

// TestWritersOfAGate: who is asked for by name is everybody on record who is meant.
func TestWritersOfAGate(t *testing.T) {
	all := []string{"ann", "agent/ann", "agent/agent/ann", fleet.ByCustos, fleet.ByAgent(ownName), ownName, fleet.Overseer, "agent/overseer", "person:ann", "agent/"}
	w := GateWatch{mails: map[string][]int{}}
	for i, by := range all {
		w.mails[by] = []int{i}
	}
	for _, named := range append(all, "") {
		asked := w.writers(named)
		for _, by := range all {
			if slices.Contains(asked, by) != isWriter(named, by) {
				t.Errorf("a gate that names %q: %q is asked %t", named, by, !isWriter(named, by))
			}
		}
	}
}
