package control

import (
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Whoever lists what costs are added up by lists what they can be added up by.
func TestCostGroupsAreThoseThatThereAre(t *testing.T) {
	if got := api.CostGroups(); !slices.Equal(got, fleet.CostBys()) {
		t.Errorf("the API says %q, want %q", got, fleet.CostBys())
	}
}
