package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"custos/internal/fleet"
)

// tx is one write transaction, at one instant.
type tx struct {
	*sql.Tx
	ctx    context.Context
	at     fleet.Instant
	mirror *mirror

	// What a turn tells of when alerts were last true: of those it writes the
	// numbers, of those it leaves as they are the moment too.
	written []int64
	left    map[int64]fleet.Instant
}

// write runs do in one transaction: all of it is on the disk when write returns
// nil, and nothing of it otherwise. A non-zero at is remembered as the newest
// instant when it is.
//
// One writer's turn lasts until the mirror knows what became of its rows. The
// connection is free before that: at the commit, and, of a caller that went away,
// at the moment it goes. The rows of the next one would be taken for this one's.
func (s *Store) write(ctx context.Context, what string, at fleet.Instant, do func(*tx) error) (err error) {
	defer func() { s.wrote(err) }()
	if s.w == nil {
		return failed(what, errReadOnly)
	}
	release, err := s.takeTurn(ctx)
	if err != nil {
		return failed(what, err)
	}
	defer release()
	return s.writeNow(ctx, what, at, do)
}

// writeNow is write for whose turn it is.
func (s *Store) writeNow(ctx context.Context, what string, at fleet.Instant, do func(*tx) error) error {
	inner, err := s.w.BeginTx(ctx, nil)
	if err != nil {
		return failed(what, err)
	}
	t := &tx{Tx: inner, ctx: ctx, at: at, mirror: s.mirror, left: map[int64]fleet.Instant{}}
	version, err := dataVersion(ctx, t)
	if err == nil {
		s.mirror.foreign(version)
		err = do(t)
	}
	if err == nil {
		err = t.advance(at)
	}
	var commits int64
	if err == nil {
		commits, err = t.count()
	}
	if err = s.mirror.settle(t, err); err == nil {
		s.mark.advance(commits)
	}
	return failed(what, err)
}

// wrote tells who asked to be told what became of a write.
func (s *Store) wrote(err error) {
	if s.opts.Wrote != nil {
		s.opts.Wrote(err)
	}
	s.met(err)
}

// met tells who asked to be told of a damaged database.
func (s *Store) met(err error) {
	if s.opts.Damaged != nil && errors.Is(err, ErrCorrupt) {
		s.opts.Damaged(err)
	}
}

// end commits, or takes back what failed with err.
func (t *tx) end(err error) error {
	if err == nil {
		err = t.Commit()
	}
	if err != nil {
		_ = t.Rollback()
	}
	return err
}

// exec runs one statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	res, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// advance moves the newest instant forward, never back.
func (t *tx) advance(at fleet.Instant) error {
	if at.IsZero() {
		return nil
	}
	newest, err := newest(t.ctx, t)
	if err != nil || !newest.IsZero() && !newest.Before(at) {
		return err
	}
	return t.setInstant("newest", at)
}

func (t *tx) setInstant(key string, at fleet.Instant) error {
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return t.setMeta(key, string(b))
}

func (t *tx) setMeta(key, value string) error {
	_, err := t.exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
	return err
}

// meta returns "" for a key that was never set.
func meta(ctx context.Context, q rower, key string) (value string, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// number returns 0 for a key that was never set or cannot be read.
func number(ctx context.Context, q rower, key string) (int64, error) {
	text, err := meta(ctx, q, key)
	if err != nil {
		return 0, err
	}
	n, bad := strconv.ParseInt(text, 10, 64)
	if bad != nil {
		return 0, nil
	}
	return n, nil
}

// newest is the instant of the newest record.
func newest(ctx context.Context, q rower) (fleet.Instant, error) { return instant(ctx, q, "newest") }

// instant returns the zero instant when it was never set or cannot be read.
func instant(ctx context.Context, q rower, key string) (at fleet.Instant, err error) {
	text, err := meta(ctx, q, key)
	if err != nil || text == "" {
		return at, err
	}
	if json.Unmarshal([]byte(text), &at) != nil {
		return fleet.Instant{}, nil
	}
	return at, nil
}

// wall is the text form of an instant that compares as the instant does.
func wall(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// stamp returns the values of the columns wall, boot, up.
func stamp(at fleet.Instant) []any { return []any{wall(at.Wall), at.Boot, int64(at.Up)} }

// row makes one list of arguments of values and lists of values.
func row(parts ...any) []any {
	var out []any
	for _, p := range parts {
		if list, ok := p.([]any); ok {
			out = append(out, list...)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// younger is the condition that a row's stamp lies less than d before at, by
// either clock: a wall clock that jumps ahead makes no record old.
func younger(at fleet.Instant, d time.Duration) (string, []any) {
	return "(wall > ? OR (boot = ? AND boot <> '' AND up > ?))",
		[]any{wall(at.Wall.Add(-d)), at.Boot, int64(at.Up) - int64(d)}
}

// encode writes a value of fleet for a json column.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("cannot write %T: %w", v, err)
	}
	return string(b), nil
}
