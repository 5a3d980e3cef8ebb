package looks

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/hub/rows"
)

// mostWorkers is how many of a pool one host may have: more is no number of workers, and they are added up.
const mostWorkers = 10_000

// mostAccounts is of how many accounts of a pool one host may tell.
const mostAccounts = 100

// OfWorkers are the rows that Workers reads.
func OfWorkers() []string { return []string{rows.Heads, rows.Of(kindHost)} }

// Workers are those that a host has for pools, as it told last, or why that is not known.
func Workers(h rows.Host) (out []fleet.PoolWorkers, why string) {
	a, seen := readRow(hostRow, h.Rows[hostRow]).v.(about)
	switch {
	case !seen:
		return nil, "it has told nothing of itself that can be read here"
	case a.Workers == nil && a.Why != "":
		return nil, "it cannot look at itself: " + fleet.Line(a.Why, 200)
	}
	for _, w := range a.Workers {
		if w.Free < 0 || w.Free > w.Present || w.Present > mostWorkers || slices.ContainsFunc(out, func(x fleet.PoolWorkers) bool { return x.Pool == w.Pool }) {
			return nil, "what it tells of them is no number of workers"
		}
		if len(w.Limits) > mostAccounts {
			return nil, "what it tells of them is no number of accounts"
		}
		for i := range w.Limits {
			w.Limits[i].Account = fleet.Line(w.Limits[i].Account, 80)
		}
		w.Why = fleet.Line(w.Why, 200)
		out = append(out, w)
	}
	return out, ""
}
