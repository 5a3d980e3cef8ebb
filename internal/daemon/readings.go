package daemon

import (
	"context"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
)

// readEvery is how often it is written down what the machine is like.
const readEvery = time.Minute

// keepReadings writes down what the machine is like, until ctx ends.
func (s *system) keepReadings(ctx context.Context) {
	s.repeat(ctx, readEvery, "write down what the machine is like", func(ctx context.Context) error {
		host := s.board.Snapshot().Host
		if host.Status != fleet.StatusOK {
			return nil // what was not seen leaves a gap
		}
		st, err := s.ledger.writer(ctx)
		if err != nil {
			return err
		}
		return st.KeepReading(ctx, host.Value.Read(host.At))
	})
}

// readings are those kept since a moment.
func (s *system) readings(ctx context.Context, since fleet.Instant) ([]fleet.Reading, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Reading, error) { return st.Readings(ctx, since.Wall) })
}
