package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// model is what the store promises, in memory.
type model struct {
	now, newest  fleet.Instant
	patrolAt     fleet.Instant
	patrol, next int64
	alerts       map[int64]fleet.Alert
	actions      map[string]fleet.ActionRecord
	silences     map[fleet.AlertKey]fleet.Silence
	agents       map[string]fleet.AgentRecord
	outbox       map[string]*letter
	letters      int
}

type letter struct {
	fleet.Message
	state string
	when  fleet.Instant
	order int
}

// machine drives a store and the model with the same steps.
type machine struct {
	model
	path  string
	store *Store
}

func (m *machine) open(t *rapid.T) {
	s, err := Open(context.Background(), Options{Path: m.path, StartedAt: at(0), synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
}

// wrote notes a write that succeeded.
func (m *machine) wrote(when fleet.Instant) {
	if m.newest.IsZero() || m.newest.Before(when) {
		m.newest = when
	}
}

func (m *machine) young(when fleet.Instant, d time.Duration) bool {
	return when.Wall.After(m.now.Wall.Add(-d)) || when.Boot == m.now.Boot && when.Up > m.now.Up-fleet.Duration(d)
}

func TestStoreAgainstModel(t *testing.T) {
	fleettest.Checks(t, 30) // each opens a database of its own
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &machine{path: filepath.Join(dir, fmt.Sprint(n, ".db")), model: model{
			now: at(0), next: 1, alerts: map[int64]fleet.Alert{}, actions: map[string]fleet.ActionRecord{},
			silences: map[fleet.AlertKey]fleet.Silence{},
			agents:   map[string]fleet.AgentRecord{}, outbox: map[string]*letter{},
		}}
		m.open(t)
		defer func() { sameAsWritten(t, m.store); _ = m.store.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"": m.check, "time": m.time, "commit": m.commit, "acknowledge": m.acknowledge, "silence": m.silence,
			"start": m.start, "finish": m.finish, "deliver": m.deliver, "reopen": m.reopen, "trim": m.trim,
		})
	})
}

func (m *machine) time(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute)
	switch rapid.IntRange(0, 9).Draw(t, "clock") {
	case 0:
		m.now.Wall = m.now.Wall.AddDate(0, 0, 1)
	case 1:
		m.now.Wall = m.now.Wall.AddDate(0, 0, -1)
	case 2:
		m.now.Boot, m.now.Up = m.now.Boot+"'", fleet.Duration(time.Minute)
	}
}

func (m *machine) reopen(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *machine) trim(t *rapid.T) {
	if err := m.store.Trim(context.Background(), m.now); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(m.silences, func(_ fleet.AlertKey, q fleet.Silence) bool { return !m.young(q.Until, 24*time.Hour) })
	maps.DeleteFunc(m.agents, func(_ string, a fleet.AgentRecord) bool { return !m.young(a.LastSeen, keepEvents) })
	maps.DeleteFunc(m.outbox, func(_ string, l *letter) bool { return l.state != "due" && !m.young(l.when, keepEvents) })
}

func draw(t *rapid.T, label string, words ...string) string {
	return rapid.SampledFrom(words).Draw(t, label)
}

// commit makes a turn as a pass would, from the past.
func (m *machine) commit(t *rapid.T) {
	turn := fleet.Turn{At: m.now}
	if rapid.Bool().Draw(t, "patrol") {
		turn.Patrol = m.patrol + 1
	}
	for _, rule := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, rule) {
			m.drawAlert(t, &turn, key(rule, "x"))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "actions") {
		turn.Plan.Actions = append(turn.Plan.Actions, action(draw(t, "id", "a1", "a2", "a3", "a4", "a5")))
	}
	if rapid.Bool().Draw(t, "message") {
		turn.Outbox = append(turn.Outbox, fleet.Message{ID: draw(t, "id", "m1", "m2", "m3", "m4"),
			Priority: fleet.Priority(draw(t, "priority", "P0", "P2"))})
	}
	if rapid.Bool().Draw(t, "agent") {
		turn.Agents = append(turn.Agents, fleet.AgentRecord{Name: draw(t, "name", "dev", "review"), LastSeen: m.now})
	}
	if err := m.store.Commit(context.Background(), turn); err != nil {
		t.Fatal(err)
	}
	m.commitModel(turn)
}

// drawAlert moves the alert of k on, from a past that may lack what people did.
func (m *machine) drawAlert(t *rapid.T, turn *fleet.Turn, k fleet.AlertKey) {
	a := fleet.Alert{AlertKey: k, Since: m.now, LastTrue: m.now, Priority: fleet.P3,
		Status: fleet.AlertStatus(draw(t, "status", "pending", "firing", "resolved"))}
	if a.Status == fleet.AlertResolved {
		a.EndedAt = m.now
	}
	a.Number = m.next + int64(len(turn.Assessment.Alerts))
	for _, n := range slices.Sorted(maps.Keys(m.alerts)) {
		if old := m.alerts[n]; old.AlertKey == k && (old.Status != fleet.AlertResolved || rapid.Bool().Draw(t, "comes back")) {
			a.Number = n
		}
	}
	turn.Assessment.Alerts = append(turn.Assessment.Alerts, a)
}

func (m *machine) commitModel(turn fleet.Turn) {
	m.wrote(turn.At)
	if turn.Patrol > m.patrol {
		m.patrol, m.patrolAt = turn.Patrol, turn.At
	}
	for _, a := range turn.Assessment.Alerts {
		old, known := m.alerts[a.Number]
		for _, o := range m.alerts {
			if o.AlertKey == a.AlertKey && o.Status != fleet.AlertResolved {
				old, known = o, true
			}
		}
		if known {
			a.Number = old.Number
			if old.Status != fleet.AlertResolved || a.Status == fleet.AlertResolved {
				a.AckedBy, a.AckedAt = old.AckedBy, old.AckedAt
			}
		}
		m.alerts[a.Number] = a
		m.next = max(m.next, a.Number+1)
	}
	for _, a := range turn.Plan.Actions {
		if _, twice := m.actions[a.ID]; !twice {
			m.actions[a.ID] = fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: turn.At}
		}
	}
	for _, msg := range turn.Outbox {
		if m.outbox[msg.ID] == nil {
			m.letters++
			m.outbox[msg.ID] = &letter{msg, "due", turn.At, m.letters}
		}
	}
	for _, a := range turn.Agents {
		m.agents[a.Name] = a
	}
}

func (m *machine) acknowledge(t *rapid.T) {
	n := rapid.Int64Range(1, 5).Draw(t, "number")
	a, known := m.alerts[n]
	want := error(nil)
	switch {
	case !known:
		want = ErrNotFound
	case a.Status == fleet.AlertResolved:
		want = ErrEnded
	}
	if _, err := m.store.Acknowledge(context.Background(), n, "ann", m.now); !errors.Is(err, want) {
		t.Fatalf("acknowledge: %v, want %v", err, want)
	}
	if want != nil {
		return
	}
	m.wrote(m.now)
	if a.AckedBy == "" {
		a.AckedBy, a.AckedAt = "ann", m.now
		m.alerts[n] = a
	}
}

func (m *machine) silence(t *rapid.T) {
	q := fleet.Silence{Rule: draw(t, "rule", "", "a", "b"), By: "bob", From: m.now,
		Until: m.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "hours")) * time.Hour)}
	if err := m.store.Silence(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	m.wrote(m.now)
	m.silences[fleet.AlertKey{Rule: q.Rule}] = q
}

func (m *machine) start(t *rapid.T) {
	id := draw(t, "id", "a1", "a2", "a3", "a4", "a5")
	rec, known := m.actions[id]
	want := error(nil)
	switch {
	case !known:
		want = ErrNotFound
	case rec.Stage != fleet.StagePlanned:
		want = errNotPlanned
	}
	if err := m.store.Start(context.Background(), id, m.now); !errors.Is(err, want) {
		t.Fatalf("start: %v, want %v", err, want)
	}
	if want == nil {
		m.wrote(m.now)
		rec.Stage, rec.StartedAt = fleet.StageStarted, m.now
		m.actions[id] = rec
	}
}

func (m *machine) finish(t *rapid.T) {
	id := draw(t, "id", "a1", "a2", "a3", "a4", "a5")
	rec, known := m.actions[id]
	if !known {
		return
	}
	r := fleet.Result{ActionID: id, Status: fleet.ResultStatus(draw(t, "status", "done", "failed")), Ended: m.now}
	want := error(nil)
	if rec.Result != nil && rec.Result.Status != r.Status {
		want = ErrEnded
	}
	if err := m.store.Finish(context.Background(), r); !errors.Is(err, want) {
		t.Fatalf("finish: %v, want %v", err, want)
	}
	if want == nil {
		m.wrote(m.now)
	}
	if rec.Result == nil {
		rec.Stage, rec.Result = fleet.StageEnded, &r
		m.actions[id] = rec
	}
}

func (m *machine) deliver(t *rapid.T) {
	id := draw(t, "id", "m1", "m2", "m3", "m4")
	how := draw(t, "how", "sent", "given_up", "due")
	l, want := m.outbox[id], error(nil)
	switch {
	case l == nil:
		want = ErrNotFound
	case l.state != "due" && l.state != how:
		want = ErrEnded
	}
	var err error
	next := fleet.Instant{}
	switch how {
	case "sent":
		err = m.store.Sent(context.Background(), id, m.now)
	case "due":
		next = m.now.Add(time.Hour)
		fallthrough
	default:
		err = m.store.Failed(context.Background(), id, m.now, "why", next)
	}
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", how, err, want)
	}
	if want == nil {
		m.wrote(m.now)
		if how != "due" {
			next = m.now
		}
		if l.state == "due" {
			l.state, l.when = how, next
		}
	}
}

// check compares everything that can be read.
func (m *machine) check(t *rapid.T) {
	ctx := context.Background()
	p, err := m.store.Past(ctx, m.now)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(asJSON(m.past()), asJSON(p)); d != "" {
		t.Fatalf("past (- want, + got):\n%s", d)
	}
	due, err := m.store.Due(ctx, m.now, 100)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(m.due(), names(due)); d != "" {
		t.Fatalf("due (- want, + got):\n%s", d)
	}
	if aside, err := m.store.SetAside(ctx); err != nil || len(aside) > 0 {
		t.Fatalf("set aside: %v, %v", aside, err)
	}
}

func names(list []fleet.Message) (ids []string) {
	for _, msg := range list {
		ids = append(ids, msg.ID)
	}
	return ids
}

func (m *machine) due() []string {
	var list []*letter
	for _, l := range m.outbox {
		if l.state == "due" && (!l.when.Wall.After(m.now.Wall) || l.when.Boot == m.now.Boot && l.when.Up <= m.now.Up) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *letter) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.when.Wall.Compare(b.when.Wall), a.order-b.order)
	})
	var ids []string
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	return ids
}

func (m *machine) past() fleet.Past {
	p := fleet.Past{StartedAt: at(0), Newest: m.newest, Patrol: m.patrol, PatrolAt: m.patrolAt, NextAlert: m.next}
	latest := map[fleet.AlertKey]fleet.Alert{}
	for _, n := range slices.Sorted(maps.Keys(m.alerts)) {
		a := m.alerts[n]
		over := a.Status == fleet.AlertResolved
		if had, ok := latest[a.AlertKey]; over && (!m.young(a.EndedAt, remembered) || ok && had.Status != fleet.AlertResolved) {
			continue
		}
		latest[a.AlertKey] = m.silenced(a)
	}
	for _, k := range slices.SortedFunc(maps.Keys(latest), func(a, b fleet.AlertKey) int { return cmp.Compare(a.Rule, b.Rule) }) {
		p.Alerts = append(p.Alerts, latest[k])
	}
	for _, id := range slices.Sorted(maps.Keys(m.actions)) {
		if rec := m.actions[id]; rec.Open() || m.young(rec.Result.Ended, remembered) {
			p.Actions = append(p.Actions, rec)
		}
	}
	p.Silences = m.inForce()
	for _, n := range slices.Sorted(maps.Keys(m.agents)) {
		if m.young(m.agents[n].LastSeen, remembered) {
			p.Agents = append(p.Agents, m.agents[n])
		}
	}
	return p
}

func (m *machine) inForce() (list []fleet.Silence) {
	for _, rule := range []string{"", "a", "b"} {
		if q, ok := m.silences[fleet.AlertKey{Rule: rule}]; ok && q.From.Before(q.Until) && m.now.Before(q.Until) {
			list = append(list, q)
		}
	}
	return list
}

func (m *machine) silenced(a fleet.Alert) fleet.Alert {
	for _, q := range m.inForce() {
		if (q.Rule == "" || q.Rule == a.Rule) && (a.SilencedUntil.IsZero() || a.SilencedUntil.Before(q.Until)) {
			a.SilencedUntil, a.SilencedBy = q.Until, q.By
		}
	}
	return a
}
