package daemon

import (
	"context"

	"custos/internal/control"
	"custos/internal/fleet"
)

// records is the records of coordination as the server's port wants it.
type records struct{ s *system }

var _ control.Records = records{}

// Seen is what is remembered, and what was seen.
func (r records) Seen(ctx context.Context) (fleet.Past, fleet.Snapshot, error) {
	at := r.s.world.Now()
	past, err := r.s.recall(ctx)
	if err != nil {
		return fleet.Past{}, fleet.Snapshot{}, err
	}
	snap := snapAt(r.s.board.Snapshot(), at)
	r.s.holds(past, &snap)
	return past, snap, nil
}

// snapAt is a snapshot as of now: ages of records are told from it.
func snapAt(s fleet.Snapshot, at fleet.Instant) fleet.Snapshot {
	s.At = at
	return s
}

// Edit changes records, and has one pass go on from there. What is written down is
// not lost when the pass cannot be made: the next one goes on.
func (r records) Edit(ctx context.Context, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	if err := r.s.begin(ctx); err != nil {
		return fleet.Records{}, err
	}
	st, err := r.s.ledger.writer(ctx)
	if err != nil {
		return fleet.Records{}, err
	}
	out, err := st.EditRecords(ctx, r.s.world.Now(), edit)
	if err != nil {
		return out, err
	}
	if r.s.daemon {
		r.s.wake("what is coordinated changed")
	}
	return out, nil
}
