package store

import (
	"context"
	"fmt"

	"custos/internal/fleet"
)

// HasMessage says whether a message of that ID was written down, whatever became
// of it: what it answers was acted on.
func (s *Store) HasMessage(ctx context.Context, id string) (has bool, err error) {
	err = s.r.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM outbox WHERE id = ?", id).Scan(&has)
	if err != nil {
		return false, failed("look for message "+fleet.Line(id, 80), err)
	}
	return has, nil
}

// CountEvents counts the events of a kind about one action, by its ID.
func (s *Store) CountEvents(ctx context.Context, kind, action string) (n int, err error) {
	err = s.r.QueryRowContext(ctx, "SELECT COUNT(*) FROM events WHERE action = ? AND kind = ?", action, kind).Scan(&n)
	if err != nil {
		return 0, failed(fmt.Sprintf("count events %q of %s", kind, fleet.Line(action, 80)), err)
	}
	return n, nil
}
