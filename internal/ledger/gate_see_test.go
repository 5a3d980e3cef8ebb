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
		g := &fleet.Gate{From: named, By: "ann"}
		asked := w.writers(g)
		for _, by := range all {
			if slices.Contains(asked, by) != isWriter(g, by) {
				t.Errorf("a gate that names %q: %q is asked %t", named, by, !isWriter(g, by))
			}
		}
	}
}

// Who waits for a person's own word, or for Custos', does not go on at that of an agent of the name.
func TestAnAgentsNameIsNoPersonsWord(t *testing.T) {
	for _, c := range []struct {
		from, by, writer string
		passes           bool
	}{
		{"ann", "ann", "ann", true}, {"ann", "ann", "agent/ann", false}, {"agent/ann", "ann", "agent/ann", true}, {"builder", "ann", "agent/builder", true},
		{"overseer", "ann", "agent/overseer", false}, {"overseer", "ann", "ann", true}, {"custos", "ann", "agent/custos", false}, {"custos", "ann", fleet.ByCustos, true},
	} {
		if got := isWriter(&fleet.Gate{From: c.from, By: c.by}, c.writer); got != c.passes {
			t.Errorf("a gate by %s from %s, written by %s: %t", c.by, c.from, c.writer, got)
		}
	}
}
