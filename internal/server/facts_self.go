package server

import (
	"fmt"

	"custos/internal/fleet"
)

func selfFacts(s *fleet.Snapshot) []string {
	if !s.Self.Usable() {
		return nil
	}
	v := s.Self.Value
	out := []string{
		"Last patrol ended: " + known(v.LastPatrolAge, func(d fleet.Duration) string { return leafSpan(fleet.Known(d)) + " ago" }),
		"Journal writable: " + leafBool(v.JournalWritable),
		"Store writable: " + leafBool(v.StoreWritable) + ", " + leafSize(v.StoreBytes),
	}
	if v.Amnesia {
		out = append(out, "The database had to be set aside: what was before is forgotten until a person confirms.")
	}
	if v.ClockBehind {
		out = append(out, "The clock is behind the newest record: actions that depend on time are withheld.")
	}
	return out
}

func landmarkFacts(l fleet.Landmark) []string {
	out := []string{fmt.Sprintf("%s for %s, mode %#o", thing(l.Is), l.What, l.Mode), "Others get at it: " + leafBool(l.Open)}
	if wrong, known := l.Hooks.Get(); known && wrong != "" {
		out = append(out, "Its hooks: "+wrong)
	}
	return append(out, owner(l.Owner))
}
