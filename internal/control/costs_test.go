package control

import (
	"slices"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// A day that is still to come is no moment to look back to; today is.
func TestCostsSinceADayToComeAreRefused(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 24, 13, 0, 0, 0, time.UTC)}
	for text, ok := range map[string]bool{"2026-11-24": true, "2026-11-25": false, "2999-01-01": false, "1h": true, "900d": true, "9000d": true, "9999999999d": false, "-1d": false} {
		if since, err := sinceOf(text, now); (err == nil) != ok || ok && since.Wall.After(now.Wall) {
			t.Errorf("%s: %v, %v", text, since, err)
		}
	}
}

// Whoever lists what costs are added up by lists what they can be added up by.
func TestCostGroupsAreThoseThatThereAre(t *testing.T) {
	if got := api.CostGroups(); !slices.Equal(got, fleet.CostBys()) {
		t.Errorf("the API says %q, want %q", got, fleet.CostBys())
	}
}
