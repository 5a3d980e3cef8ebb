package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// EventFilter keeps events that match every field that is set.
type EventFilter struct {
	Subject fleet.Subject // the event's own, or that of its alert
	Rule    string        // of its alert
	Action  string        // ID
	Kind    string
	Since   time.Time // by the wall clock; zero: whenever
}

// event appends to the log; a zero At is the transaction's.
func (t *tx) event(e fleet.Event) error {
	if e.At.IsZero() {
		e.At = t.at
	}
	// The id is taken first, so that the json holds it; AUTOINCREMENT sees to it
	// that none comes twice, even after the newest events were trimmed.
	const next = "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) + 1"
	if err := t.QueryRowContext(t.ctx, next).Scan(&e.ID); err != nil {
		return err
	}
	text, err := encode(e)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO events (id, wall, boot, up, kind, rule, alert, subject, action, json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, row(e.ID, stamp(e.At),
		e.Kind, e.Alert.Rule, name(e.Alert.Subject), name(e.Subject), e.Action, text)...)
	return err
}

// name is the key of a subject; "" for none.
func name(s fleet.Subject) string {
	if s == (fleet.Subject{}) {
		return ""
	}
	return s.String()
}

// Record appends one event to the log. Its ID is given by the store.
func (s *Store) Record(ctx context.Context, e fleet.Event) error {
	return s.write(ctx, "record event", e.At, func(t *tx) error { return t.event(e) })
}

// Events lists events with an ID above since, oldest first, at most limit
// (1000 when it is not positive).
func (s *Store) Events(ctx context.Context, since int64, limit int, f EventFilter) ([]fleet.Event, error) {
	where, args := f.sql()
	return s.events(ctx, "WHERE id > ?"+where+" ORDER BY id LIMIT ?", row(since, args, atMost(limit)))
}

// LastEvents lists the newest events, oldest first, at most limit (1000 when it
// is not positive).
func (s *Store) LastEvents(ctx context.Context, limit int, f EventFilter) ([]fleet.Event, error) {
	where, args := f.sql()
	found, err := s.events(ctx, "WHERE id > 0"+where+" ORDER BY id DESC LIMIT ?", row(args, atMost(limit)))
	slices.Reverse(found)
	return found, err
}

func atMost(limit int) int {
	if limit <= 0 {
		return 1000
	}
	return limit
}

func (s *Store) events(ctx context.Context, where string, args []any) ([]fleet.Event, error) {
	var bad []badRow
	found, err := collect[fleet.Event](ctx, s.r, &bad, source{table: "events", key: "id", where: where, args: args})
	if err != nil {
		return nil, failed("list events", err)
	}
	s.moveAside(ctx, bad)
	return found, nil
}

func (f EventFilter) sql() (string, []any) {
	var b strings.Builder
	var args []any
	add := func(cond string, v ...any) {
		b.WriteString(" AND " + cond)
		args = append(args, v...)
	}
	if f.Subject != (fleet.Subject{}) {
		add("(subject = ? OR alert = ?)", name(f.Subject), name(f.Subject))
	}
	if f.Rule != "" {
		add("rule = ?", f.Rule)
	}
	if f.Action != "" {
		add("action = ?", f.Action)
	}
	if f.Kind != "" {
		add("kind = ?", f.Kind)
	}
	if !f.Since.IsZero() {
		add("wall >= ?", wall(f.Since))
	}
	return b.String(), args
}
