package daemon

import (
	"context"
	"time"

	"custos/internal/fleet"
	"custos/internal/store"
)

// readEvery is how often it is written down what the machine is like, and readAgain how
// often it is asked whether it was seen since.
const (
	readEvery = time.Minute
	readAgain = 5 * time.Second
)

// keepReadings writes down what the machine is like, until ctx ends.
func (s *system) keepReadings(ctx context.Context) {
	var last fleet.Instant
	s.repeat(ctx, readAgain, "write down what the machine is like", func(ctx context.Context) error {
		host := s.board.Snapshot().Host
		if host.Status != fleet.StatusOK || !last.IsZero() && host.At.Since(last) < readEvery {
			return nil // what was not seen leaves a gap
		}
		st, err := s.ledger.writer(ctx)
		if err != nil {
			return err
		}
		last = host.At // what cannot be written now is a gap
		return st.KeepReading(ctx, host.Value.Read(host.At))
	})
}

// readings are those kept since a moment.
func (s *system) readings(ctx context.Context, since fleet.Instant) ([]fleet.Reading, error) {
	return recall(ctx, s.ledger, func(st *store.Store) ([]fleet.Reading, error) { return st.Readings(ctx, since.Wall) })
}
