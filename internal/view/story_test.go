package view

import (
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// The look at the runs is older than what was written down since: a run says why it stands
// where it does by its record.
func TestARunSaysWhyByItsRecord(t *testing.T) {
	of := fleet.Subject{Kind: fleet.KindRun, Name: "retry-1"}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: instant(0)}}
	p.Snapshot.Runs.Status = fleet.StatusOK
	p.Snapshot.Runs.Value = []fleet.RunFacts{{ID: "retry-1", Formula: "retry", State: fleet.RunOpen, Why: "waits: step a runs; it is not seen now"}}
	p.Past.Runs = []fleet.Run{{ID: "retry-1", Formula: "retry", State: fleet.RunOpen, Why: "waits: step a begins again at 09:00:04: attempt 1 failed"}}
	got := strings.Join(Story(StoryOf{Subject: of}, p, nil, nil, noTeller{}).Facts, "\n")
	if !strings.Contains(got, "Why: waits: step a begins again at 09:00:04: attempt 1 failed") || strings.Contains(got, "step a runs") {
		t.Errorf("%q", got)
	}
	if p.Snapshot.Runs.Value[0].Why != "waits: step a runs; it is not seen now" {
		t.Error("the look itself was changed")
	}
}

type noTeller struct{}

func (noTeller) Commands(fleet.Action) []fleet.Command { return nil }

// What a limit or the mode holds back of orders is told by plan and by why not alike, by what
// goes on without a person's word; "nothing is held back" is not said of it.
func TestPlanAndWhyNotTellOfTheSameOrders(t *testing.T) {
	of := func(k fleet.Kind, name string) fleet.Subject { return fleet.Subject{Kind: k, Name: name} }
	spawn := &fleet.Registration{Name: "dev-1", Pool: "dev"}
	queued := fleet.Order{ID: "o1", Do: fleet.OrderSpawn, Agent: "dev-1", Spawn: spawn, State: fleet.OrderQueued, Guard: fleet.GuardGate, Why: "at most 0 agents run at once", Hint: "custos config", Until: instant(time.Minute)}
	nudge := fleet.Order{ID: "o2", Do: fleet.OrderNudge, Agent: "two", State: fleet.OrderQueued, Guard: fleet.GuardState, Why: "it works, not idle"}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: instant(0)}, Past: fleet.Past{Orders: []fleet.Order{queued, nudge}}}
	held := func(p fleet.Pass, s fleet.Subject) (out []string) {
		for _, m := range Story(StoryOf{Subject: s}, p, nil, nil, noTeller{}).Held {
			out = append(out, m.Record+" "+m.Guard+": "+m.Held)
		}
		return out
	}
	for s, want := range map[fleet.Subject]string{
		of(fleet.KindPool, "dev"): "order/o1 gate: at most 0 agents run at once", of(fleet.KindAgent, "dev-1"): "order/o1 gate: at most 0 agents run at once",
		of(fleet.KindAgent, "two"): "order/o2 state: it works, not idle", of(fleet.KindAgent, "other"): "",
	} {
		if got := strings.Join(held(p, s), ", "); got != want {
			t.Errorf("why not %s: %q, not %q", s, got, want)
		}
	}
	dry := Plan(p, noTeller{}).Held
	if len(dry) != 2 || dry[0].Until == nil || dry[0].Hint != "custos config" || dry[0].From != "queued" || dry[0].Why != "spawn dev-1" {
		t.Errorf("plan holds %+v", dry)
	}

	observed := queued
	observed.Guard, observed.Why = fleet.GuardMode, "the fleet is in mode observe"
	opened := queued
	opened.State, opened.Guard, opened.Why = fleet.OrderOpen, "", ""
	p.Plan.Orders, p.Itself = []fleet.Order{opened}, &fleet.Plan{Orders: []fleet.Order{observed}}
	if got := held(p, of(fleet.KindPool, "dev")); len(got) != 1 || got[0] != "order/o1 mode: the fleet is in mode observe" {
		t.Errorf("by itself the pool is held back: %q", got)
	}
	if dry := Plan(p, noTeller{}).Held; len(dry) != 2 || dry[0].Guard != "mode" {
		t.Errorf("plan holds %+v", dry)
	}
	p.Itself.Orders[0].State = fleet.OrderOpen
	if got := held(p, of(fleet.KindPool, "dev")); len(got) != 0 {
		t.Errorf("it is done by the next pass, and held back: %q", got)
	}
}

// What plan shows of a run that a schedule begins, and of a worker that a pool starts, belongs
// to the story of the schedule and of the pool: the next pass does it.
func TestWhatScheduleAndPoolBeginIsTheirStory(t *testing.T) {
	move := func(k fleet.Kind, name, from string) fleet.Move {
		return fleet.Move{Record: fleet.Subject{Kind: k, Name: name}, From: from, To: "running"}
	}
	worker := fleet.Subject{Kind: fleet.KindAgent, Name: "dev-1"}
	order := fleet.Order{ID: "o1", Do: fleet.OrderSpawn, Agent: "dev-1", Spawn: &fleet.Registration{Pool: "dev"}, State: fleet.OrderOpen}
	given := fleet.Order{ID: "o2", Do: fleet.OrderSpawn, Agent: "dev-2", Spawn: &fleet.Registration{Pool: "dev"}, State: fleet.OrderOpen}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: instant(0)}, Past: fleet.Past{Orders: []fleet.Order{order}}}
	p.Plan.Actions = []fleet.Action{{ID: "x", Do: "spawn", Subject: worker, For: fleet.AlertKey{Rule: "order", Subject: worker}, Order: "o1"}}
	p.Plan.Given = []fleet.Order{given}
	p.Plan.Runs = []fleet.Run{{ID: "s1-a", Schedule: "s1"}, {ID: "s1-old", Schedule: "s1"}, {ID: "s2-a", Schedule: "s2"}}
	p.Plan.Moves = []fleet.Move{move(fleet.KindRun, "s1-a", ""), move(fleet.KindRun, "s1-old", "ready"), move(fleet.KindRun, "s2-a", ""), move(fleet.KindOrder, "o2", "")}
	for of, want := range map[fleet.Subject]string{
		{Kind: fleet.KindSchedule, Name: "s1"}: "run/s1-a", {Kind: fleet.KindPool, Name: "dev"}: "order/o2, spawn agent/dev-1",
		{Kind: fleet.KindPool, Name: "other"}: "", {Kind: fleet.KindSchedule, Name: "s3"}: "",
	} {
		var got []string
		s := Story(StoryOf{Subject: of}, p, nil, nil, noTeller{})
		for _, m := range s.Moves {
			got = append(got, m.Record)
		}
		for _, d := range s.Planned {
			got = append(got, d.Do+" "+d.Subject)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, not %q", of, got, want)
		}
	}
}

// What waits for nothing but a person's approval says so, and how to give it, by plan and by
// why; nothing says that the next pass does it.
func TestWhatWaitsForApprovalSaysSo(t *testing.T) {
	lock := fleet.Subject{Kind: fleet.KindLock, Name: "/l"}
	key := fleet.AlertKey{Rule: "lock-dead", Subject: lock}
	act := fleet.Action{ID: "x", Do: "remove-lock", Subject: lock, For: key}
	alert := fleet.Alert{AlertKey: key, Number: 1, Status: fleet.AlertFiring}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: instant(0)}, Past: fleet.Past{NextAlert: 2}}
	p.Plan.Actions, p.Assessment.Alerts = []fleet.Action{act}, []fleet.Alert{alert}
	for _, guard := range []fleet.Guard{fleet.GuardApproval, fleet.GuardMode} {
		p.Itself = &fleet.Plan{Skipped: []fleet.Skipped{{Action: act, Guard: guard, Why: "a person must approve", Hint: "custos patrol --apply"}}}
		s := Story(StoryOf{Subject: lock}, p, p.Assessment.Alerts, nil, noTeller{})
		for what, list := range map[string][]api.Deed{"plan": Plan(p, noTeller{}).Actions, "why": s.Planned} {
			if len(list) != 1 || list[0].Held == nil || list[0].Held.Guard != string(guard) || list[0].Held.Hint != "custos approve 1" {
				t.Errorf("%s, %s: %+v", what, guard, list)
			}
		}
		if len(s.Next) == 0 || s.Next[0].Command != "custos approve 1" {
			t.Errorf("%s: next %+v", guard, s.Next)
		}
	}
	p.Past.NextAlert = 1 // no daemon wrote the alert down
	if held := Plan(p, noTeller{}).Actions[0].Held; held == nil || held.Hint != "custos patrol --apply" {
		t.Errorf("an alert that is not on record: %+v", held)
	}
}
