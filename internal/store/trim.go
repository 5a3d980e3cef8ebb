package store

import (
	"context"
	"fmt"
	"time"

	"custos/internal/fleet"
)

// How long what is over is kept. KeepRecords is also how long the folder of an instance
// of an agent is kept after its end.
const (
	keepEvents   = 7 * 24 * time.Hour
	KeepRecords  = 30 * 24 * time.Hour // ended actions, resolved alerts, undelivered messages
	keepReadings = 48 * time.Hour      // one a minute: below a megabyte
	keepVerdicts = 90 * 24 * time.Hour // they are receipts
	maxEvents    = 200_000             // however young: some 60 MB
	maxRuns      = 5000                // that are over, however young
	trimBatch    = 500                 // rows in one transaction, so that a commit never waits long
)

// bin says which rows of a table may go.
type bin struct {
	table string
	where string // beside being old; "" for all
	keep  time.Duration
}

func bins() []bin {
	return []bin{
		{"events", "", keepEvents},
		{"actions", "stage = 'ended'", KeepRecords},
		{"alerts", "open = 0", KeepRecords},
		{"outbox", "state <> 'due'", keepEvents},
		{"outbox", "state = 'due'", KeepRecords},
		{"silences", "", 24 * time.Hour},
		{"agents", "", keepEvents},
		{"quotas", "", KeepRecords},
		{"readings", "", keepReadings},
		{"orders", "over = 1", KeepRecords},
		{"registrations", "retired = 1", KeepRecords},
		{"failures", "", KeepRecords},
		{"runs", "over = 1 AND newest = 0", KeepRecords},
		{"verdicts", "", keepVerdicts},
		{"work", "over = 1", KeepRecords},
		{"dependencies", "over = 1", KeepRecords},
		{"gates", "over = 1", KeepRecords},
		{"convoys", "over = 1", KeepRecords},
		{"mails", "over = 1", KeepRecords},
		{"triggers", "over = 1", KeepRecords},
		{"merges", "over = 1", KeepRecords},
		{"merge_groups", "over = 1", KeepRecords},
	}
}

// Trim deletes what is older than it is kept, in small transactions, and gives
// the room back to the disk. What is not over is never deleted; a wall clock
// that jumped ahead deletes nothing of this boot.
func (s *Store) Trim(ctx context.Context, at fleet.Instant) error {
	for _, b := range bins() {
		young, args := younger(at, b.keep)
		where := "NOT " + young
		if b.where != "" {
			where = b.where + " AND " + where
		}
		if err := s.trim(ctx, b.table, where, args...); err != nil {
			return err
		}
	}
	if err := s.trim(ctx, "events", "id <= (SELECT MAX(id) FROM events) - ?", maxEvents); err != nil {
		return err
	}
	if err := s.trim(ctx, "runs", "over = 1 AND newest = 0 AND seq <= (SELECT seq FROM runs WHERE over = 1 ORDER BY seq DESC LIMIT 1 OFFSET ?)", maxRuns); err != nil {
		return err
	}
	if err := s.trim(ctx, "set_aside", "wall < ?", wall(at.Wall.Add(-KeepRecords))); err != nil {
		return err
	}
	return s.shrink(ctx)
}

func (s *Store) trim(ctx context.Context, table, where string, args ...any) error {
	query := fmt.Sprintf("DELETE FROM %[1]s WHERE rowid IN (SELECT rowid FROM %[1]s WHERE %[2]s LIMIT %[3]d)", table, where, trimBatch)
	for {
		var gone int64
		err := s.write(ctx, "trim "+table, fleet.Instant{}, func(t *tx) (err error) {
			gone, err = t.exec(query, args...)
			return err
		})
		if err != nil || gone < trimBatch {
			return err
		}
	}
}

// shrink returns free pages to the disk, and starts the write-ahead log over.
func (s *Store) shrink(ctx context.Context) error {
	release, err := s.takeTurn(ctx)
	if err != nil {
		return failed("give room back", err)
	}
	defer release()
	for _, pragma := range []string{"incremental_vacuum(1000)", "wal_checkpoint(TRUNCATE)"} {
		rows, err := s.w.QueryContext(ctx, "PRAGMA "+pragma)
		if err != nil {
			return failed("give room back", err)
		}
		for rows.Next() { // the pragma works as it is stepped through
		}
		if err := rows.Close(); err != nil {
			return failed("give room back", err)
		}
	}
	return nil
}
