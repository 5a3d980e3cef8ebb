package decide

import (
	"testing"

	"custos/internal/fleet"
)

// What Custos hands out is configured, as runs are: it is asked for in any mode, and not charged to the fleet's budget. What
// an agent slings is that agent's wish, and a person's sling a person's word.
func TestHandingOutIsConfigured(t *testing.T) {
	for _, c := range []struct {
		id, by string
		want   bool
	}{{"sling-w1-2", fleet.ByCustos, true}, {"relieve-builder-w1-261129-0200", fleet.ByCustos, true}, {"sling-w1-2", "agent/lead", false},
		{"sling-w1-2", "ann", false}, {"pool-x-1", fleet.ByCustos, false}} {
		r := &request{order: &fleet.Order{ID: c.id, By: c.by}, wish: &fleet.Wish{Do: "spawn"}}
		if r.isConfigured() != c.want {
			t.Errorf("%s by %s: configured %v", c.id, c.by, !c.want)
		}
		a := &fleet.Action{Do: "spawn", Order: c.id, By: c.by}
		if charged := isCharged(a); charged != (!c.want && c.by != "ann") {
			t.Errorf("%s by %s: charged %v", c.id, c.by, charged)
		}
	}
}
