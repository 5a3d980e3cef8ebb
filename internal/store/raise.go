package store

import (
	"context"

	"custos/internal/fleet"
)

// Raise writes down that a person raised a budget, or ended what it was raised by: each
// record is a silence (fleet.Raise.Silence), which lies where silences lie.
func (s *Store) Raise(ctx context.Context, list []fleet.Silence, event fleet.Event) error {
	if len(list) == 0 {
		return nil
	}
	return s.write(ctx, "raise "+fleet.Line(event.Subject.String(), 80), list[0].From, func(t *tx) error {
		for _, q := range list {
			if err := t.putSilence(q); err != nil {
				return err
			}
		}
		return t.event(event)
	})
}
