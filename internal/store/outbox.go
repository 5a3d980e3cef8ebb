package store

import (
	"context"
	"fmt"

	"custos/internal/fleet"
)

// Due lists at most limit messages that are to be delivered at at, the most
// urgent and then the oldest first.
func (s *Store) Due(ctx context.Context, at fleet.Instant, limit int) ([]fleet.Message, error) {
	var bad []badRow
	out, err := collect[fleet.Message](ctx, s.r, &bad, source{
		table: "outbox", key: "id",
		where: `WHERE state = 'due' AND (wall <= ? OR (boot = ? AND boot <> '' AND up <= ?))
			ORDER BY priority, wall, rowid LIMIT ?`,
		args: []any{wall(at.Wall), at.Boot, int64(at.Up), limit},
	})
	if err != nil {
		return nil, failed("list messages to send", err)
	}
	s.moveAside(ctx, bad)
	return out, nil
}

// Sent strikes a message off: it was delivered.
func (s *Store) Sent(ctx context.Context, id string, at fleet.Instant) error {
	return s.message(ctx, "note that message "+id+" was sent", id, at, "sent", at, "")
}

// Failed puts a message off until next, with why it was not delivered; a zero
// next gives it up.
func (s *Store) Failed(ctx context.Context, id string, at fleet.Instant, why string, next fleet.Instant) error {
	state, when := "due", next
	if next.IsZero() {
		state, when = "given_up", at
	}
	return s.message(ctx, "note that message "+id+" was not sent", id, at, state, when, why)
}

func (s *Store) message(ctx context.Context, what, id string, at fleet.Instant, state string, when fleet.Instant, why string) error {
	return s.write(ctx, what, at, func(t *tx) error {
		n, err := t.exec(`UPDATE outbox SET state = ?, wall = ?, boot = ?, up = ?, tries = tries + 1, why = ?
			WHERE id = ? AND state = 'due'`, row(state, stamp(when), why, id)...)
		if err != nil || n > 0 {
			return err
		}
		return t.overAlready(id, state)
	})
}

// overAlready tells a message that is over, which may be struck off twice, from
// one that does not exist.
func (t *tx) overAlready(id, want string) error {
	var state string
	if err := t.QueryRowContext(t.ctx, "SELECT COALESCE(MAX(state), '') FROM outbox WHERE id = ?", id).Scan(&state); err != nil {
		return err
	}
	switch state {
	case "":
		return ErrNotFound
	case want:
		return nil
	}
	return fmt.Errorf("it %w as %s", ErrEnded, state)
}
