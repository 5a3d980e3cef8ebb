package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"custos/internal/fleet"
)

// mirror keeps in memory what Past reads, so that a pass reads only the rows
// that were written since the pass before it, and writes only the alerts that
// changed. It is filled from the database alone, never from what somebody meant
// to write.
type mirror struct {
	mu      sync.Mutex // held while it is read, and while a transaction is made good
	touched touched    // by the transaction that is being written
	stale   atomic.Bool
	version atomic.Int64 // of the database, as its writing connection sees those of others
	loaded  fleet.Instant
	audit   atomic.Pointer[Audit] // the last one; nil: there was none yet
	inPlace inPlace

	caches []anyCache // always in the same order, so that what is set aside is told in one
	tables map[string]bool
	lasts  time.Duration // how long it goes on before it is compared and read anew

	// lastTrue is when alerts were last true, by number, where it is all that
	// changed: it is written down now and then, not each pass.
	lastTrue map[int64]fleet.Instant
}

// reload is how long the mirror goes on at most before it is compared with the
// database and read anew, so that what is too old to count does not stay in memory.
const reload = time.Hour

// caches lists what is mirrored: a table is in the mirror by standing here.
func caches() []anyCache {
	return []anyCache{
		alertsCache(),
		plain[fleet.ActionRecord]("actions", "id", "stage <> 'ended'", true),
		sorted(silenceOrder, plain[fleet.Silence]("silences", "rowid", "1", false)),
		plain[fleet.AgentRecord]("agents", "name", "0", true),
		sorted(given, plain[fleet.AccountQuota]("quotas", "rowid", "1", true)),
		plain[fleet.Registration]("registrations", "name", "retired = 0", true),
		sorted(given, plain[fleet.Order]("orders", "id", "(over = 0 OR id GLOB 'pool-*' OR id GLOB 'relieve-*')", false)),
		sorted(given, plain[fleet.Skipped]("skips", "rowid", "1", false)),
		runsCache(),
		sorted(given, plain[fleet.Verdict]("verdicts", "id", "0", true)),
		recordsCache[fleet.WorkItem](workKind, "1"),
		recordsCache[fleet.Dependency](dependencyKind, "1"),
		recordsCache[fleet.Gate](gateKind, "1"),
		recordsCache[fleet.Convoy](convoyKind, "1"),
		recordsCache[fleet.Mail](mailKind, "over = 0"),
		recordsCache[fleet.Trigger](triggerKind, "0"),
		recordsCache[fleet.MergeItem](mergeKind, "1"),
		recordsCache[fleet.MergeGroup](groupKind, "1"),
		recordsCache[fleet.MergeHold](holdKind, "1"),
	}
}

func newMirror() *mirror {
	m := &mirror{lasts: reload, lastTrue: map[int64]fleet.Instant{}, caches: caches(), tables: map[string]bool{}}
	for _, cache := range m.caches {
		m.tables[cache.of()] = true
	}
	m.stale.Store(true)
	return m
}

// anyCache is what all caches have in common.
type anyCache interface {
	of() (table string)
	load(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error
	refresh(ctx context.Context, q querier, bad *[]badRow, now map[int64]bool) error
	spoil(ids map[int64]bool)
	differ(written anyCache, at fleet.Instant) []string
}

// on is the cache of the table whose rows are each a T.
func on[T any](m *mirror) *cache[T] {
	for _, any := range m.caches {
		if s, ok := any.(*cache[T]); ok {
			return s
		}
	}
	panic(fmt.Sprintf("no table in the mirror holds %T", *new(T)))
}

// update brings the mirror up to what q sees. mu is held, from before q began to
// see.
func (m *mirror) update(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error {
	if m.stale.Swap(false) || m.jumped(at) {
		return m.sure(m.load(ctx, q, bad, at))
	}
	for _, cache := range m.caches {
		if err := cache.refresh(ctx, q, bad, m.touched.peek(cache.of())); err != nil {
			return m.sure(err)
		}
	}
	if !m.outlived(at) {
		return nil
	}
	found, err := m.differences(ctx, q, at)
	if err != nil {
		return m.sure(err)
	}
	m.audit.Store(&Audit{At: at, Differences: found})
	return m.sure(m.load(ctx, q, bad, at))
}

// sure notes that after an error nothing is certain.
func (m *mirror) sure(err error) error {
	if err != nil {
		m.stale.Store(true)
	}
	return err
}

func (m *mirror) load(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error {
	for _, cache := range m.caches {
		if err := cache.load(ctx, q, bad, at); err != nil {
			return err
		}
	}
	m.loaded = at
	maps.DeleteFunc(m.lastTrue, func(number int64, _ fleet.Instant) bool { return on[alertRow](m).rows[number] == nil })
	return nil
}

// jumped says whether rows may count at at that did not when the mirror was loaded.
func (m *mirror) jumped(at fleet.Instant) bool {
	return at.Boot != m.loaded.Boot || at.Wall.Before(m.loaded.Wall) || at.Up < m.loaded.Up
}

// outlived says whether rows may be kept that have not counted for long.
func (m *mirror) outlived(at fleet.Instant) bool {
	return at.Since(m.loaded) > m.lasts || at.Wall.Sub(m.loaded.Wall) > m.lasts
}

// settle ends a transaction that may have failed, so that no reader of the
// mirror sees it otherwise than whole. What was touched is read again by the
// next reader.
func (m *mirror) settle(t *tx, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = t.end(err)
	taken := m.touched.take()
	for _, cache := range m.caches {
		if ids := taken[cache.of()]; len(ids) > 0 {
			cache.spoil(ids)
		}
	}
	if err != nil {
		return err
	}
	for _, number := range t.written {
		delete(m.lastTrue, number)
	}
	maps.Copy(m.lastTrue, t.left)
	return nil
}

// foreign notes the version of the database. Another process that wrote to it
// broke the rule of the one writer; it is seen all the same.
func (m *mirror) foreign(version int64) {
	if m.version.Swap(version) != version {
		m.stale.Store(true)
	}
}

// open returns the open alerts that are for certain as the mirror has them.
func (m *mirror) open() map[fleet.AlertKey]*kept[alertRow] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stale.Load() {
		return nil
	}
	alerts := on[alertRow](m)
	out := make(map[fleet.AlertKey]*kept[alertRow], len(alerts.rows))
	for id, k := range alerts.rows {
		if k.always && !alerts.dirty[id] {
			out[k.value.AlertKey] = k
		}
	}
	return out
}

// wish names what is wished for and refused.
type wish struct {
	do      string
	subject fleet.Subject
	alert   fleet.AlertKey
}

// refused returns the refusals that are for certain as the mirror has them.
func (m *mirror) refused() map[wish]*kept[fleet.Skipped] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stale.Load() {
		return nil
	}
	skips := on[fleet.Skipped](m)
	out := make(map[wish]*kept[fleet.Skipped], len(skips.rows))
	for id, k := range skips.rows {
		if !skips.dirty[id] {
			out[wish{k.value.Do, k.value.Subject, k.value.For}] = k
		}
	}
	return out
}

// writeTrue is how old the moment at which an alert was last true may become in
// the database: a Custos that is killed forgets no more. Alerts differ by up to
// as much again, so that not all are written by one pass.
const writeTrue = time.Minute

// unchanged says whether a tells nothing that is worth writing over old.
func unchanged(old *kept[alertRow], a fleet.Alert) bool {
	was := old.value.Alert
	age := a.LastTrue.Since(was.LastTrue)
	if age < 0 || age >= writeTrue+time.Duration(old.id%60)*time.Second {
		return false
	}
	return reflect.DeepEqual(content(was, old.id), content(a, old.id))
}

// content is an alert without what a pass does not decide.
func content(a fleet.Alert, number int64) fleet.Alert {
	a.Number, a.LastTrue = number, fleet.Instant{}
	a.AckedBy, a.AckedAt, a.SilencedBy, a.SilencedUntil = "", fleet.Instant{}, "", fleet.Instant{}
	return a
}

// untold returns the moments that were not written down yet, by the number of
// their alert.
func (m *mirror) untold() map[int64]fleet.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.lastTrue)
}

// asLoaded is the instant at which the mirror needs not be loaded anew.
func (m *mirror) asLoaded() fleet.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded
}

// openAlerts lists the open alerts by number. mu is held.
func (m *mirror) openAlerts() (out []fleet.Alert) {
	var silences []fleet.Silence
	for _, s := range on[fleet.Silence](m).values(m.loaded) {
		if s.From.Before(s.Until) {
			silences = append(silences, s)
		}
	}
	for _, k := range on[alertRow](m).sorted() {
		if k.always {
			out = append(out, m.current(k.value).alert(silences))
		}
	}
	slices.SortFunc(out, func(a, b fleet.Alert) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// current returns an alert as it is now.
func (m *mirror) current(r alertRow) alertRow {
	if at, ok := m.lastTrue[r.Number]; ok && r.Status != fleet.AlertResolved && r.LastTrue.Before(at) {
		r.LastTrue = at
	}
	return r
}

// flush writes down what only the mirror knows.
func (s *Store) flush(ctx context.Context) error {
	seen := s.mirror.untold()
	if s.w == nil || len(seen) == 0 {
		return nil
	}
	return s.write(ctx, "write down when alerts were last true", fleet.Instant{}, func(t *tx) error {
		for number, at := range seen {
			r, err := t.oneAlert(selectAlert+"WHERE number = ? AND open = 1", number)
			if err != nil {
				return err
			}
			if r == nil || !r.LastTrue.Before(at) {
				continue
			}
			r.LastTrue = at
			if err := t.saveAlert(*r); err != nil {
				return err
			}
		}
		return nil
	})
}

// dataVersion changes when another process writes to the database.
func dataVersion(ctx context.Context, q rower) (v int64, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA data_version").Scan(&v)
	return v, err
}
