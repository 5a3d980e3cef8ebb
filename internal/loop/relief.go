package loop

import (
	"slices"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// relieve adds what follows from hand-offs and pools: agents that take another
// one's place, and workers that are wanted or are not needed any more.
func (e *errand) relieve(p fleet.Pass, records []fleet.Registration) []fleet.Registration {
	relief := ledger.Relieve(p.Past, p.Snapshot, p.Policy, p.Plan, records)
	e.given, e.until = append(e.given, relief.Given...), append(e.until, relief.Until)
	staffing := ledger.Staff(p.Past, p.Snapshot, p.Policy, ledger.Waiting(p.Snapshot, p.Policy.Pools))
	e.given = append(e.given, staffing.Given...)
	e.wake = e.wake || len(relief.Given)+len(staffing.Given) > 0
	return merge(relief.Registrations, staffing.Registrations)
}

// merge adds registrations to those that a pass changes already. One that is in
// both is left to the next pass: two changes are not one.
func merge(records, more []fleet.Registration) []fleet.Registration {
	for _, r := range more {
		if !slices.ContainsFunc(records, func(s fleet.Registration) bool { return s.Name == r.Name }) {
			records = append(records, r)
		}
	}
	return records
}
