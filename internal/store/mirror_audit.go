package store

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"

	"custos/internal/fleet"
)

// Audit is what a comparison of what is in memory with the database found. A
// difference is a fault of Custos: what it judged by was not what is written.
type Audit struct {
	At          fleet.Instant
	Differences []string // "orders o1: open in memory, …"; none when all is well
}

// mostDifferences is how many rows of one table are told by name.
const mostDifferences = 5

// Audited returns the last of the regular comparisons; nil before the first.
func (s *Store) Audited() *Audit { return s.mirror.audit.Load() }

// Compare compares what a pass would read at at with the database, now.
func (s *Store) Compare(ctx context.Context, at fleet.Instant) (found []string, err error) {
	err = s.reflect(ctx, "compare memory with the database", at, func(q *sql.Tx, m *mirror) (err error) {
		found, err = m.differences(ctx, q, at)
		return err
	})
	return found, err
}

// differences lists how the mirror, which is up to what q sees, is otherwise than
// one that is loaded now. mu is held.
func (m *mirror) differences(ctx context.Context, q querier, at fleet.Instant) (out []string, err error) {
	var bad []badRow // those that are damaged are in neither
	for i, whole := range caches() {
		if err := whole.load(ctx, q, &bad, at); err != nil {
			return nil, err
		}
		out = append(out, m.caches[i].differ(whole, at)...)
	}
	return out, nil
}

// differ lists the rows that count at at and are otherwise in the cache than in
// written, which was loaded at at.
func (s *cache[T]) differ(written anyCache, at fleet.Instant) (out []string) {
	truth, counts := written.(*cache[T]).rows, younglings(at)
	say := func(k *kept[T], how string) {
		out = append(out, fmt.Sprintf("%s %s: %s", s.table, fleet.Line(k.key, 80), how))
	}
	for id, k := range truth {
		switch mine := s.rows[id]; {
		case mine == nil:
			say(k, "written, and not in memory")
		case !reflect.DeepEqual(mine, k):
			say(k, "otherwise in memory than written")
		}
	}
	for id, k := range s.rows {
		if truth[id] == nil && (k.always || counts(k.wall, k.boot, k.up)) {
			say(k, "in memory, and not written")
		}
	}
	for i, k := range s.counted {
		if !reflect.DeepEqual(s.shown[i], k.value) {
			say(k, "changed by one it was shown to")
		}
	}
	slices.Sort(out)
	if more := len(out) - mostDifferences; more > 0 {
		out = append(out[:mostDifferences], fmt.Sprintf("%s: %d more", s.table, more))
	}
	return out
}
