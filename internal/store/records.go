package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"custos/internal/fleet"
)

// record is what all records of coordination have in common.
type record[T any] interface {
	*T
	Over() bool
	Front() *fleet.Head
}

// recordKind says how the records of one kind are kept.
type recordKind struct{ table, prefix, event string }

var (
	workKind       = recordKind{"work", "w", "work"}
	dependencyKind = recordKind{"dependencies", "d", "dependency"}
	gateKind       = recordKind{"gates", "g", "gate"}
	convoyKind     = recordKind{"convoys", "c", "convoy"}
	mailKind       = recordKind{"mails", "m", "mail"}
	triggerKind    = recordKind{"triggers", "t", "trigger"}
	mergeKind      = recordKind{"merges", "mq", "merge"}
	groupKind      = recordKind{"merge_groups", "mg", "merge-group"}
	holdKind       = recordKind{"merge_holds", "mh", "merge-queue"}
)

// EditRecords changes records of coordination, in one transaction: edit is given
// all that count, and what it returns is written. An error of edit is returned,
// and nothing is written. What was written is returned, with its IDs; of what is
// new and has a known key, the record that there is.
func (s *Store) EditRecords(ctx context.Context, at fleet.Instant, edit func(fleet.Records) (fleet.Records, error)) (fleet.Records, error) {
	var out fleet.Records
	var bad []badRow
	var refusal error
	err := s.write(ctx, "change what is coordinated", at, func(t *tx) error {
		now, err := t.records(&bad)
		if err != nil {
			return err
		}
		changed, err := edit(now)
		if err != nil {
			refusal = err
			return err
		}
		out, err = t.putAll(changed)
		return err
	})
	s.moveAside(ctx, bad)
	if refusal != nil {
		return out, refusal // in the words of who knows why
	}
	return out, err
}

// records are those that count, as this transaction sees them.
func (t *tx) records(bad *[]badRow) (fleet.Records, error) {
	t.mirror.mu.Lock()
	defer t.mirror.mu.Unlock()
	if err := t.mirror.update(t.ctx, t, bad, t.at); err != nil {
		return fleet.Records{}, err
	}
	return t.mirror.records(t.at), nil
}

func putRecords(t *tx, turn fleet.Turn) error {
	_, err := t.putAll(turn.Plan.Records)
	return err
}

// putAll writes records, those that are about others last, and returns them as
// they are then.
func (t *tx) putAll(r fleet.Records) (out fleet.Records, err error) {
	put := func(list error) {
		if err == nil {
			err = list
		}
	}
	put(putEach(t, workKind, r.Work, &out.Work))
	put(putEach(t, dependencyKind, r.Dependencies, &out.Dependencies))
	put(putEach(t, gateKind, r.Gates, &out.Gates))
	put(putEach(t, convoyKind, r.Convoys, &out.Convoys))
	put(putEach(t, triggerKind, r.Triggers, &out.Triggers))
	put(putEach(t, mergeKind, r.Merges, &out.Merges))
	put(putEach(t, groupKind, r.MergeGroups, &out.MergeGroups))
	put(putEach(t, holdKind, r.MergeHolds, &out.MergeHolds))
	put(putEach(t, mailKind, r.Mails, &out.Mails))
	return out, err
}

func putEach[T any, P record[T]](t *tx, d recordKind, list []T, out *[]T) error {
	for _, v := range list {
		written, err := putRecord[T, P](t, d, v)
		if err != nil {
			return err
		}
		*out = append(*out, written)
	}
	return nil
}

// putRecord writes one record: a new one under the next number, unless its key is
// known; one that there is when its revision is the stored one.
func putRecord[T any, P record[T]](t *tx, d recordKind, v T) (T, error) {
	head := P(&v).Front()
	old, err := findRecord[T](t, d, head)
	if err != nil {
		return v, err
	}
	if old != nil && head.Revision == 0 {
		return *old, nil
	}
	if (old == nil) != (head.Revision == 0) || old != nil && P(old).Front().Revision != head.Revision {
		return v, fmt.Errorf("%s %s: %w", d.event, fleet.Line(head.ID, 80), ErrConflict)
	}
	if old == nil {
		if head.ID, err = t.nextID(d); err != nil {
			return v, err
		}
	}
	head.Revision++
	return v, saveRecord[T, P](t, d, v, old)
}

// findRecord returns the stored record that a head means: by its key when it is
// new, by its ID otherwise. One that is damaged is set aside now.
func findRecord[T any](t *tx, d recordKind, head *fleet.Head) (*T, error) {
	column, value := "id", head.ID
	if head.Revision == 0 {
		if column, value = "key", head.Key; value == "" {
			return nil, nil
		}
	}
	return oneRow[T](t, d.table, "id", column, value)
}

// oneRow returns the value whose column has a value, nil for one that is not known, or
// that was damaged and is set aside now by its key.
func oneRow[T any](t *tx, table, key, column, value string) (*T, error) {
	var id, text string
	err := t.QueryRowContext(t.ctx, fmt.Sprintf("SELECT %s, json FROM %s WHERE %s = ?", key, table, column), value).Scan(&id, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if bad := json.Unmarshal([]byte(text), v); bad != nil {
		return nil, t.moveAside(badRow{table, key, id, bad.Error(), text}, wall(t.at.Wall))
	}
	return v, nil
}

// nextID is the ID of the next record of a kind. It was never given before, also
// not to one that is deleted.
func (t *tx) nextID(d recordKind) (string, error) {
	var last int64
	err := t.QueryRowContext(t.ctx, "SELECT seq FROM sqlite_sequence WHERE name = ?", d.table).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	return fmt.Sprintf("%s%d", d.prefix, last+1), nil
}

func saveRecord[T any, P record[T]](t *tx, d recordKind, v T, old *T) error {
	p := P(&v)
	text, err := encode(v)
	if err != nil {
		return err
	}
	head := p.Front()
	if old == nil {
		_, err = t.exec(fmt.Sprintf("INSERT INTO %s (id, key, over, revision, wall, boot, up, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", d.table),
			row(head.ID, head.Key, p.Over(), head.Revision, stamp(t.at), text)...)
	} else { // an upsert would use up numbers
		_, err = t.exec(fmt.Sprintf("UPDATE %s SET over = ?, revision = ?, wall = ?, boot = ?, up = ?, json = ? WHERE id = ?", d.table),
			row(p.Over(), head.Revision, stamp(t.at), text, head.ID)...)
	}
	if err != nil {
		return err
	}
	was := any(nil)
	if old != nil {
		was = P(old)
	}
	if e, is := recordEvent(d, p, was); is {
		return t.event(e)
	}
	return nil
}

// Records lists records of coordination that count at at, as Past does.
func (s *Store) Records(ctx context.Context, at fleet.Instant) (out fleet.Records, err error) {
	err = s.reflect(ctx, "read what is coordinated", at, func(_ *sql.Tx, m *mirror) error {
		out = m.records(at)
		return nil
	})
	return out, err
}

// recordsCache holds records of one kind, in the order they were written down.
func recordsCache[T any](d recordKind, always string) *cache[T] {
	return sorted(given, plain[T](d.table, "id", always, true))
}

// records are those that count at at. mu is held.
func (m *mirror) records(at fleet.Instant) fleet.Records {
	return fleet.Records{
		Work:         on[fleet.WorkItem](m).values(at),
		Dependencies: on[fleet.Dependency](m).values(at),
		Gates:        on[fleet.Gate](m).values(at),
		Convoys:      on[fleet.Convoy](m).values(at),
		Mails:        on[fleet.Mail](m).values(at),
		Triggers:     on[fleet.Trigger](m).values(at),
		Merges:       on[fleet.MergeItem](m).values(at),
		MergeGroups:  on[fleet.MergeGroup](m).values(at),
		MergeHolds:   on[fleet.MergeHold](m).values(at),
	}
}
