package store

import (
	"context"
	"time"

	"custos/internal/fleet"
)

// TrimHooks deletes hook events that are older than keep (keepHooks when it is
// not positive) at a moment, and of the others the oldest, until at most max are
// left (maxHooks when it is not positive). The newest of each name of each
// source stays until it is older than keep itself. A wall clock that jumped
// ahead deletes nothing of this boot but by number.
func (s *Store) TrimHooks(ctx context.Context, at fleet.Instant, keep time.Duration, max int) error {
	if keep <= 0 {
		keep = keepHooks
	}
	if max <= 0 {
		max = maxHooks
	}
	old := wallNanos(fleet.Instant{Wall: at.Wall.Add(-keep)})
	oldUp := int64(at.Up) - int64(keep)
	for _, cut := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM hook_last WHERE (who, event) IN (SELECT who, event FROM hook_last
			WHERE wall < ? AND NOT (boot = ? AND boot <> '' AND up >= ?) LIMIT ?)`, []any{old, at.Boot, oldUp, trimHooks}},
		{`DELETE FROM hooks WHERE seq IN (SELECT h.seq FROM hooks h JOIN hook_sources s ON s.id = h.source
			WHERE h.wall < ? AND NOT (s.boot = ? AND s.boot <> '' AND h.up >= ?)
			AND h.seq NOT IN (SELECT seq FROM hook_last) ORDER BY h.wall LIMIT ?)`, []any{old, at.Boot, oldUp, trimHooks}},
		{`DELETE FROM hooks WHERE seq IN (SELECT seq FROM hooks
			WHERE seq <= (SELECT MAX(seq) FROM hooks) - ? AND seq NOT IN (SELECT seq FROM hook_last) ORDER BY seq LIMIT ?)`, []any{max, trimHooks}},
		{`DELETE FROM hook_sources WHERE id IN (SELECT id FROM hook_sources s
			WHERE NOT EXISTS (SELECT 1 FROM hooks h WHERE h.source = s.id) LIMIT ?)`, []any{trimHooks}},
	} {
		if err := s.trimAll(ctx, cut.query, cut.args); err != nil {
			return err
		}
	}
	return s.shrink(ctx)
}

// trimHooks is how many rows go in one transaction: more than of other tables,
// because these are small and many.
const trimHooks = 2000

func (s *Store) trimAll(ctx context.Context, query string, args []any) error {
	for {
		var gone int64
		err := s.writeUnsynced(ctx, "trim hook events", func(t *tx) (err error) {
			gone, err = t.exec(query, args...)
			return err
		})
		if err != nil || gone < trimHooks {
			return err
		}
	}
}
