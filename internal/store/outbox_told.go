package store

import (
	"context"

	"custos/internal/fleet"
)

// toldKey is where it is kept what a receiver of messages was told: one value for
// each of a handful of receivers, in the words of package report.
func toldKey(to string) string { return "told/" + to }

// Told returns what was kept last of what a receiver was told; nothing for a new one.
func (s *Store) Told(ctx context.Context, to string) ([]byte, error) {
	text, err := meta(ctx, s.r, toldKey(to))
	if err != nil {
		return nil, failed("recall what "+fleet.Line(to, 80)+" was told", err)
	}
	return []byte(text), nil
}

// Keep keeps what a receiver was told.
func (s *Store) Keep(ctx context.Context, to string, told []byte, at fleet.Instant) error {
	return s.write(ctx, "keep what "+fleet.Line(to, 80)+" was told", at, func(t *tx) error {
		return t.setMeta(toldKey(to), string(told))
	})
}
