package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

func runOf(id, formula string) fleet.Run {
	return fleet.Run{ID: id, Formula: formula, By: "ann", At: at(0), Mode: fleet.RunSteps, Dir: "/runs/" + id, State: fleet.RunOpen,
		Steps: []fleet.RunStep{{ID: "one", Do: fleet.StepRun, State: fleet.StepWaiting}, {ID: "two", Needs: []string{"one"}, Do: fleet.StepProse, State: fleet.StepWaiting}}}
}

func taken(t *testing.T, s *Store, r fleet.Run) fleet.Run {
	t.Helper()
	r, first, err := s.TakeRun(t.Context(), r)
	ok(t, err)
	if !first {
		t.Fatalf("run %s was there before", r.ID)
	}
	return r
}

func over(r fleet.Run, state fleet.RunState, when fleet.Instant) fleet.Run {
	r = r.Clone()
	r.State, r.EndedAt = state, when
	return r
}

func runIDs(list []fleet.Run) string {
	var out []string
	for _, r := range list {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

// TestRunComesBackAsItWas: whatever a run may hold.
func TestRunComesBackAsItWas(t *testing.T) {
	fleettest.Checks(t, 30)
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n, ".db"))
		s, err := Open(context.Background(), Options{Path: path, synchronous: "OFF"})
		if err != nil {
			t.Fatal(err)
		}
		want := fleettest.Any[fleet.Run](t, at(0))
		want.At, want.EndedAt = at(0), at(0)
		want, _, err = s.TakeRun(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(context.Background(), Options{Path: path, synchronous: "OFF"}); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		p, err := s.Past(context.Background(), at(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Runs(context.Background(), fleet.RunFilter{ID: want.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range [][]fleet.Run{p.Runs, list} {
			if d := cmp.Diff(asJSON([]fleet.Run{want}), asJSON(got)); d != "" {
				t.Fatalf("run (- want, + got):\n%s", d)
			}
		}
	})
}

func TestTakeRun(t *testing.T) {
	s := fresh(t)
	r := taken(t, s, runOf("r1", "deploy"))
	if r.Revision != 1 {
		t.Errorf("revision %d", r.Revision)
	}
	again, first, err := s.TakeRun(t.Context(), runOf("r1", "deploy"))
	ok(t, err)
	if first || again.Revision != 1 {
		t.Errorf("taken twice: %s", asJSON(again))
	}
	other := runOf("r1", "deploy")
	other.Vars = map[string]string{"x": "y"}
	_, _, err = s.TakeRun(t.Context(), other)
	wantErr(t, err, ErrExists)
	_, first, err = s.TakeRun(t.Context(), runOf("r2", "deploy"))
	wantErr(t, err, ErrExists)
	if first || !strings.Contains(err.Error(), "run r1 ") {
		t.Errorf("the error does not name who holds the place: %v", err)
	}
	elsewhere := runOf("r2", "deploy")
	elsewhere.Project = "web"
	taken(t, s, elsewhere)
	if _, err := s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) { return over(r, fleet.RunDone, at(1)), nil }); err != nil {
		t.Fatal(err)
	}
	taken(t, s, runOf("r3", "deploy"))
	for want, f := range map[string]fleet.RunFilter{"r1 r2 r3": {}, "r2 r3": {Open: true}, "r1": {ID: "r1"}, "r3": {Limit: 1}, "": {Formula: "other"}} {
		list, err := s.Runs(t.Context(), f)
		ok(t, err)
		if got := runIDs(list); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}

func TestChangeRun(t *testing.T) {
	s := fresh(t)
	before := taken(t, s, runOf("r1", "deploy"))
	boom := errors.New("boom")
	_, err := s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) { r.Steps[0].State = fleet.StepDone; return r, boom })
	wantErr(t, err, boom)
	_, err = s.ChangeRun(t.Context(), "r9", at(1), func(r fleet.Run) (fleet.Run, error) { return r, nil })
	wantErr(t, err, ErrNotFound)
	if d := cmp.Diff(asJSON([]fleet.Run{before}), asJSON(past(t, s, at(1)).Runs)); d != "" {
		t.Error(d)
	}
	// In place, too: what is changed is what the disk says, not what change was given.
	after, err := s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) {
		r.Steps[1].State, r.Steps[1].Note, r.Revision = fleet.StepDone, "by hand", 77
		return r, nil
	})
	ok(t, err)
	if p := past(t, s, at(2)); after.Revision != 2 || p.Runs[0].Steps[1].Note != "by hand" || p.Runs[0].Steps[0].State != fleet.StepWaiting {
		t.Errorf("%s", asJSON(p.Runs))
	}
	after, err = s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) { return r, nil })
	ok(t, err)
	if after.Revision != 2 {
		t.Errorf("nothing changed, and it is revision %d", after.Revision)
	}
}

// TestRunGoesOnOnlyWhereThereIsRoom: one that was over, and is resumed.
func TestRunGoesOnOnlyWhereThereIsRoom(t *testing.T) {
	s := fresh(t)
	taken(t, s, runOf("r1", "deploy"))
	end := func(id string) {
		t.Helper()
		_, err := s.ChangeRun(t.Context(), id, at(1), func(r fleet.Run) (fleet.Run, error) { return over(r, fleet.RunFailed, at(1)), nil })
		ok(t, err)
	}
	resume := func(r fleet.Run) (fleet.Run, error) { return over(r, fleet.RunOpen, fleet.Instant{}), nil }
	end("r1")
	taken(t, s, runOf("r2", "deploy"))
	_, err := s.ChangeRun(t.Context(), "r1", at(2), resume)
	wantErr(t, err, ErrExists)
	end("r2")
	_, err = s.ChangeRun(t.Context(), "r1", at(3), resume)
	ok(t, err)
	if got := kinds(t, s, EventFilter{Subject: fleet.Subject{Kind: fleet.KindRun, Name: "r1"}}); got != "run.taken run.ended run.resumed" {
		t.Errorf("events %s", got)
	}
}

func TestTwoWritersOfARunLoseNothing(t *testing.T) {
	s := fresh(t)
	taken(t, s, runOf("r1", "deploy"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				_, err := s.ChangeRun(context.Background(), "r1", at(time.Second), func(r fleet.Run) (fleet.Run, error) {
					r.Steps[0].Attempt++
					return r, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if r := past(t, s, at(time.Minute)).Runs[0]; r.Steps[0].Attempt != 40 || r.Revision != 41 {
		t.Errorf("attempt %d, revision %d", r.Steps[0].Attempt, r.Revision)
	}
}

// TestTurnWithRuns: what a pass does to runs is committed with it, or not at all.
func TestTurnWithRuns(t *testing.T) {
	s := fresh(t)
	old := taken(t, s, runOf("r1", "deploy"))
	_, err := s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) { r.Cancel = "ann"; return r, nil })
	ok(t, err)
	old.Why = "waits"
	turn := fleet.Turn{At: at(2), Plan: fleet.Plan{Follows: fleet.Follows{Changes: fleet.Changes{Runs: []fleet.Run{old}}}, Actions: []fleet.Action{action("a1")}}}
	wantErr(t, s.Commit(t.Context(), turn), ErrConflict)
	turn.Plan.Runs = []fleet.Run{runOf("r2", "deploy")}
	wantErr(t, s.Commit(t.Context(), turn), ErrConflict)
	p := past(t, s, at(2))
	if len(p.Actions) != 0 || runIDs(p.Runs) != "r1" || p.Runs[0].Cancel != "ann" {
		t.Fatalf("half a turn was committed: %s", asJSON(p))
	}
	// The end of one makes room for the next, in one turn, however they are listed.
	turn.Plan.Runs = []fleet.Run{runOf("r2", "deploy"), over(p.Runs[0], fleet.RunCancelled, at(2))}
	turn.Plan.Given = []fleet.Order{{ID: "r2-session-1", Do: fleet.OrderSpawn, Agent: "r2", By: "ann", At: at(2)}}
	for range 2 { // twice is once
		ok(t, s.Commit(t.Context(), turn))
	}
	p = past(t, s, at(3))
	if runIDs(p.Runs) != "r1 r2" || p.Runs[0].Revision != 3 || p.Runs[1].Revision != 1 || len(p.Orders) != 1 || p.Orders[0].State != fleet.OrderOpen {
		t.Errorf("%s", asJSON(p))
	}
	ok(t, s.EndOrder(t.Context(), "r2-session-1", fleet.OrderDone, "", at(3)))
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(4), Plan: fleettest.Rows(fleet.Changes{Given: turn.Plan.Given})}))
	if p = past(t, s, at(4)); len(p.Orders) != 0 {
		t.Errorf("an order that is over was given again: %s", asJSON(p.Orders))
	}
	gone := runOf("gone", "x")
	gone.Revision = 3
	wantErr(t, s.Commit(t.Context(), fleet.Turn{At: at(4), Plan: fleettest.Rows(fleet.Changes{Runs: []fleet.Run{gone}})}), ErrConflict)
	if got := kinds(t, s, EventFilter{}); got != "run.taken action.planned run.ended run.taken order.taken order.done" {
		t.Errorf("events %s", got)
	}
}

func TestRunEvents(t *testing.T) {
	s := fresh(t)
	r := runOf("r1", "deploy")
	r.Project, r.Schedule, r.By = "web", "nightly", fleet.ByCustos
	taken(t, s, r)
	for _, change := range []func(*fleet.Run){
		func(r *fleet.Run) { r.Steps[0].State, r.Steps[0].Attempt = fleet.StepRunning, 1 },
		func(r *fleet.Run) { r.Steps[0].Output = "only more output" },
		func(r *fleet.Run) { r.Steps[0].Attempt, r.Steps[0].Why = 2, "again\x1b[2J" },
		func(r *fleet.Run) { r.Steps[1].State, r.State, r.Why = fleet.StepPerson, fleet.RunPerson, "look" },
	} {
		_, err := s.ChangeRun(t.Context(), "r1", at(1), func(r fleet.Run) (fleet.Run, error) { change(&r); return r, nil })
		ok(t, err)
	}
	list, err := s.Events(t.Context(), 0, 0, EventFilter{})
	ok(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Kind+" "+e.Subject.String()+" "+e.Text)
	}
	want := []string{"run.taken run/r1 formula deploy for web, 2 steps, by @custos, schedule nightly", "run.step run/r1/one running",
		"run.step run/r1/one running, attempt 2: " + fleet.Line("again\x1b[2J", 400), "run.step run/r1/two needs a person", "run.person run/r1 needs a person: look"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNewestOfAScheduleIsRemembered: whatever its age, so that no slot is run twice.
func TestNewestOfAScheduleIsRemembered(t *testing.T) {
	s := fresh(t)
	for i := range 3 {
		r := runOf(fmt.Sprint("r", i), "deploy")
		r.Schedule = "nightly"
		r = taken(t, s, r)
		_, err := s.ChangeRun(t.Context(), r.ID, at(time.Duration(i)), func(r fleet.Run) (fleet.Run, error) { return over(r, fleet.RunDone, at(0)), nil })
		ok(t, err)
	}
	taken(t, s, runOf("x", "x"))
	later := at(40 * 24 * time.Hour)
	if got := runIDs(past(t, s, later).Runs); got != "r2 x" {
		t.Errorf("after 40 days: %s", got)
	}
	ok(t, s.Trim(t.Context(), later))
	list, err := s.Runs(t.Context(), fleet.RunFilter{})
	ok(t, err)
	if got := runIDs(list); got != "r2 x" {
		t.Errorf("kept: %s", got)
	}
	var steps int
	ok(t, s.w.QueryRow("SELECT COUNT(*) FROM run_steps").Scan(&steps))
	if steps != 4 {
		t.Errorf("%d steps are kept of 2 runs", steps)
	}
}

func TestRunsAreNotKeptWithoutEnd(t *testing.T) {
	s := fresh(t)
	ok(t, s.write(t.Context(), "fill", at(0), func(t *tx) error {
		_, err := t.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO runs (id, formula, project, schedule, newest, over, revision, wall, boot, up, json)
			SELECT 'r' || i, 'f', '', '', 0, i > 2, 1, ?, 'b', 0, '{"id":"r' || i || '","state":"done"}' FROM n WHERE i <> 2`, maxRuns+9, wall(epoch))
		return err
	}))
	ok(t, s.Trim(t.Context(), at(0)))
	list, err := s.Runs(t.Context(), fleet.RunFilter{Limit: 2 * maxRuns})
	ok(t, err)
	if len(list) != maxRuns+1 || list[0].ID != "r1" || list[1].ID != "r10" {
		t.Errorf("%d runs, %s", len(list), runIDs(list[:3]))
	}
}

// TestDamagedRunIsSetAsideWhole: with all its steps, whichever row is damaged, and
// its place is free.
func TestDamagedRunIsSetAsideWhole(t *testing.T) {
	for _, damage := range []string{
		"UPDATE runs SET json = '{' WHERE id = 'r1'",
		"UPDATE run_steps SET json = '{' WHERE run = 'r1' AND position = 1; UPDATE runs SET revision = revision WHERE id = 'r1'",
	} {
		for name, meet := range map[string]func(*Store){
			"past": func(s *Store) { past(t, s, at(1)) },
			"list": func(s *Store) {
				list, err := s.Runs(t.Context(), fleet.RunFilter{})
				ok(t, err)
				if runIDs(list) != "r2" {
					t.Errorf("runs %s", runIDs(list))
				}
			},
			"write": func(s *Store) { taken(t, s, runOf("r1", "deploy")) },
		} {
			s := fresh(t)
			taken(t, s, runOf("r1", "deploy"))
			taken(t, s, runOf("r2", "other"))
			_, err := s.w.Exec(damage)
			ok(t, err)
			meet(s)
			aside, err := s.SetAside(t.Context())
			ok(t, err)
			if len(aside) != 3 || aside[0].What+aside[1].What+aside[2].What != "run_stepsrun_stepsruns" || aside[1].Key != "r1/two" {
				t.Errorf("%s, met by %s: set aside %s", damage, name, asJSON(aside))
			}
			if name != "write" {
				taken(t, s, runOf("r1", "deploy"))
			}
			if p := past(t, s, at(2)); len(p.Runs) != 2 {
				t.Errorf("runs %s", runIDs(p.Runs))
			}
		}
	}
}

func TestRunsAgainstModel(t *testing.T) {
	fleettest.Checks(t, 30)
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &runModel{path: filepath.Join(dir, fmt.Sprint(n, ".db")), now: at(0)}
		m.open(t)
		defer func() { sameAsWritten(t, m.s); _ = m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){"": m.check, "take": m.take, "commit": m.commit, "change": m.change,
			"judge": m.judge, "time": m.time, "reopen": m.reopen, "trim": m.trim})
	})
}

// runModel is what the store promises of runs and verdicts, in memory.
type runModel struct {
	path     string
	s        *Store
	now      fleet.Instant
	runs     []fleet.Run // in the order taken
	verdicts []fleet.Verdict
	n        int
}

func (m *runModel) open(t *rapid.T) {
	s, err := Open(context.Background(), Options{Path: m.path, synchronous: "OFF"})
	if err != nil {
		t.Fatal(err)
	}
	m.s = s
}

func (m *runModel) reopen(t *rapid.T) {
	if err := m.s.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *runModel) time(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute)
	if rapid.IntRange(0, 5).Draw(t, "reboot") == 0 {
		m.now.Boot, m.now.Up = m.now.Boot+"'", fleet.Duration(time.Minute)
	}
}

func (m *runModel) young(when fleet.Instant, d time.Duration) bool {
	return when.Wall.After(m.now.Wall.Add(-d)) || when.Boot == m.now.Boot && when.Up > m.now.Up-fleet.Duration(d)
}

func (m *runModel) draw(t *rapid.T) fleet.Run {
	m.n++
	r := runOf(fmt.Sprint("r", m.n), draw(t, "formula", "f", "g"))
	r.At, r.Schedule = m.now, draw(t, "schedule", "", "s1", "s2")
	if rapid.IntRange(0, 3).Draw(t, "skipped") == 0 {
		r = over(r, fleet.RunSkipped, m.now)
	}
	return r
}

func (m *runModel) has(formula string) bool {
	for _, r := range m.runs {
		if r.Formula == formula && !r.IsOver() {
			return true
		}
	}
	return false
}

func (m *runModel) take(t *rapid.T) {
	r := m.draw(t)
	lawful := r.IsOver() || !m.has(r.Formula)
	got, first, err := m.s.TakeRun(context.Background(), r)
	if lawful != (err == nil) || first != lawful || !lawful && !errors.Is(err, ErrExists) {
		t.Fatalf("take: %v %v", first, err)
	}
	if lawful {
		m.runs = append(m.runs, got)
	}
}

// moved is a run with something done to it.
func (m *runModel) moved(t *rapid.T, r fleet.Run) fleet.Run {
	r = r.Clone()
	i := rapid.IntRange(0, len(r.Steps)-1).Draw(t, "step")
	r.Steps[i].State, r.Steps[i].Attempt = fleet.StepState(draw(t, "state", "ready", "running", "done")), r.Steps[i].Attempt+1
	if !r.IsOver() && rapid.Bool().Draw(t, "ends") {
		r = over(r, fleet.RunDone, m.now)
	}
	return r
}

func (m *runModel) commit(t *rapid.T) {
	turn := fleet.Turn{At: m.now}
	lawful, freed := true, ""
	at := -1
	if len(m.runs) > 0 {
		at = rapid.IntRange(0, len(m.runs)-1).Draw(t, "run")
		r := m.moved(t, m.runs[at])
		if !m.runs[at].IsOver() && r.IsOver() {
			freed = r.Formula
		}
		if rapid.IntRange(0, 3).Draw(t, "outdated") == 0 {
			r.Revision += 5
			lawful = false
		}
		turn.Plan.Runs = append(turn.Plan.Runs, r)
	}
	if rapid.Bool().Draw(t, "new") {
		r := m.draw(t)
		lawful = lawful && (r.IsOver() || freed == r.Formula || !m.has(r.Formula))
		turn.Plan.Runs = append([]fleet.Run{r}, turn.Plan.Runs...)
	}
	err := m.s.Commit(context.Background(), turn)
	if lawful != (err == nil) || !lawful && !errors.Is(err, ErrConflict) {
		t.Fatalf("commit: %v, lawful %v", err, lawful)
	}
	if !lawful {
		return
	}
	for _, r := range turn.Plan.Runs {
		if r.Revision++; r.Revision > 1 {
			m.runs[at] = r
		} else {
			m.runs = append(m.runs, r)
		}
	}
}

func (m *runModel) change(t *rapid.T) {
	if len(m.runs) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.runs)-1).Draw(t, "run")
	got, err := m.s.ChangeRun(context.Background(), m.runs[i].ID, m.now, func(r fleet.Run) (fleet.Run, error) {
		return m.moved(t, r), nil
	})
	if err != nil || got.Revision != m.runs[i].Revision+1 {
		t.Fatalf("change: %v, revision %d", err, got.Revision)
	}
	m.runs[i] = got
}

func (m *runModel) judge(t *rapid.T) {
	m.n++
	v := fleet.Verdict{Alert: key("agent-stuck", "x"), Evidence: draw(t, "hash", "h1", "h2"), Word: fleet.VerdictExtend, At: m.now}
	r := fleet.Result{ActionID: fmt.Sprint("a", m.n), Do: "triage", Status: fleet.ResultDone, Ended: m.now, Verdict: &v}
	for range 2 {
		if err := m.s.Finish(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	v.ID = r.ActionID
	m.verdicts = append(m.verdicts, v)
}

func (m *runModel) trim(t *rapid.T) {
	if err := m.s.Trim(context.Background(), m.now); err != nil {
		t.Fatal(err)
	}
	m.runs = m.keep(KeepRecords)
}

// keep lists the runs that are not over, ended less than d ago, or are the newest
// of their schedule.
func (m *runModel) keep(d time.Duration) (list []fleet.Run) {
	newest := map[string]string{}
	for _, r := range m.runs {
		newest[r.Schedule] = r.ID
	}
	for _, r := range m.runs {
		if !r.IsOver() || m.young(r.EndedAt, d) || r.Schedule != "" && newest[r.Schedule] == r.ID {
			list = append(list, r)
		}
	}
	return list
}

func (m *runModel) check(t *rapid.T) {
	p, err := m.s.Past(context.Background(), m.now)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Past{Runs: m.keep(remembered)}
	last := map[string]string{}
	for _, v := range m.verdicts {
		last[v.Evidence] = v.ID
		if m.young(v.At, remembered) {
			want.Verdicts = append(want.Verdicts, v)
		}
	}
	if d := cmp.Diff(asJSON(want), asJSON(fleet.Past{Runs: p.Runs, Verdicts: p.Verdicts})); d != "" {
		t.Fatalf("past (- want, + got):\n%s", d)
	}
	all, err := m.s.Runs(context.Background(), fleet.RunFilter{})
	if err != nil || runIDs(all) != runIDs(m.runs) {
		t.Fatalf("runs %s, want %s: %v", runIDs(all), runIDs(m.runs), err)
	}
	for _, hash := range []string{"h1", "h2"} {
		v, known, err := m.s.VerdictOf(context.Background(), hash)
		if err != nil || known != (last[hash] != "") || v.ID != last[hash] {
			t.Fatalf("verdict of %s: %s %v %v, want %s", hash, v.ID, known, err, last[hash])
		}
	}
}

// One of a thing is one, not "1 steps".
func TestOneIsTold(t *testing.T) {
	if got := runWords(fleet.Run{Formula: "f", Steps: make([]fleet.RunStep, 1), By: "ann"}); got != "formula f, 1 step, by ann" {
		t.Errorf("it says %q", got)
	}
	s := fresh(t)
	turn := fleet.Turn{At: at(1), Patrol: 7, Assessment: fleet.Assessment{Findings: make([]fleet.Finding, 1)}}
	ok(t, s.Commit(t.Context(), turn))
	list, err := s.Events(t.Context(), 0, 0, EventFilter{Kind: "patrol"})
	if err != nil || len(list) != 1 || list[0].Text != "patrol 7: 1 finding, 0 actions, 0 skipped" {
		t.Errorf("it says %+v, %v", list, err)
	}
}
