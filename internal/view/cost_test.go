package view

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// How many places of a fault there are beside those that are named is a lower bound where
// those of very many are not all kept.
func TestPlacesOfAFault(t *testing.T) {
	for _, c := range []struct {
		fault fleet.UsageFault
		want  string
	}{
		{fleet.UsageFault{Key: "a"}, "a"},
		{fleet.UsageFault{Key: "a", More: strings.Fields("b c d")}, "a, b, c, d"},
		{fleet.UsageFault{Key: "a", More: strings.Fields("b c d e f")}, "a, b, c, d and 2 more"},
		{fleet.UsageFault{Key: "a", More: strings.Fields("b c d e f"), AtLeast: true}, "a, b, c, d and at least 2 more"},
	} {
		if got := Costs(nil, []fleet.UsageFault{c.fault}, fleet.Instant{}, "day").Faults[0].Places(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.fault, got, c.want)
		}
	}
}
