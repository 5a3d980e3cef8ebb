package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"custos/internal/fleet"
)

// badRow is a row met while reading.
type badRow struct{ table, keyColumn, key, why, json string }

type querier interface {
	rower
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// source says which rows of which table to read.
type source struct {
	table, key string // key is the column that names a row
	where      string // the rest of the query, from WHERE on
	args       []any
}

// collect reads the json column of the rows. Those that cannot be read are left
// out and added to bad.
func collect[T any](ctx context.Context, q querier, bad *[]badRow, src source) ([]T, error) {
	query := fmt.Sprintf("SELECT CAST(%s AS TEXT), json FROM %s %s", src.key, src.table, src.where)
	rows, err := q.QueryContext(ctx, query, src.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var key, text string
		if err := rows.Scan(&key, &text); err != nil {
			return nil, err
		}
		var v T
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			*bad = append(*bad, badRow{src.table, src.key, key, err.Error(), text})
			continue
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// list collects rows for who asks from outside: those that cannot be read are set aside.
func list[T any](ctx context.Context, s *Store, what string, src source) ([]T, error) {
	var bad []badRow
	out, err := collect[T](ctx, s.r, &bad, src)
	if err != nil {
		return nil, failed(what, err)
	}
	s.moveAside(ctx, bad)
	return out, nil
}

// moveAside moves rows out of the way. It is done as well as can be: where the
// disk is full or the store is read only, they stay, and it is kept in mind which.
func (s *Store) moveAside(ctx context.Context, bad []badRow) {
	if len(bad) == 0 {
		return
	}
	err := s.write(ctx, "set a damaged row aside", fleet.Instant{}, func(t *tx) error {
		for _, b := range bad {
			if err := t.moveAside(b, wall(s.opts.Now())); err != nil {
				return err
			}
		}
		return nil
	})
	s.mirror.inPlace.note(bad, err != nil)
}

// inPlace are the rows that can neither be read nor set aside: each is left out
// wherever it is met, and lost to whoever asks what was set aside.
type inPlace struct {
	mu   sync.Mutex
	rows map[placed]bool
}

// placed is where a row is.
type placed struct{ table, key string }

// note keeps in mind that rows stay in their place, or that they do not.
func (p *inPlace) note(bad []badRow, stay bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rows == nil {
		p.rows = map[placed]bool{}
	}
	for _, b := range bad {
		if at := (placed{b.table, b.key}); stay {
			p.rows[at] = true
		} else {
			delete(p.rows, at)
		}
	}
}

// count is how many there are.
func (p *inPlace) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.rows)
}

// alerts are the numbers of those that are alerts.
func (p *inPlace) alerts() (out []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.rows {
		if n, err := strconv.ParseInt(at.key, 10, 64); at.table == "alerts" && err == nil {
			out = append(out, n)
		}
	}
	return out
}

func (t *tx) moveAside(b badRow, now string) error {
	if b.table == "runs" {
		if err := t.moveStepsAside(b, now); err != nil {
			return err
		}
	}
	query := fmt.Sprintf("DELETE FROM %s WHERE CAST(%s AS TEXT) = ? AND json = ?", b.table, b.keyColumn)
	n, err := t.exec(query, b.key, b.json)
	if err != nil || n == 0 {
		return err
	}
	if _, err = t.exec("INSERT INTO set_aside (wall, what, key, why, json) VALUES (?, ?, ?, ?, ?)",
		now, b.table, b.key, b.why, b.json); err == nil {
		t.mirror.inPlace.note([]badRow{b}, false)
	}
	return err
}

// SetAsideSince counts the rows that could not be read since a moment, and those that
// could not be set aside either.
func (s *Store) SetAsideSince(ctx context.Context, since time.Time) (n int, err error) {
	err = s.r.QueryRowContext(ctx, "SELECT COUNT(*) FROM set_aside WHERE wall > ?", wall(since)).Scan(&n)
	return n + s.mirror.inPlace.count(), failed("count what was set aside", err)
}

// alertsAside are the numbers of the alerts that could not be read since a moment,
// wherever they are now.
func (s *Store) alertsAside(ctx context.Context, since time.Time) (out []int64, err error) {
	rows, err := s.r.QueryContext(ctx, "SELECT CAST(key AS INTEGER) FROM set_aside WHERE what = 'alerts' AND wall > ?", wall(since))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	out = append(out, s.mirror.inPlace.alerts()...)
	slices.Sort(out)
	return slices.Compact(out), rows.Err()
}

// forget writes down that what was known before is lost.
func (s *Store) forget(ctx context.Context, aside string) error {
	return s.write(ctx, "note the loss of the old database", fleet.Instant{}, func(t *tx) error {
		return t.setMeta("amnesia", "the database was damaged, and lies in "+aside)
	})
}

// Lost says what became of what was known before; "" while it is there, and when a
// person has seen that it is not.
func (s *Store) Lost(ctx context.Context) (string, error) {
	why, err := meta(ctx, s.r, "amnesia")
	return why, failed("read whether the past is there", err)
}

// ConfirmAmnesia ends the amnesia that a damaged database left behind: by, a
// person, has seen that what was known before is lost.
func (s *Store) ConfirmAmnesia(ctx context.Context, by string, at fleet.Instant) error {
	return s.write(ctx, "confirm the loss of the old database", at, func(t *tx) error {
		if _, err := t.exec("DELETE FROM meta WHERE key = 'amnesia'"); err != nil {
			return err
		}
		return t.event(fleet.Event{Kind: "amnesia.confirmed", Text: "confirmed by " + by})
	})
}
