package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/fleet"
)

var epoch = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// at is the instant d after the epoch, in boot b.
func at(d time.Duration) fleet.Instant {
	return fleet.Instant{Wall: epoch.Add(d), Up: fleet.Duration(100*24*time.Hour + d), Boot: "b"}
}

func subject(n string) fleet.Subject { return fleet.Subject{Kind: fleet.KindLog, Name: n} }

func key(rule, n string) fleet.AlertKey { return fleet.AlertKey{Rule: rule, Subject: subject(n)} }

func alert(n int64, k fleet.AlertKey, status fleet.AlertStatus, when fleet.Instant) fleet.Alert {
	a := fleet.Alert{AlertKey: k, Number: n, Status: status, Priority: fleet.P2, Summary: "it is big", Since: when, LastTrue: when}
	if status == fleet.AlertResolved {
		a.EndedAt = when
	}
	return a
}

func action(id string) fleet.Action {
	return fleet.Action{ID: id, Do: "rotate-log", Subject: subject("x"), For: key("log-large", "x"), Priority: fleet.P4, Why: "it is big", Attempt: 1,
		Target: fleet.Target{Log: &fleet.Log{Path: "/x"}}}
}

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{Path: path, StartedAt: at(0), Now: func() time.Time { return epoch }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sameAsWritten(t, s); _ = s.Close() })
	return s
}

// sameAsWritten holds what is in memory against the database. Where the test has
// damaged the database or closed it there is nothing to hold against.
func sameAsWritten(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Store) {
	t.Helper()
	s.mirror.mu.Lock()
	now := s.mirror.loaded
	s.mirror.mu.Unlock()
	if now.IsZero() {
		return
	}
	if found, err := s.Compare(context.Background(), now); err == nil && len(found) > 0 {
		t.Fatalf("in memory is not what is written:\n%s", strings.Join(found, "\n"))
	}
}

func fresh(t *testing.T) *Store {
	t.Helper()
	return opened(t, filepath.Join(t.TempDir(), "state", "cus tos?#%.db"))
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if !strings.HasPrefix(err.Error(), "cannot ") {
		t.Errorf("%q does not say what cannot be done", err)
	}
}

func past(t *testing.T, s *Store, when fleet.Instant) fleet.Past {
	t.Helper()
	p, err := s.Past(context.Background(), when)
	ok(t, err)
	return p
}

func kinds(t *testing.T, s *Store, f EventFilter) string {
	t.Helper()
	list, err := s.Events(context.Background(), 0, 0, f)
	ok(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Kind)
	}
	return strings.Join(out, " ")
}

func alertTurn(when fleet.Instant, list ...fleet.Alert) fleet.Turn {
	return fleet.Turn{At: when, Assessment: fleet.Assessment{Alerts: list}}
}

func TestTurnSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	turn := fleet.Turn{
		At: at(time.Minute), Patrol: 7,
		Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert(1, key("log-large", "x"), fleet.AlertFiring, at(0))}},
		Plan: fleet.Plan{Actions: []fleet.Action{action("a1")},
			Skipped: []fleet.Skipped{{Action: action("a2"), Guard: fleet.GuardMode, Why: "observe"}}},
		Agents: []fleet.AgentRecord{{Name: "dev", Kind: "claude", LastSeen: at(time.Minute), Since: at(0)}},
		Outbox: []fleet.Message{{ID: "m1", At: at(time.Minute), Priority: fleet.P2, Subject: "big"}},
	}
	for range 2 { // a turn committed twice is committed once
		ok(t, s.Commit(t.Context(), turn))
	}
	silence := fleet.Silence{Rule: "y", By: "ann", From: at(2 * time.Minute), Until: at(time.Hour)}
	ok(t, s.Silence(t.Context(), silence))
	before := past(t, s, at(3*time.Minute))
	ok(t, s.Close())
	s = opened(t, path)
	after := past(t, s, at(3*time.Minute))
	if d := cmp.Diff(asJSON(before), asJSON(after)); d != "" {
		t.Errorf("reopening changed the past:\n%s", d)
	}
	want := fleet.Past{StartedAt: at(0), Newest: at(2 * time.Minute), Patrol: 7, PatrolAt: at(time.Minute), NextAlert: 2,
		Alerts:   turn.Assessment.Alerts,
		Actions:  []fleet.ActionRecord{{Action: action("a1"), Stage: fleet.StagePlanned, PlannedAt: turn.At}},
		Silences: []fleet.Silence{silence}, Agents: turn.Agents}
	if d := cmp.Diff(asJSON(want), asJSON(after)); d != "" {
		t.Errorf("past:\n%s", d)
	}
	if got := kinds(t, s, EventFilter{}); got != "alert.firing action.planned action.skipped patrol silence" {
		t.Errorf("events %s", got)
	}
	if got := kinds(t, s, EventFilter{Action: "a1"}); got != "action.planned" {
		t.Errorf("events of a1: %s", got)
	}
	last, err := s.LastEvents(t.Context(), 2, EventFilter{})
	ok(t, err)
	if len(last) != 2 || last[0].Kind != "patrol" || last[1].Kind != "silence" || last[0].ID >= last[1].ID {
		t.Errorf("last events %s", asJSON(last))
	}
	due, err := s.Due(t.Context(), at(time.Hour), 10)
	ok(t, err)
	if d := cmp.Diff(asJSON(turn.Outbox), asJSON(due)); d != "" {
		t.Errorf("outbox:\n%s", d)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestAlertLife(t *testing.T) {
	s, k := fresh(t), key("log-large", "x")
	step := func(d time.Duration, n int64, status fleet.AlertStatus) {
		t.Helper()
		ok(t, s.Commit(t.Context(), alertTurn(at(d), alert(n, k, status, at(d)))))
	}
	step(0, 1, fleet.AlertPending)
	step(1*time.Minute, 1, fleet.AlertFiring)
	step(2*time.Minute, 1, fleet.AlertFiring)
	_, err := s.Acknowledge(t.Context(), 1, "ann", at(2*time.Minute))
	ok(t, err)
	step(3*time.Minute, 1, fleet.AlertResolved)
	if list, err := s.Alerts(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("open: %v, %v", list, err)
	}
	if _, err := s.Acknowledge(t.Context(), 1, "bob", at(4*time.Minute)); !errors.Is(err, ErrEnded) {
		t.Errorf("acknowledged what is over: %v", err)
	}
	step(5*time.Minute, 1, fleet.AlertFiring) // the same alert comes back: a new life, not acknowledged
	a, err := s.alert(t.Context(), 1)
	ok(t, err)
	if a.AckedBy != "" {
		t.Errorf("still acknowledged by %s", a.AckedBy)
	}
	step(6*time.Minute, 1, fleet.AlertResolved)
	step(7*time.Minute, 9, fleet.AlertPending) // or under a new number
	step(8*time.Minute, 9, fleet.AlertResolved)
	if got := kinds(t, s, EventFilter{Subject: k.Subject, Rule: k.Rule}); got != "alert.firing ack alert.resolved alert.firing alert.resolved" {
		t.Errorf("events %s", got)
	}
	if p := past(t, s, at(time.Hour)); len(p.Alerts) != 1 || p.Alerts[0].Number != 9 || p.NextAlert != 10 {
		t.Errorf("past: %s", asJSON(p))
	}
	if p := past(t, s, at(25*time.Hour)); len(p.Alerts) != 0 {
		t.Errorf("past a day later: %s", asJSON(p.Alerts))
	}
	if all, err := s.Alerts(t.Context(), true); err != nil || len(all) != 2 {
		t.Errorf("all: %v, %v", all, err)
	}
	_, err = s.alert(t.Context(), 77)
	wantErr(t, err, ErrNotFound)
	_, err = s.Acknowledge(t.Context(), 77, "ann", at(0))
	wantErr(t, err, ErrNotFound)
}

// Two passes that gave one number to two alerts: neither is lost.
func TestNumberTakenByAnother(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), alertTurn(at(0), alert(1, key("a", "x"), fleet.AlertFiring, at(0)))))
	ok(t, s.Commit(t.Context(), alertTurn(at(1), alert(1, key("b", "x"), fleet.AlertFiring, at(1)))))
	ok(t, s.Commit(t.Context(), alertTurn(at(2), alert(5, key("a", "x"), fleet.AlertFiring, at(2)))))
	list, err := s.Alerts(t.Context(), false)
	ok(t, err)
	if len(list) != 2 || list[0].Rule != "a" || list[0].Number != 1 || list[1].Rule != "b" || list[1].Number != 2 {
		t.Errorf("%s", asJSON(list))
	}
}

func TestAckSurvivesAnOlderPass(t *testing.T) {
	s, k := fresh(t), key("log-large", "x")
	old := alert(1, k, fleet.AlertFiring, at(0))
	ok(t, s.Commit(t.Context(), alertTurn(at(0), old)))
	_, err := s.Acknowledge(t.Context(), 1, "ann", at(time.Second))
	ok(t, err)
	a, err := s.Acknowledge(t.Context(), 1, "bob", at(2*time.Second))
	ok(t, err)
	if a.AckedBy != "ann" {
		t.Errorf("the first to acknowledge was ann, not %q", a.AckedBy)
	}
	ok(t, s.Silence(t.Context(), fleet.Silence{Rule: "log-large", By: "bob", From: at(0), Until: at(time.Hour)}))
	old.LastTrue = at(time.Minute) // made from a past without the acknowledgement
	ok(t, s.Commit(t.Context(), alertTurn(at(time.Minute), old)))
	got := past(t, s, at(time.Minute)).Alerts[0]
	if got.AckedBy != "ann" || asJSON(got.AckedAt) != asJSON(at(time.Second)) || got.SilencedBy != "bob" || got.LastTrue.Up != at(time.Minute).Up {
		t.Errorf("%s", asJSON(got))
	}
}

func TestAcksAndCommitsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	one, two := opened(t, path), opened(t, path) // as two processes: two handles
	var list []fleet.Alert
	for i := range 20 {
		list = append(list, alert(int64(i+1), key("r", fmt.Sprint(i)), fleet.AlertFiring, at(0)))
	}
	ok(t, one.Commit(t.Context(), alertTurn(at(0), list...)))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 20 {
			if err := one.Commit(context.Background(), alertTurn(at(time.Duration(i)), list...)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range 20 {
			if _, err := two.Acknowledge(context.Background(), int64(i+1), "ann", at(1)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for _, a := range past(t, one, at(1)).Alerts {
		if a.AckedBy != "ann" {
			t.Errorf("the acknowledgement of %d was lost", a.Number)
		}
	}
}

func TestSilences(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), alertTurn(at(0), alert(1, key("a", "x"), fleet.AlertFiring, at(0)), alert(2, key("b", "x"), fleet.AlertFiring, at(0)))))
	ok(t, s.Silence(t.Context(), fleet.Silence{Subject: subject("x"), By: "ann", From: at(0), Until: at(time.Hour)}))
	ok(t, s.Silence(t.Context(), fleet.Silence{Rule: "a", By: "bob", From: at(0), Until: at(2 * time.Hour)}))
	p := past(t, s, at(time.Minute))
	if len(p.Silences) != 2 || p.Alerts[0].SilencedBy != "bob" || p.Alerts[1].SilencedBy != "ann" {
		t.Errorf("%s", asJSON(p))
	}
	if p := past(t, s, at(90*time.Minute)); len(p.Silences) != 1 || p.Alerts[0].SilencedBy != "bob" || p.Alerts[1].SilencedBy != "" {
		t.Errorf("after an hour: %s", asJSON(p))
	}
	ok(t, s.Silence(t.Context(), fleet.Silence{Rule: "a", By: "bob", From: at(time.Minute), Until: at(time.Minute)})) // lifted
	if p := past(t, s, at(2*time.Minute)); len(p.Silences) != 1 || p.Alerts[0].SilencedBy != "ann" {
		t.Errorf("after lifting: %s", asJSON(p))
	}
}

func TestActionBeginsAtMostOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	one, two := opened(t, path), opened(t, path)
	plan := fleet.Turn{At: at(0), Plan: fleet.Plan{Actions: []fleet.Action{action("a1")}}}
	ok(t, one.Commit(t.Context(), plan))
	var begun int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 16 {
		s := []*Store{one, two}[i%2]
		wg.Go(func() {
			switch err := s.Start(context.Background(), "a1", at(time.Second)); {
			case err == nil:
				mu.Lock()
				begun++
				mu.Unlock()
			case !errors.Is(err, errNotPlanned):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if begun != 1 {
		t.Fatalf("begun %d times", begun)
	}
	ok(t, one.Commit(t.Context(), plan)) // does not make it planned again
	wantErr(t, two.Start(t.Context(), "a1", at(1)), errNotPlanned)
	wantErr(t, two.Start(t.Context(), "never", at(1)), ErrNotFound)

	left, err := two.Unfinished(t.Context())
	ok(t, err)
	if len(left) != 1 || left[0].Stage != fleet.StageStarted || left[0].StartedAt.IsZero() {
		t.Errorf("unfinished: %s", asJSON(left))
	}
	done := fleet.Result{ActionID: "a1", Do: "rotate-log", Subject: subject("x"), Status: fleet.ResultDone, Effect: "41 MB freed", Began: at(0), Ended: at(time.Minute)}
	ok(t, one.Finish(t.Context(), done))
	ok(t, two.Finish(t.Context(), done))
	done.Status = fleet.ResultInDoubt
	wantErr(t, two.Finish(t.Context(), done), ErrEnded)
	rec := past(t, one, at(time.Hour)).Actions[0]
	if rec.Result == nil || rec.Result.Status != fleet.ResultDone || rec.Open() {
		t.Errorf("%s", asJSON(rec))
	}
	if got := kinds(t, one, EventFilter{Action: "a1"}); got != "action.planned action.started action.ended" {
		t.Errorf("events %s", got)
	}
}

func TestSkipsAreLoggedWhenTheyChange(t *testing.T) {
	s := fresh(t)
	skip := func(d time.Duration, g fleet.Guard, why string) {
		t.Helper()
		ok(t, s.Commit(t.Context(), fleet.Turn{At: at(d), Plan: fleet.Plan{Skipped: []fleet.Skipped{{Action: action("a1"), Guard: g, Why: why}}}}))
	}
	skip(0, fleet.GuardCooldown, "10m left")
	skip(1, fleet.GuardCooldown, "9m left")
	skip(2, fleet.GuardMode, "observe")
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(3), Plan: fleet.Plan{Actions: []fleet.Action{action("a1")}}}))
	if list, err := s.skips(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("planned, and still skipped: %v, %v", list, err)
	}
	skip(4, fleet.GuardInFlight, "a1")
	ok(t, s.Commit(t.Context(), alertTurn(at(5), alert(1, key("log-large", "x"), fleet.AlertResolved, at(5)))))
	if list, err := s.skips(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("resolved, and still skipped: %v, %v", list, err)
	}
	if got := kinds(t, s, EventFilter{}); got != "action.skipped action.skipped action.planned action.skipped" {
		t.Errorf("events %s", got)
	}
}

func TestOutbox(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Outbox: []fleet.Message{
		{ID: "m1", Priority: fleet.P3}, {ID: "m2", Priority: fleet.P0}, {ID: "m3", Priority: fleet.P3}}}))
	due := func(when fleet.Instant) string {
		t.Helper()
		list, err := s.Due(t.Context(), when, 10)
		ok(t, err)
		ids := ""
		for _, m := range list {
			ids += m.ID + " "
		}
		return ids
	}
	if got := due(at(0)); got != "m2 m1 m3 " {
		t.Errorf("due %s", got)
	}
	ok(t, s.Failed(t.Context(), "m2", at(0), "no route", at(time.Minute)))
	ok(t, s.Sent(t.Context(), "m1", at(0)))
	ok(t, s.Sent(t.Context(), "m1", at(0)))
	ok(t, s.Failed(t.Context(), "m3", at(0), "no such room", fleet.Instant{}))
	if got := due(at(30 * time.Second)); got != "" {
		t.Errorf("due too early: %s", got)
	}
	back := at(2 * time.Minute)
	back.Wall = back.Wall.Add(-24 * time.Hour) // the wall clock went back a day
	if got := due(back); got != "m2 " {
		t.Errorf("due after the clock went back: %s", got)
	}
	wantErr(t, s.Sent(t.Context(), "m3", at(0)), ErrEnded)
	wantErr(t, s.Sent(t.Context(), "m9", at(0)), ErrNotFound)
}

// A wall clock that jumps ahead empties no window.
func TestWindowsOutliveAClockJump(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleet.Plan{Actions: []fleet.Action{action("a1")}},
		Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert(1, key("r", "x"), fleet.AlertResolved, at(0))}},
		Agents:     []fleet.AgentRecord{{Name: "dev", LastSeen: at(0)}}}))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "a1", Status: fleet.ResultDone, Began: at(0), Ended: at(0)}))
	jump := at(time.Hour)
	jump.Wall = jump.Wall.AddDate(10, 0, 0)
	ok(t, s.Trim(t.Context(), jump))
	p := past(t, s, jump)
	if len(p.Actions) != 1 || len(p.Alerts) != 1 || len(p.Agents) != 1 {
		t.Errorf("%s", asJSON(p))
	}
	later := at(25 * time.Hour)
	if p := past(t, s, later); len(p.Actions)+len(p.Alerts)+len(p.Agents) != 0 {
		t.Errorf("a day later: %s", asJSON(p))
	}
}

func TestNewestNeverGoesBack(t *testing.T) {
	s := fresh(t)
	ok(t, s.Record(t.Context(), fleet.Event{At: at(time.Hour), Kind: "up"}))
	ok(t, s.Record(t.Context(), fleet.Event{At: at(0), Kind: "up"}))
	if got := past(t, s, at(0)).Newest; asJSON(got) != asJSON(at(time.Hour)) {
		t.Errorf("newest %v", got)
	}
}

func TestFullDiskKeepsNothing(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Patrol: 1}))
	var pages int
	ok(t, s.w.QueryRow("PRAGMA page_count").Scan(&pages))
	var limit int
	ok(t, s.w.QueryRow(fmt.Sprintf("PRAGMA max_page_count=%d", pages+2)).Scan(&limit))
	turn := fleet.Turn{At: at(1), Patrol: 2}
	for i := range 500 {
		turn.Plan.Actions = append(turn.Plan.Actions, action(fmt.Sprintf("a%d", i)))
	}
	wantErr(t, s.Commit(t.Context(), turn), ErrFull)
	if p := past(t, s, at(1)); p.Patrol != 1 || len(p.Actions) != 0 {
		t.Errorf("half done: patrol %d, %d actions", p.Patrol, len(p.Actions))
	}
	ok(t, s.w.QueryRow("PRAGMA max_page_count=1000000").Scan(&limit))
	ok(t, s.Commit(t.Context(), turn))
}

// TestARowThatCannotBeSetAsideIsNoEnd: where the disk is full or the store is only read, an
// alert whose row is damaged stays where it is, and is told as one that was set aside.
func TestARowThatCannotBeSetAsideIsNoEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert(1, key("r", "x"), fleet.AlertFiring, at(0)), alert(2, key("r", "y"), fleet.AlertFiring, at(0))}}}))
	_, err := s.w.Exec("UPDATE alerts SET json = '{\"since\": 4' WHERE number = 1")
	ok(t, err)
	ok(t, s.Close())
	wantLost := func(s *Store, after time.Duration) {
		t.Helper()
		for range 2 { // the second one does not meet the row again
			if p := past(t, s, at(after)); len(p.Alerts) != 1 || !slices.Equal(p.Aside, []int64{1}) {
				t.Errorf("alerts %d, set aside %v", len(p.Alerts), p.Aside)
			}
		}
		if n, err := s.SetAsideSince(t.Context(), epoch.Add(-time.Hour)); err != nil || n != 1 {
			t.Errorf("%d rows are told as set aside, %v", n, err)
		}
	}
	reader, err := OpenReadOnly(t.Context(), Options{Path: path, Now: func() time.Time { return epoch }})
	ok(t, err)
	wantLost(reader, time.Second)
	ok(t, reader.Close())

	s = opened(t, path)
	_, err = s.w.Exec("CREATE TRIGGER full BEFORE INSERT ON set_aside BEGIN SELECT RAISE(ABORT, 'no room'); END")
	ok(t, err)
	wantLost(s, time.Second)
	if rows, err := s.SetAside(t.Context()); err != nil || len(rows) != 0 {
		t.Fatalf("it was set aside all the same: %v, %v", rows, err)
	}
	_, err = s.w.Exec("DROP TRIGGER full")
	ok(t, err)
	wantLost(s, 2*reload)
	if rows, err := s.SetAside(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("there is room again, and it is not set aside: %v, %v", rows, err)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	one := opened(t, path)
	two, err := Open(t.Context(), Options{Path: path, Busy: 10 * time.Millisecond})
	ok(t, err)
	defer two.Close()
	hold, err := one.w.Begin()
	ok(t, err)
	wantErr(t, two.Record(t.Context(), fleet.Event{At: at(0), Kind: "up"}), errBusy)
	if _, err := two.Past(t.Context(), at(0)); err != nil {
		t.Errorf("a reader waits for a writer: %v", err)
	}
	ok(t, hold.Rollback())
	ok(t, two.Record(t.Context(), fleet.Event{At: at(0), Kind: "up"}))
}

func TestCancelledCommitKeepsNothing(t *testing.T) {
	s := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, s.Commit(ctx, fleet.Turn{At: at(0), Patrol: 1}), context.Canceled)
	if p := past(t, s, at(0)); p.Patrol != 0 {
		t.Errorf("patrol %d", p.Patrol)
	}
}

func TestCorruptDatabaseIsSetAside(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"not a database": func([]byte) []byte { return []byte(strings.Repeat("this is no database\n", 500)) },
		"truncated":      func(b []byte) []byte { return b[:len(b)/2] },
		"overwritten": func(b []byte) []byte {
			for i := 4096; i < len(b); i++ {
				b[i] = byte(i * 7)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "custos.db")
			s := opened(t, path)
			ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Patrol: 41}))
			ok(t, s.Close())
			b, err := os.ReadFile(path)
			ok(t, err)
			bad := damage(b)
			ok(t, os.WriteFile(path, bad, 0o600))

			s = opened(t, path)
			aside := path + ".corrupt-20261120T090000Z"
			if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(bad) {
				t.Errorf("what was set aside is not what was there: %v", err)
			}
			if p := past(t, s, at(0)); !p.Amnesia || p.Patrol != 0 {
				t.Errorf("%s", asJSON(p))
			}
			ok(t, s.Close())
			s = opened(t, path) // amnesia outlives a restart
			if all, err := AsideFiles(path); err != nil || !slices.Equal(all, []string{aside}) {
				t.Errorf("set aside are %q, %v", all, err)
			}
			if p := past(t, s, at(0)); !p.Amnesia {
				t.Errorf("%s", asJSON(p))
			}
			ok(t, s.ConfirmAmnesia(t.Context(), "ann", at(1)))
			if p := past(t, s, at(0)); p.Amnesia {
				t.Error("confirmed, and still amnesia")
			}
		})
	}
}

func TestCorruptRowsStopNothing(t *testing.T) {
	s := fresh(t)
	turn := fleet.Turn{At: at(0), Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert(1, key("r", "x"), fleet.AlertFiring, at(0)), alert(2, key("r", "y"), fleet.AlertFiring, at(0))}},
		Plan:   fleet.Plan{Actions: []fleet.Action{action("a1"), action("a2")}},
		Agents: []fleet.AgentRecord{{Name: "dev", LastSeen: at(0)}}, Outbox: []fleet.Message{{ID: "m1"}}}
	ok(t, s.Commit(t.Context(), turn))
	for _, q := range []string{
		`UPDATE alerts SET json = '{"since": 4' WHERE number = 1`, `UPDATE actions SET json = 'x' WHERE id = 'a1'`,
		`UPDATE agents SET json = '[]'`, `UPDATE outbox SET json = ''`, `UPDATE meta SET value = '!' WHERE key = 'newest'`,
		`UPDATE events SET json = '{"id": "one"}' WHERE id = 1`,
	} {
		_, err := s.w.Exec(q)
		ok(t, err)
	}
	p := past(t, s, at(0))
	if len(p.Alerts) != 1 || len(p.Actions) != 1 || len(p.Agents) != 0 || p.NextAlert != 3 || !slices.Equal(p.Aside, []int64{1}) {
		t.Errorf("%s", asJSON(p))
	}
	if list, err := s.Due(t.Context(), at(0), 9); err != nil || len(list) != 0 {
		t.Errorf("due %v, %v", list, err)
	}
	if list, err := s.Events(t.Context(), 0, 0, EventFilter{}); err != nil || len(list) != 3 {
		t.Errorf("events %v, %v", list, err)
	}
	aside, err := s.SetAside(t.Context())
	ok(t, err)
	if len(aside) != 5 || aside[0].What != "alerts" || aside[0].Key != "1" || aside[0].JSON != `{"since": 4` {
		t.Errorf("%s", asJSON(aside))
	}
	// The alert is told anew, the lost intent keeps its result.
	ok(t, s.Commit(t.Context(), turn))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "a9", Do: "rotate-log", Status: fleet.ResultInDoubt, Began: at(0), Ended: at(0)}))
	if p := past(t, s, at(0)); len(p.Alerts) != 2 || len(p.Actions) != 3 {
		t.Errorf("%s", asJSON(p))
	}
}

func TestCorruptRowMetWhileWriting(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleet.Plan{Actions: []fleet.Action{action("a1")}}, Assessment: fleet.Assessment{Alerts: []fleet.Alert{alert(1, key("r", "x"), fleet.AlertFiring, at(0))}}}))
	for _, q := range []string{`UPDATE alerts SET json = 'x'`, `UPDATE actions SET json = 'x'`} {
		_, err := s.w.Exec(q)
		ok(t, err)
	}
	wantErr(t, s.Start(t.Context(), "a1", at(0)), ErrNotFound) // what cannot be read is not begun
	ok(t, s.Commit(t.Context(), alertTurn(at(1), alert(1, key("r", "x"), fleet.AlertFiring, at(1)))))
	list, err := s.Alerts(t.Context(), false)
	ok(t, err)
	if len(list) != 1 || list[0].Number != 2 {
		t.Errorf("%s", asJSON(list))
	}
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "a1", Status: fleet.ResultFailed, Began: at(0), Ended: at(0)}))
	if left, err := s.Unfinished(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	_, err := s.w.Exec("PRAGMA user_version=99")
	ok(t, err)
	ok(t, s.Close())
	before, err := os.ReadFile(path)
	ok(t, err)
	_, err = Open(t.Context(), Options{Path: path})
	wantErr(t, err, ErrNewer)
	_, err = OpenReadOnly(t.Context(), Options{Path: path})
	wantErr(t, err, ErrNewer)
	after, err := os.ReadFile(path)
	ok(t, err)
	if string(before) != string(after) {
		t.Error("a database that was refused was changed")
	}
	if !strings.Contains(fmt.Sprint(errFrom(Open(t.Context(), Options{Path: path}))), "version 99") {
		t.Error("the error does not name the version")
	}
}

func errFrom(_ *Store, err error) error { return err }

func TestMigrate(t *testing.T) {
	s := fresh(t)
	list, err := migrations()
	ok(t, err)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Patrol: 3}))
	next := append(list, "ALTER TABLE agents ADD COLUMN role TEXT; UPDATE meta SET value = '4' WHERE key = 'patrol'")
	broken := append(next, "CREATE TABLE half (x); INSERT INTO nothing VALUES (1)")
	if err := migrate(t.Context(), s.w, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("migration ", len(broken))) {
		t.Errorf("a broken migration: %v", err)
	}
	if v, err := version(t.Context(), s.w); err != nil || v != len(next) {
		t.Errorf("version %d, %v: the whole one before the broken one should stay", v, err)
	}
	var n int
	ok(t, s.w.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name = 'half'").Scan(&n))
	if p := past(t, s, at(0)); n != 0 || p.Patrol != 4 {
		t.Errorf("half a migration stayed (%d), or a whole one was lost (patrol %d)", n, p.Patrol)
	}
	ok(t, migrate(t.Context(), s.w, next)) // nothing to do
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	_, err := OpenReadOnly(t.Context(), Options{Path: path})
	wantErr(t, err, fs.ErrNotExist)
	if exists(path) {
		t.Error("reading made a database")
	}
	w := opened(t, path)
	ok(t, w.Commit(t.Context(), fleet.Turn{At: at(0), Patrol: 5}))
	r, err := OpenReadOnly(t.Context(), Options{Path: path})
	ok(t, err)
	defer r.Close()
	if p := past(t, r, at(0)); p.Patrol != 5 {
		t.Errorf("patrol %d", p.Patrol)
	}
	wantErr(t, r.Commit(t.Context(), fleet.Turn{At: at(0)}), errReadOnly)
	ok(t, os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o600))
	empty := filepath.Join(t.TempDir(), "empty.db")
	ok(t, os.WriteFile(empty, nil, 0o600))
	if _, err := OpenReadOnly(t.Context(), Options{Path: empty}); err == nil {
		t.Error("an empty file was opened to read")
	}
}

func TestTrim(t *testing.T) {
	s := fresh(t)
	day := 24 * time.Hour
	for i := range 3 * trimBatch {
		if i%trimBatch == 0 {
			ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleet.Plan{Actions: []fleet.Action{action(fmt.Sprint("a", i))}},
				Outbox: []fleet.Message{{ID: fmt.Sprint("m", i)}}}))
		}
		ok(t, s.Record(t.Context(), fleet.Event{At: at(0), Kind: "up", Text: strings.Repeat("x", 200)}))
	}
	ok(t, s.Commit(t.Context(), alertTurn(at(0), alert(1, key("r", "x"), fleet.AlertResolved, at(0)), alert(2, key("r", "y"), fleet.AlertFiring, at(0)))))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "a0", Status: fleet.ResultDone, Began: at(0), Ended: at(0)}))
	ok(t, s.Sent(t.Context(), "m0", at(0)))
	pages := func() (n int) {
		ok(t, s.w.QueryRow("PRAGMA page_count").Scan(&n))
		return n
	}
	full := pages()
	ok(t, s.Record(t.Context(), fleet.Event{At: at(8 * day), Kind: "down"}))
	ok(t, s.Trim(t.Context(), at(8*day)))
	if got := kinds(t, s, EventFilter{}); got != "down" {
		t.Errorf("events after a week: %.80s", got)
	}
	if now := pages(); now > full/2 {
		t.Errorf("%d pages of %d are left", now, full)
	}
	list, err := s.Actions(t.Context(), ActionFilter{})
	ok(t, err)
	if len(list) != 3 {
		t.Errorf("%d actions after a week", len(list))
	}
	ok(t, s.Trim(t.Context(), at(31*day)))
	list, err = s.Actions(t.Context(), ActionFilter{})
	ok(t, err)
	all, err := s.Alerts(t.Context(), true)
	ok(t, err)
	if len(list) != 2 || len(all) != 1 || all[0].Number != 2 {
		t.Errorf("after a month: %d actions, %s", len(list), asJSON(all))
	}
	ok(t, s.Record(t.Context(), fleet.Event{At: at(31 * day), Kind: "up"}))
	events, err := s.Events(t.Context(), 0, 0, EventFilter{})
	ok(t, err)
	if last := events[len(events)-1]; last.ID <= 3*trimBatch {
		t.Errorf("an event's number comes again: %d", last.ID)
	}
	if p := past(t, s, at(31*day)); p.NextAlert != 3 {
		t.Errorf("an alert's number comes again: %d", p.NextAlert)
	}
}

func BenchmarkCommit(b *testing.B) {
	s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "c.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var list []fleet.Alert
	for i := range 50 {
		list = append(list, alert(int64(i+1), key("r", fmt.Sprint(i)), fleet.AlertFiring, at(0)))
	}
	turn := alertTurn(at(0), list...)
	for i := 0; b.Loop(); i++ {
		turn.At = at(time.Duration(i) * time.Second)
		turn.Plan.Actions = []fleet.Action{action(fmt.Sprint("a", i))}
		if err := s.Commit(b.Context(), turn); err != nil {
			b.Fatal(err)
		}
	}
}

// skips lists what is wished for and refused at present, as it was refused first.
func (s *Store) skips(ctx context.Context) ([]fleet.Skipped, error) {
	var bad []badRow
	found, err := collect[fleet.Skipped](ctx, s.r, &bad, source{
		table: "skips", key: "rowid", where: "ORDER BY rule, alert, do, subject",
	})
	if err != nil {
		return nil, failed("list what was skipped", err)
	}
	s.moveAside(ctx, bad)
	return found, nil
}

// TestALedgerWithMarksOfOldOpens: a table that nothing writes or reads any more stands in
// every ledger of before, and goes on to.
func TestALedgerWithMarksOfOldOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	ok(t, s.write(t.Context(), "mark as before", at(0), func(tx *tx) error {
		_, err := tx.exec(`INSERT INTO stopped (subject, json) VALUES ('agent/a', '{"kind":"agent","name":"a"}')`)
		return err
	}))
	before := past(t, s, at(time.Minute))
	ok(t, s.Close())
	s = opened(t, path)
	if d := cmp.Diff(asJSON(before), asJSON(past(t, s, at(time.Minute)))); d != "" {
		t.Errorf("it is read otherwise:\n%s", d)
	}
}

// TestAFreezeIsSaidOnceInAnEvent: the name of the guard stands before its reason, which may
// begin with it.
func TestAFreezeIsSaidOnceInAnEvent(t *testing.T) {
	s := fresh(t)
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(0), Plan: fleet.Plan{Skipped: []fleet.Skipped{{Action: action("a1"), Guard: fleet.GuardFrozen, Why: "frozen: by ann"}}}}))
	events, err := s.LastEvents(t.Context(), 10, EventFilter{})
	ok(t, err)
	if len(events) != 1 || !strings.HasSuffix(events[0].Text, ": frozen: by ann") || strings.Contains(events[0].Text, "frozen: frozen") {
		t.Errorf("events %s", asJSON(events))
	}
}
