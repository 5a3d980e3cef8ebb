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
	c := f.after(since)
	return s.events(ctx, c.where()+" ORDER BY id LIMIT ?", append(c.args, atMost(limit)))
}

// LastEvents lists the newest events, oldest first, at most limit (1000 when it
// is not positive).
func (s *Store) LastEvents(ctx context.Context, limit int, f EventFilter) ([]fleet.Event, error) {
	c := f.after(0)
	found, err := s.events(ctx, c.where()+" ORDER BY id DESC LIMIT ?", append(c.args, atMost(limit)))
	slices.Reverse(found)
	return found, err
}

// conditions are what the rows of a list have to meet; none: every row.
type conditions struct {
	texts []string
	args  []any
}

// when adds a condition, with what stands for its ?, where it is asked for.
func (c *conditions) when(asked bool, text string, args ...any) {
	if asked {
		c.texts, c.args = append(c.texts, text), append(c.args, args...)
	}
}

// where is the clause.
func (c *conditions) where() string {
	if len(c.texts) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.texts, " AND ")
}

func atMost(limit int) int {
	if limit <= 0 {
		return 1000
	}
	return limit
}

func (s *Store) events(ctx context.Context, where string, args []any) ([]fleet.Event, error) {
	return list[fleet.Event](ctx, s, "list events", source{table: "events", key: "id", where: where, args: args})
}

// after are the conditions of those that match, with an ID above since.
func (f EventFilter) after(since int64) (c conditions) {
	c.when(true, "id > ?", since)
	c.when(f.Subject != (fleet.Subject{}), "(subject = ? OR alert = ?)", name(f.Subject), name(f.Subject))
	c.when(f.Rule != "", "rule = ?", f.Rule)
	c.when(f.Action != "", "action = ?", f.Action)
	c.when(f.Kind != "", "kind = ?", f.Kind)
	c.when(!f.Since.IsZero(), "wall >= ?", wall(f.Since))
	return c
}
