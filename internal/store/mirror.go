package store

import (
	"cmp"
	"context"
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

	alerts        shelf[alertRow]
	actions       shelf[fleet.ActionRecord]
	silences      shelf[fleet.Silence]
	stopped       shelf[fleet.Subject]
	agents        shelf[fleet.AgentRecord]
	registrations shelf[fleet.Registration]
	orders        shelf[fleet.Order]
	skips         shelf[fleet.Skipped]
	runs          shelf[fleet.Run]
	verdicts      shelf[fleet.Verdict]
	work          shelf[fleet.WorkItem]
	dependencies  shelf[fleet.Dependency]
	gates         shelf[fleet.Gate]
	convoys       shelf[fleet.Convoy]
	mails         shelf[fleet.Mail]
	triggers      shelf[fleet.Trigger]

	// lastTrue is when alerts were last true, by number, where it is all that
	// changed: it is written down now and then, not each pass.
	lastTrue map[int64]fleet.Instant
}

// reload is how long the mirror goes on before it is read anew, so that what is
// too old to count does not stay in memory.
const reload = time.Hour

func newMirror() *mirror {
	m := &mirror{lastTrue: map[int64]fleet.Instant{},
		alerts:        alertsShelf(),
		actions:       plain[fleet.ActionRecord]("actions", "id", "stage <> 'ended'", true),
		silences:      plain[fleet.Silence]("silences", "rowid", "1", false),
		stopped:       plain[fleet.Subject]("stopped", "subject", "1", false),
		agents:        plain[fleet.AgentRecord]("agents", "name", "0", true),
		registrations: plain[fleet.Registration]("registrations", "name", "retired = 0", true),
		orders:        plain[fleet.Order]("orders", "id", "over = 0", false),
		skips:         plain[fleet.Skipped]("skips", "rowid", "1", false),
		runs:          runsShelf(),
		verdicts:      plain[fleet.Verdict]("verdicts", "id", "0", true),
		work:          recordsShelf[fleet.WorkItem](workDrawer, "1"),
		dependencies:  recordsShelf[fleet.Dependency](dependencyDrawer, "1"),
		gates:         recordsShelf[fleet.Gate](gateDrawer, "1"),
		convoys:       recordsShelf[fleet.Convoy](convoyDrawer, "1"),
		mails:         recordsShelf[fleet.Mail](mailDrawer, "over = 0"),
		triggers:      recordsShelf[fleet.Trigger](triggerDrawer, "0"),
	}
	m.silences.order, m.orders.order, m.skips.order, m.verdicts.order = silenceOrder, given, given, given
	m.stale.Store(true)
	return m
}

// anyShelf is what all shelves have in common.
type anyShelf interface {
	load(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error
	refresh(ctx context.Context, q querier, bad *[]badRow, now map[int64]bool) error
	spoil(ids map[int64]bool)
}

// named is a shelf and the table it holds rows of.
type named struct {
	table string
	anyShelf
}

// shelves are always in the same order, so that what is set aside is told in one.
func (m *mirror) shelves() []named {
	return []named{{"alerts", &m.alerts}, {"actions", &m.actions}, {"silences", &m.silences}, {"stopped", &m.stopped},
		{"agents", &m.agents}, {"registrations", &m.registrations}, {"orders", &m.orders}, {"skips", &m.skips},
		{"runs", &m.runs}, {"verdicts", &m.verdicts}, {"work", &m.work}, {"dependencies", &m.dependencies},
		{"gates", &m.gates}, {"convoys", &m.convoys}, {"mails", &m.mails}, {"triggers", &m.triggers}}
}

// mirrored says whether a table is in the mirror.
func mirrored(table string) bool {
	switch table {
	case "alerts", "actions", "silences", "stopped", "agents", "registrations", "orders", "skips", "runs", "verdicts",
		"work", "dependencies", "gates", "convoys", "mails", "triggers":
		return true
	}
	return false
}

// update brings the mirror up to what q sees. mu is held, from before q began to
// see.
func (m *mirror) update(ctx context.Context, q querier, bad *[]badRow, at fleet.Instant) error {
	whole := m.stale.Swap(false) || m.outlived(at)
	for _, shelf := range m.shelves() {
		var err error
		if whole {
			err = shelf.load(ctx, q, bad, at)
		} else {
			err = shelf.refresh(ctx, q, bad, m.touched.peek(shelf.table))
		}
		if err != nil {
			m.stale.Store(true)
			return err
		}
	}
	if whole {
		m.loaded = at
		maps.DeleteFunc(m.lastTrue, func(number int64, _ fleet.Instant) bool { return m.alerts.rows[number] == nil })
	}
	return nil
}

// outlived says whether rows may count at at that did not when the mirror was
// loaded, or are kept that have not counted for long.
func (m *mirror) outlived(at fleet.Instant) bool {
	return at.Boot != m.loaded.Boot || at.Wall.Before(m.loaded.Wall) || at.Up < m.loaded.Up ||
		at.Since(m.loaded) > reload || at.Wall.Sub(m.loaded.Wall) > reload
}

// settle ends a transaction that may have failed, so that no reader of the
// mirror sees it otherwise than whole. What was touched is read again by the
// next reader.
func (m *mirror) settle(t *tx, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = t.end(err)
	taken := m.touched.take()
	for _, shelf := range m.shelves() {
		if ids := taken[shelf.table]; len(ids) > 0 {
			shelf.spoil(ids)
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
	out := make(map[fleet.AlertKey]*kept[alertRow], len(m.alerts.rows))
	for id, k := range m.alerts.rows {
		if k.always && !m.alerts.dirty[id] {
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
	out := make(map[wish]*kept[fleet.Skipped], len(m.skips.rows))
	for id, k := range m.skips.rows {
		if !m.skips.dirty[id] {
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
	for _, s := range m.silences.values(m.loaded) {
		if s.From.Before(s.Until) {
			silences = append(silences, s)
		}
	}
	for _, k := range m.alerts.sorted() {
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
