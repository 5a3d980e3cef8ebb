package daemon

import (
	"context"

	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// records is the book of coordination as the server's port wants it.
type records struct{ s *system }

var _ control.Records = records{}

// Records lists what counts now, and what it means.
func (r records) Records(ctx context.Context) (fleet.Records, fleet.Coordination, error) {
	at := r.s.world.Now()
	past, err := r.s.recall(ctx)
	if err != nil {
		return fleet.Records{}, fleet.Coordination{}, err
	}
	snap := snapAt(r.s.board.Snapshot(), at)
	snap.Holds = r.s.holds(past, snap)
	return past.Records, ledger.Facts(past, snap).Value, nil
}

// Work lists work, in whichever tracker it is kept.
func (r records) Work(ctx context.Context, refs ...fleet.Ref) ([]fleet.WorkFacts, error) {
	at := r.s.world.Now()
	past, err := r.s.recall(ctx)
	if err != nil {
		return nil, err
	}
	snap := snapAt(r.s.board.Snapshot(), at)
	if len(refs) > 0 {
		return ledger.WorkOf(past, snap, refs), nil
	}
	return ledger.AllWork(past, snap), nil
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
