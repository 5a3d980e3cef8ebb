package store

import (
	"context"

	"custos/internal/fleet"
)

// mostFaults is how many faults of a database are told.
const mostFaults = 10

// Check reads every page and index of the database, which takes about a second for
// 100 MB, and returns what is wrong: nothing for one that is whole. quickCheck, at
// each Open, leaves the indexes out.
func (s *Store) Check(ctx context.Context) (faults []string, err error) {
	const what = "check the database"
	rows, err := s.r.QueryContext(ctx, "PRAGMA integrity_check(10)")
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	for rows.Next() {
		var says string
		if err := rows.Scan(&says); err != nil {
			return nil, failed(what, err)
		}
		if says != "ok" && len(faults) < mostFaults {
			faults = append(faults, fleet.Line(says, 200))
		}
	}
	return faults, failed(what, rows.Err())
}
