package store

import (
	"context"
	"time"

	"custos/internal/fleet"
)

// How long a row of each response is kept, and how many: what was used on each day stays.
// Two million are a month of 200 agents at a response every four minutes, in some 400 MB.
const (
	keepUsage = 400 * 24 * time.Hour
	maxUsage  = 2_000_000
)

// usageTrimmed is the name under which it is written down before when no rows are kept: what a
// file repeats of that time was counted.
const usageTrimmed = "usage_trimmed"

// TrimUsage deletes the rows of responses that are older than keep (400 days when it is
// not positive) beside the newest, so that no clock that jumped ahead makes them old, and
// the oldest of more than most. Their sums stay. A cursor goes with the rows that its file
// can have told last.
func (s *Store) TrimUsage(ctx context.Context, at fleet.Instant, keep time.Duration, most int) error {
	if keep <= 0 {
		keep = keepUsage
	}
	if most <= 0 {
		most = maxUsage
	}
	before, err := s.usageToTrim(ctx, at, keep, most)
	if err != nil || before == "" {
		return failed("find what models used long ago", err)
	}
	for {
		var gone int64
		err := s.writeUnsynced(ctx, "trim what models used", func(t *tx) (err error) {
			gone, err = t.trimUsage(before)
			return err
		})
		if err != nil || gone < trimHooks {
			return err
		}
	}
}

// usageToTrim is the moment before which no row is kept; "" where all are.
func (s *Store) usageToTrim(ctx context.Context, at fleet.Instant, keep time.Duration, most int) (string, error) {
	var newest, many string
	err := s.r.QueryRowContext(ctx, `SELECT coalesce((SELECT wall FROM usage_rows ORDER BY wall DESC LIMIT 1), ''),
		coalesce((SELECT wall FROM usage_rows ORDER BY wall DESC LIMIT 1 OFFSET ?), '')`, most-1).Scan(&newest, &many)
	if err != nil || newest == "" {
		return "", err
	}
	last, err := time.Parse(time.RFC3339Nano, newest)
	if err != nil {
		return "", err
	}
	if at.Wall.Before(last) {
		last = at.Wall
	}
	return max(many, wall(last.Add(-keep))), nil
}

// trimUsage deletes some rows of before a moment, after it was written down that there
// are none of then.
func (t *tx) trimUsage(before string) (gone int64, err error) {
	trimmed, err := meta(t.ctx, t, usageTrimmed)
	if err != nil {
		return 0, err
	}
	if before > trimmed {
		if err := t.setMeta(usageTrimmed, before); err != nil {
			return 0, err
		}
	}
	gone, err = t.exec("DELETE FROM usage_rows WHERE rowid IN (SELECT rowid FROM usage_rows WHERE wall < ? ORDER BY wall LIMIT ?)", before, trimHooks)
	if err != nil {
		return gone, err
	}
	_, err = t.exec("DELETE FROM usage_cursors WHERE wall < ?", before)
	return gone, err
}
