package store

import (
	"context"
	"time"

	"custos/internal/fleet"
)

// KeepReading writes down what the machine is like.
func (s *Store) KeepReading(ctx context.Context, r fleet.Reading) error {
	return s.write(ctx, "keep a reading", r.At, func(t *tx) error {
		text, err := encode(r)
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO readings (wall, boot, up, json) VALUES (?, ?, ?, ?)", row(stamp(r.At), text)...)
		return err
	})
}

// Readings lists those since a moment of the wall clock, oldest first.
func (s *Store) Readings(ctx context.Context, since time.Time) ([]fleet.Reading, error) {
	return list[fleet.Reading](ctx, s, "list readings", source{table: "readings", key: "rowid", where: "WHERE wall >= ? ORDER BY wall, rowid", args: []any{wall(since)}})
}
