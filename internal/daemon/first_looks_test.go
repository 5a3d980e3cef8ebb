package daemon

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

// A schedule whose condition reads the records is judged by the records there are.
func TestAScheduleReadsTheRecords(t *testing.T) {
	s := watching(t, "[schedule.idle]\nformula = \"supervisor\"\nwhen = \"size(works) == 0\"\n")
	st, err := s.ledger.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	holds := func() bool {
		t.Helper()
		p, err := s.loop.Look(t.Context(), 0, fleet.PatrolOrder{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Policy.Runs.Schedules {
			if x.Name == "idle" && x.Holds != nil {
				return *x.Holds
			}
		}
		t.Fatalf("it cannot be told: %+v", p.Policy.Runs.Schedules)
		return false
	}
	if !holds() {
		t.Error("without any work: no")
	}
	if _, err := st.EditRecords(t.Context(), s.world.Now(), func(fleet.Records) (fleet.Records, error) {
		w, err := ledger.AddWork(fleet.WorkItem{Title: "mend it"}, "ann", s.world.Now())
		return fleet.Records{Work: []fleet.WorkItem{w}}, err
	}); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("there is work, and it is told that there is none")
	}
}

// The lists of schedules and plugins wait for the first looks that their conditions
// rest on, and have no other part looked at.
func TestListsWaitForNoFirstLookButTheirOwn(t *testing.T) {
	s := watching(t, "[schedule.quiet]\nformula = \"supervisor\"\nwhen = \"size(locks) == 0\"\n")
	var others atomic.Int32
	locks := &observetest.Fake{Of: observe.Spec{Name: "locks", Part: fleet.PartLocks, Deadline: time.Minute},
		Do: func(context.Context) (observe.Put, error) { return func(*fleet.Snapshot) {}, nil }}
	repos := &observetest.Fake{Of: observe.Spec{Name: "git", Part: fleet.PartRepos, Deadline: time.Minute},
		Do: func(context.Context) (observe.Put, error) {
			others.Add(1)
			return func(*fleet.Snapshot) {}, nil
		}}
	s.board = observe.New(observe.Options{Probes: []observe.Probe{locks, repos}, Now: s.world.Now})
	rows, err := s.control(true).Schedules(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Holds == nil || !*rows[0].Holds {
		t.Errorf("schedules: %+v, %v", rows, err)
	}
	if _, err := s.control(true).Plugins.Plugins(t.Context()); err != nil {
		t.Error(err)
	}
	if n := others.Load(); n != 0 {
		t.Errorf("a part that no condition rests on was looked at %d times", n)
	}
}
