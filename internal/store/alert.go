package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"custos/internal/fleet"
)

// alertRow is an alert as it is stored: what passes write, and what people do.
type alertRow struct {
	fleet.Alert
	ackedBy, ackedAt string
}

const selectAlert = "SELECT number, json, acked_by, acked_at FROM alerts "

// putAlerts writes the alerts that changed.
func putAlerts(t *tx, turn fleet.Turn) error {
	open := t.mirror.open()
	for _, a := range turn.Assessment.Alerts {
		if old := open[a.AlertKey]; old != nil && unchanged(old, a) && !t.mirror.touched.has("alerts", old.id) {
			t.left[old.id] = a.LastTrue
			continue
		}
		if err := t.putAlert(a); err != nil {
			return fmt.Errorf("alert %s: %w", a.AlertKey, err)
		}
	}
	return nil
}

func (t *tx) putAlert(a fleet.Alert) error {
	old, err := t.oldAlert(a)
	if err != nil {
		return err
	}
	row := alertRow{Alert: a}
	if old == nil || old.Status == fleet.AlertResolved && a.Status != fleet.AlertResolved {
		err = row.setAck(a.AckedBy, a.AckedAt) // a new life: as the pass has it
	} else {
		row.ackedBy, row.ackedAt = old.ackedBy, old.ackedAt
	}
	if err != nil {
		return err
	}
	if row.Number, err = t.alertNumber(a, old); err != nil {
		return err
	}
	if err := t.saveAlert(row); err != nil {
		return err
	}
	t.written = append(t.written, row.Number)
	return t.alertEvents(old, row.Alert)
}

// oldAlert finds what the alert was before: the open one of its key, else the
// resolved one of its number. It returns nil for a new alert.
func (t *tx) oldAlert(a fleet.Alert) (*alertRow, error) {
	row, err := t.oneAlert(selectAlert+"WHERE rule = ? AND subject = ? AND open = 1", a.Rule, name(a.Subject))
	if row != nil || err != nil {
		return row, err
	}
	return t.oneAlert(selectAlert+"WHERE number = ? AND rule = ? AND subject = ?", a.Number, a.Rule, name(a.Subject))
}

// oneAlert returns nil when there is none; a damaged one is set aside, and is none.
func (t *tx) oneAlert(query string, args ...any) (*alertRow, error) {
	var n int64
	var text string
	var row alertRow
	err := t.QueryRowContext(t.ctx, query, args...).Scan(&n, &text, &row.ackedBy, &row.ackedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if bad := json.Unmarshal([]byte(text), &row.Alert); bad != nil {
		return nil, t.moveAside(badRow{"alerts", "number", strconv.FormatInt(n, 10), bad.Error(), text}, wall(t.at.Wall))
	}
	row.Number = n
	return &row, nil
}

// alertNumber is the old number, else the one the pass gave, else (another
// alert has that one) the next free one.
func (t *tx) alertNumber(a fleet.Alert, old *alertRow) (int64, error) {
	if old != nil {
		return old.Number, nil
	}
	next, err := nextAlert(t.ctx, t)
	if err != nil {
		return 0, err
	}
	n := a.Number
	if n < next {
		n = next
	}
	return n, t.setMeta("next_alert", strconv.FormatInt(n+1, 10))
}

// nextAlert is above every number ever given, those of trimmed alerts too.
func nextAlert(ctx context.Context, q rower) (int64, error) {
	next, err := number(ctx, q, "next_alert")
	if err != nil {
		return 0, err
	}
	var highest int64
	err = q.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM alerts").Scan(&highest)
	return max(next, highest+1, 1), err
}

func (t *tx) saveAlert(r alertRow) error {
	a := r.Alert
	a.AckedBy, a.AckedAt, a.SilencedBy, a.SilencedUntil = "", fleet.Instant{}, "", fleet.Instant{}
	open, age := a.Status != fleet.AlertResolved, a.LastTrue
	if !open {
		age = a.EndedAt
		if age.IsZero() {
			age = t.at
		}
	}
	_, err := t.put(line{table: "alerts", value: a, names: columns{{"number", a.Number}}, at: &age,
		first: columns{{"rule", a.Rule}, {"subject", name(a.Subject)}},
		now:   columns{{"open", open}, {"acked_by", r.ackedBy}, {"acked_at", r.ackedAt}}})
	return err
}

// alertEvents logs that an alert began to fire, or ended after it had fired.
// What was refused for an alert that ended is forgotten.
func (t *tx) alertEvents(old *alertRow, a fleet.Alert) error {
	was := fleet.AlertResolved
	if old != nil {
		was = old.Status
	}
	if a.Status == fleet.AlertResolved {
		if _, err := t.exec("DELETE FROM skips WHERE rule = ? AND alert = ?", a.Rule, name(a.Subject)); err != nil {
			return err
		}
	}
	if a.Status == was {
		return nil
	}
	e := fleet.Event{Alert: a.AlertKey, Subject: a.Subject, Text: string(a.Priority) + " " + a.Summary}
	switch a.Status {
	case fleet.AlertFiring:
		e.Kind = "alert.firing"
		return t.event(e)
	case fleet.AlertResolved:
		if was == fleet.AlertFiring {
			e.Kind = "alert.resolved"
			return t.event(e)
		}
	}
	return nil
}

func (r *alertRow) setAck(by string, at fleet.Instant) error {
	r.ackedBy, r.ackedAt = by, ""
	if at.IsZero() {
		return nil
	}
	text, err := encode(at)
	r.ackedAt = text
	return err
}

// alert is the alert as people and passes see it.
func (r alertRow) alert(silences []fleet.Silence) fleet.Alert {
	a := r.Alert
	a.AckedBy = r.ackedBy
	if r.ackedAt != "" && json.Unmarshal([]byte(r.ackedAt), &a.AckedAt) != nil {
		a.AckedAt = fleet.Instant{}
	}
	for _, s := range silences {
		if silencedBy(a.AlertKey, s) && (a.SilencedUntil.IsZero() || a.SilencedUntil.Before(s.Until)) {
			a.SilencedUntil, a.SilencedBy = s.Until, s.By
		}
	}
	return a
}

// Alerts lists the alerts that are not over, by number; all of them when all.
// A SilencedUntil may lie in the past: it is for the caller, who has the time,
// to say whether it holds.
func (s *Store) Alerts(ctx context.Context, all bool) ([]fleet.Alert, error) {
	if all || s.w == nil {
		return s.alerts(ctx, "list alerts", "WHERE open = 1 OR ? ORDER BY number", all)
	}
	var out []fleet.Alert
	err := s.reflect(ctx, "list alerts", s.mirror.asLoaded(), func(_ *sql.Tx, m *mirror) error {
		out = m.openAlerts()
		return nil
	})
	return out, err
}

// alert returns the alert of that number, or ErrNotFound.
func (s *Store) alert(ctx context.Context, number int64) (fleet.Alert, error) {
	what := fmt.Sprintf("show alert %d", number)
	out, err := s.alerts(ctx, what, "WHERE number = ?", number)
	if err == nil && len(out) == 0 {
		err = failed(what, ErrNotFound)
	}
	if err != nil {
		return fleet.Alert{}, err
	}
	return out[0], nil
}

// alerts reads alerts in the order of where.
func (s *Store) alerts(ctx context.Context, what, where string, args ...any) ([]fleet.Alert, error) {
	var bad []badRow
	silences, err := readSilences(ctx, s.r, &bad)
	if err != nil {
		return nil, failed(what, err)
	}
	cache := alertsCache()
	cache.rows, cache.order = map[int64]*kept[alertRow]{}, given
	if err := cache.read(ctx, s.r, &bad, where, args); err != nil {
		return nil, failed(what, err)
	}
	var out []fleet.Alert
	for _, k := range cache.sorted() {
		out = append(out, k.value.alert(silences))
	}
	s.moveAside(ctx, bad)
	return out, nil
}

// Acknowledge notes that by, a person, knows of the alert, and returns it. It
// fails with ErrNotFound, or with ErrEnded for one that is over. The first to
// acknowledge stays.
func (s *Store) Acknowledge(ctx context.Context, number int64, by string, at fleet.Instant) (fleet.Alert, error) {
	what := fmt.Sprintf("acknowledge alert %d", number)
	err := s.write(ctx, what, at, func(t *tx) error {
		r, err := t.oneAlert(selectAlert+"WHERE number = ?", number)
		switch {
		case err != nil:
			return err
		case r == nil:
			return ErrNotFound
		case r.Status == fleet.AlertResolved:
			return fmt.Errorf("it %w", ErrEnded)
		case r.ackedBy != "":
			return nil
		}
		if err := r.setAck(by, at); err != nil {
			return err
		}
		if err := t.saveAlert(*r); err != nil {
			return err
		}
		return t.event(fleet.Event{Kind: "ack", Alert: r.AlertKey, Subject: r.Subject, Text: "acknowledged by " + by})
	})
	if err != nil {
		return fleet.Alert{}, err
	}
	return s.alert(ctx, number)
}
