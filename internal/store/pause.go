package store

import (
	"context"

	"custos/internal/fleet"
)

// Pause writes down that a person paused a project, or resumed it: the record is
// a silence (fleet.PauseProject), which lies where silences lie.
func (s *Store) Pause(ctx context.Context, q fleet.Silence) error {
	kind, text := "project.resumed", "resumed by "+q.By
	if q.From.Before(q.Until) {
		kind, text = "project.paused", "paused by "+q.By
	}
	return s.write(ctx, "pause "+fleet.Line(q.Subject.String(), 80), q.From, func(t *tx) error {
		if err := t.putSilence(q); err != nil {
			return err
		}
		return t.event(fleet.Event{Kind: kind, Subject: q.Subject, Text: withWhy(text, q.Why)})
	})
}
