package looks

import (
	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// mostWorkers is how many of a pool one host may have: more is no number of workers, and they are added up.
const mostWorkers = 10_000

// OfWorkers are the rows that Workers reads.
func OfWorkers() []string { return []string{rows.Heads, rows.Of(kindHost), rows.Of(kindWorkers)} }

// Workers are those that a host has for pools, as it told last, or why that is not known.
func Workers(h rows.Host) (out []fleet.PoolWorkers, why string) {
	a, seen := readRow(hostRow, h.Rows[hostRow]).v.(about)
	switch {
	case !seen:
		return nil, "it has told nothing of itself yet"
	case a.Why != "":
		return nil, "it cannot look at itself: " + fleet.Line(a.Why, 200)
	case h.Cut != nil || h.Odd > 0:
		return nil, "not all that it tells is told"
	}
	for key, value := range h.Rows {
		switch v := readRow(key, value).v.(type) {
		case fleet.PoolWorkers:
			v.Why = fleet.Line(v.Why, 200)
			out = append(out, v)
		case nil:
			return nil, "what it tells cannot be read here"
		}
	}
	return out, ""
}
