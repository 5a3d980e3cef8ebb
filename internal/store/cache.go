package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// cache holds rows of one table, as they are in the database.
type cache[T any] struct {
	table, key string
	always     string                     // SQL: 1 for a row that counts whatever its age
	aged       bool                       // it has wall, boot and up
	extra      string                     // SQL: two texts beside json
	order      func(a, b *kept[T]) int    // of the list
	parse      func(*kept[T], text) error // nil: json is the value

	rows  map[int64]*kept[T]
	list  []*kept[T]     // rows in order; nil: to be sorted again
	dirty map[int64]bool // may be otherwise in the database

	counted []*kept[T] // what values returned last: shared, never changed
	shown   []T
}

// kept is one row. It is never changed, only replaced.
type kept[T any] struct {
	id     int64
	key    string
	always bool
	wall   string
	boot   string
	up     int64
	value  T
}

// text is what a row holds in words.
type text struct{ json, first, second string }

// load reads every row that counts at at.
func (s *cache[T]) load(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error {
	where, args := "WHERE "+s.always, []any(nil)
	if s.aged {
		young, values := younger(at, remembered)
		where, args = where+" OR "+young, values
	}
	s.rows, s.list = map[int64]*kept[T]{}, nil
	if err := s.read(ctx, q, bad, where, args); err != nil {
		return err
	}
	s.dirty = nil
	return nil
}

// most rows that one query asks for by name.
const askedAtOnce = 500

// refresh reads again the rows that were written since, and those of now, which
// are being written.
func (s *cache[T]) refresh(ctx context.Context, q querier, bad *[]badRow, now map[int64]bool) error {
	ids := s.dirty
	if len(now) > 0 {
		ids = maps.Clone(now)
		maps.Copy(ids, s.dirty)
	}
	if len(ids) == 0 {
		return nil
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(ids)), askedAtOnce) {
		var args []any
		for _, id := range some {
			args = append(args, id)
			delete(s.rows, id)
		}
		s.list = nil
		where := "WHERE rowid IN (?" + strings.Repeat(", ?", len(some)-1) + ")"
		if err := s.read(ctx, q, bad, where, args); err != nil {
			return err
		}
	}
	s.dirty = nil
	return nil
}

func (s *cache[T]) read(ctx context.Context, q querier, bad *[]badRow, where string, args []any) error {
	age := "'', '', 0"
	if s.aged {
		age = "wall, boot, up"
	}
	query := fmt.Sprintf("SELECT rowid, CAST(%s AS TEXT), %s, %s, json, %s FROM %s %s", s.key, s.always, age, s.extra, s.table, where)
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		k, in := &kept[T]{}, text{}
		if err := rows.Scan(&k.id, &k.key, &k.always, &k.wall, &k.boot, &k.up, &in.json, &in.first, &in.second); err != nil {
			return err
		}
		if err := s.parse(k, in); err != nil {
			*bad = append(*bad, badRow{s.table, s.key, k.key, err.Error(), in.json})
			continue
		}
		s.rows[k.id] = k
	}
	return rows.Err()
}

// sorted returns the rows in order. It is not to be changed.
func (s *cache[T]) sorted() []*kept[T] {
	if s.list == nil {
		s.list = slices.SortedFunc(maps.Values(s.rows), s.order)
	}
	return s.list
}

// values returns what is in the cache and counts at at, in order: the same list as
// before while nothing has changed, for most passes change little. Whoever appends to
// it appends to a copy.
func (s *cache[T]) values(at fleet.Instant) []T {
	counts := younglings(at)
	var now []*kept[T]
	for _, k := range s.sorted() {
		if k.always || counts(k.wall, k.boot, k.up) {
			now = append(now, k)
		}
	}
	if !slices.Equal(now, s.counted) {
		s.counted, s.shown = now, make([]T, len(now))
		for i, k := range now {
			s.shown[i] = k.value
		}
	}
	return slices.Clip(s.shown)
}

// younglings is younger, of remembered, for rows in memory.
func younglings(at fleet.Instant) func(wall, boot string, up int64) bool {
	_, args := younger(at, remembered)
	after, in, above := args[0].(string), args[1].(string), args[2].(int64)
	return func(wall, boot string, up int64) bool {
		return wall > after || boot == in && boot != "" && up > above
	}
}

func (s *cache[T]) of() string { return s.table }

func (s *cache[T]) spoil(ids map[int64]bool) {
	if s.dirty == nil {
		s.dirty = map[int64]bool{}
	}
	maps.Copy(s.dirty, ids)
}

// plain makes a cache of values that their json says in full, ordered by key.
func plain[T any](table, key, always string, aged bool) *cache[T] {
	return &cache[T]{table: table, key: key, always: always, aged: aged, extra: "'', ''",
		order: func(a, b *kept[T]) int { return strings.Compare(a.key, b.key) },
		parse: func(k *kept[T], in text) error { return json.Unmarshal([]byte(in.json), &k.value) }}
}

// sorted gives a cache another order.
func sorted[T any](order func(a, b *kept[T]) int, s *cache[T]) *cache[T] {
	s.order = order
	return s
}

// given is the order in which rows were written first.
func given[T any](a, b *kept[T]) int { return cmp.Compare(a.id, b.id) }

// alertsCache holds alerts with what people did to them.
func alertsCache() *cache[alertRow] {
	s := plain[alertRow]("alerts", "number", "open = 1", true)
	s.extra = "acked_by, acked_at"
	s.order = alertOrder
	s.parse = func(k *kept[alertRow], in text) error {
		k.value.ackedBy, k.value.ackedAt = in.first, in.second
		err := json.Unmarshal([]byte(in.json), &k.value.Alert)
		k.value.Number = k.id
		return err
	}
	return s
}

// alertOrder is by rule and subject; of one key, the alert that it is now comes
// last.
func alertOrder(a, b *kept[alertRow]) int {
	open := func(k *kept[alertRow]) int {
		if k.always {
			return 1
		}
		return 0
	}
	return cmp.Or(strings.Compare(a.value.Rule, b.value.Rule), strings.Compare(name(a.value.Subject), name(b.value.Subject)),
		open(a)-open(b), given(a, b))
}

func silenceOrder(a, b *kept[fleet.Silence]) int {
	return cmp.Or(strings.Compare(a.value.Rule, b.value.Rule), strings.Compare(name(a.value.Subject), name(b.value.Subject)))
}
