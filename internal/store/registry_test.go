package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

func registered(n string) fleet.Registration {
	return fleet.Registration{Name: n, Kind: "claude", Owner: fleet.OwnerCustos, Role: "dev", Task: "t-1", Run: "r-1",
		Desired: fleet.DesiredRunning, DesiredBy: "ann", CreatedAt: at(0)}
}

// Registration returns the agent of that name, or ErrNotFound.
func (s *Store) Registration(ctx context.Context, name string) (fleet.Registration, error) {
	all, err := s.Registrations(ctx)
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return fleet.Registration{}, errors.Join(err, ErrNotFound)
}

func register(t *testing.T, s *Store, r fleet.Registration) fleet.Registration {
	t.Helper()
	r, err := s.Register(t.Context(), r, at(0))
	ok(t, err)
	return r
}

func TestRegistrationSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	s := opened(t, path)
	names := []string{"dev", "dev.1", "it's \"x\"", "a/b c", strings.Repeat("é", 200)}
	for _, n := range names {
		register(t, s, registered(n))
	}
	_, err := s.Register(t.Context(), registered("dev"), at(0))
	wantErr(t, err, ErrExists)
	ok(t, s.Close())
	s = opened(t, path)
	p := past(t, s, at(time.Minute))
	if len(p.Registrations) != len(names) || p.Registrations[0].Revision != 1 {
		t.Fatalf("registrations %s", asJSON(p.Registrations))
	}
	for _, n := range names {
		r, err := s.Registration(t.Context(), n)
		ok(t, err)
		if r.Name != n {
			t.Errorf("got %q, want %q", r.Name, n)
		}
	}
	if _, err = s.Registration(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("nobody is there, and %v", err)
	}
}

// TestTwoWritersLoseNothing: a hundred changes from ten goroutines are a hundred
// changes.
func TestTwoWritersLoseNothing(t *testing.T) {
	s := fresh(t)
	register(t, s, registered("a"))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 10 {
				_, err := s.UpdateRegistration(context.Background(), "a", at(time.Second), func(r fleet.Registration) (fleet.Registration, error) {
					r.Depth++
					return r, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r, err := s.Registration(t.Context(), "a")
	ok(t, err)
	if r.Depth != 100 || r.Revision != 101 {
		t.Errorf("depth %d, revision %d", r.Depth, r.Revision)
	}
}

func TestUpdateThatFailsChangesNothing(t *testing.T) {
	s := fresh(t)
	before := register(t, s, registered("a"))
	boom := errors.New("boom")
	_, err := s.UpdateRegistration(t.Context(), "a", at(1), func(r fleet.Registration) (fleet.Registration, error) { r.Task = "x"; return r, boom })
	wantErr(t, err, boom)
	_, err = s.UpdateRegistration(t.Context(), "zed", at(1), func(r fleet.Registration) (fleet.Registration, error) { return r, nil })
	wantErr(t, err, ErrNotFound)
	after, err := s.Registration(t.Context(), "a")
	ok(t, err)
	if d := cmp.Diff(asJSON(before), asJSON(after)); d != "" {
		t.Error(d)
	}
}

// TestOutdatedTurnIsRefused: a turn that rests on a registration which another
// has changed meanwhile is not committed, and nothing of it.
func TestOutdatedTurnIsRefused(t *testing.T) {
	s := fresh(t)
	old := register(t, s, registered("a"))
	_, err := s.UpdateRegistration(t.Context(), "a", at(1), func(r fleet.Registration) (fleet.Registration, error) {
		r.Desired, r.DesiredBy = fleet.DesiredStopped, "ann"
		return r, nil
	})
	ok(t, err)
	old.SessionID = "s1"
	turn := fleet.Turn{At: at(2), Plan: fleet.Plan{Follows: fleet.Follows{Changes: fleet.Changes{Registrations: []fleet.Registration{old}}}, Actions: []fleet.Action{action("a1")}}}
	wantErr(t, s.Commit(t.Context(), turn), ErrConflict)
	p := past(t, s, at(3))
	if len(p.Actions) != 0 || p.Registrations[0].Desired != fleet.DesiredStopped {
		t.Errorf("half a turn was committed: %s", asJSON(p))
	}
	turn.Plan.Registrations = []fleet.Registration{p.Registrations[0]}
	turn.Plan.Registrations[0].SessionID = "s1"
	for range 2 { // twice is once
		ok(t, s.Commit(t.Context(), turn))
	}
	if p = past(t, s, at(3)); p.Registrations[0].Revision != 3 || p.Registrations[0].SessionID != "s1" {
		t.Errorf("registration %s", asJSON(p.Registrations))
	}
	gone := registered("gone")
	gone.Revision = 4
	wantErr(t, s.Commit(t.Context(), fleet.Turn{At: at(4), Plan: fleettest.Rows(fleet.Changes{Registrations: []fleet.Registration{gone}})}), ErrConflict)
}

func TestFailures(t *testing.T) {
	s := fresh(t)
	register(t, s, registered("a"))
	change := func(do func(*fleet.Registration)) {
		t.Helper()
		_, err := s.UpdateRegistration(t.Context(), "a", at(time.Second), func(r fleet.Registration) (fleet.Registration, error) { do(&r); return r, nil })
		ok(t, err)
	}
	exit := func(e fleet.Exit) func(*fleet.Registration) {
		return func(r *fleet.Registration) { e.At = at(time.Second); r.Exit = &e }
	}
	change(func(r *fleet.Registration) { r.Instance = "i1" })
	change(exit(fleet.Exit{Status: fleet.Known(3)}))
	change(exit(fleet.Exit{Status: fleet.Known(3), OOM: true})) // the same end, better known
	change(func(r *fleet.Registration) { r.Instance, r.Exit = "i2", nil })
	change(exit(fleet.Exit{Status: fleet.Known(0)}))
	change(exit(fleet.Exit{Status: fleet.Known(0), OOM: true})) // it did not end well after all
	change(exit(fleet.Exit{Status: fleet.Known(0), OOM: true, Hangup: true}))
	change(func(r *fleet.Registration) { r.Instance, r.Exit = "i3", nil })
	change(exit(fleet.Exit{Signal: fleet.Known(15), Asked: "ann"}))
	change(func(r *fleet.Registration) { r.Failed = "3 of 3" })
	a := agentAction("x1", "recover")
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{a}}}))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: fleet.ResultFailed, Why: "no such session", Ended: at(2 * time.Second)}))
	says(t, s, "b", "x2", fleet.Verdict{Evidence: "e", Word: fleet.VerdictStop, At: at(time.Minute)})
	list, err := s.Failures(t.Context(), FailureFilter{Agent: "a"})
	ok(t, err)
	var got []string
	for _, f := range list {
		got = append(got, f.Verdict+" "+f.Instance+" "+f.Reason)
		if f.Role != "dev" || f.Task != "t-1" || f.Run != "r-1" || f.At.IsZero() {
			t.Errorf("failure %s", asJSON(f))
		}
	}
	want := []string{"crashed i1 ended with status 3", "crashed i2 ended with status 0, out of memory", "given_up i3 3 of 3", "recovery_failed i3 no such session"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	list, err = s.Failures(t.Context(), FailureFilter{Limit: 1})
	ok(t, err)
	if len(list) != 1 || list[0].Agent != "b" || list[0].ID != 5 {
		t.Errorf("newest %s", asJSON(list))
	}
	if list, err = s.Failures(t.Context(), FailureFilter{Since: at(time.Hour)}); err != nil || len(list) != 0 {
		t.Errorf("since: %s, %v", asJSON(list), err)
	}
	if got := kinds(t, s, EventFilter{Subject: agentSubject("a")}); !strings.HasPrefix(got, "agent.registered agent.started agent.ended agent.started agent.ended agent.started agent.ended agent.failed") {
		t.Errorf("events %s", got)
	}
	for server, want := range map[string]string{"/run/u/tmux.sock": ", on terminal server /run/u/tmux.sock", "/tmp/tmux-0/default": "", "": ""} {
		was, is := fleet.Registration{Name: "a", Instance: "i1"}, fleet.Registration{Name: "a", Instance: "i2", Server: server, Process: fleet.ProcessID{PID: 7}}
		if got := changes(&was, is); len(got) != 1 || got[0].Text != "instance i2, process 7"+want {
			t.Errorf("a start on %q is told as %+v", server, got)
		}
	}
	change(func(r *fleet.Registration) { r.Instance, r.Exit = "i4", nil })
	change(func(r *fleet.Registration) { r.Instance = "i5" }) // nobody was there when i4 ended
	change(func(r *fleet.Registration) { r.Desired = fleet.DesiredPaused })
	list, err = s.Failures(t.Context(), FailureFilter{Agent: "a", Limit: 1})
	ok(t, err)
	if len(list) != 1 || list[0].Instance != "i4" || list[0].Verdict != "crashed" || list[0].Reason != "ended unseen, and was started again" {
		t.Errorf("of one whose end nobody saw: %s", asJSON(list))
	}
	change(func(r *fleet.Registration) { r.Instance, r.Desired = "i6", fleet.DesiredRunning })  // it was to be paused
	change(func(r *fleet.Registration) { r.Instance, r.Process.Boot = "i7", "the boot after" }) // the machine ended it
	if list, err = s.Failures(t.Context(), FailureFilter{Agent: "a", Limit: 1}); err != nil || list[0].Instance != "i4" {
		t.Errorf("of what no crash ended: %s, %v", asJSON(list), err)
	}
	change(func(r *fleet.Registration) {
		r.Instance, r.Exit = "i9", nil // i8 was to resume, and nobody saw its end
		r.Unresumed = &fleet.Exit{Instance: "i8", Status: fleet.Known(1), At: at(time.Minute)}
	})
	change(func(r *fleet.Registration) { r.Task = "t-2" })
	if list, err = s.Failures(t.Context(), FailureFilter{Agent: "a", Limit: 2}); err != nil || list[1].Verdict != "resume_failed" || list[0].Instance != "i4" ||
		list[1].Instance != "i8" || list[1].Reason != "resume failed, started anew: ended with status 1" {
		t.Errorf("of a conversation that could not be resumed: %s, %v", asJSON(list), err)
	}
	change(func(r *fleet.Registration) {
		r.Desired, r.Instance, r.Unresumed, r.Exit = fleet.DesiredRunning, "i6", nil, nil
	})
	change(exit(fleet.Exit{Signal: fleet.Known(1), Server: "/tmp/tmux-0/two"})) // of several: which one
	list, err = s.Failures(t.Context(), FailureFilter{Limit: 1})
	ok(t, err)
	events, eventsErr := s.Events(t.Context(), 0, 1000, EventFilter{Subject: agentSubject("a")})
	ok(t, eventsErr)
	for _, said := range []string{list[0].Reason, events[len(events)-1].Text} {
		if said != "ended by signal 1, with terminal server /tmp/tmux-0/two" {
			t.Errorf("it says %q", said)
		}
	}
}

func agentAction(id, do string) fleet.Action {
	return fleet.Action{ID: id, Do: do, Subject: agentSubject("a"), For: fleet.AlertKey{Rule: "order", Subject: agentSubject("a")}, Attempt: 1}
}

// TestFinishLearns: what an action learned is kept, what people want is not
// touched by it.
func TestFinishLearns(t *testing.T) {
	s := fresh(t)
	was := register(t, s, registered("a"))
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{agentAction("x1", "spawn")}}}))
	_, err := s.UpdateRegistration(t.Context(), "a", at(2), func(r fleet.Registration) (fleet.Registration, error) {
		r.Desired, r.DesiredBy = fleet.DesiredStopped, "bob"
		return r, nil
	})
	ok(t, err)
	was.Instance, was.Process, was.Worktree, was.PromptState = "i1", fleet.ProcessID{PID: 7, Start: 9}, "/w/a", fleet.DeliverySent
	was.Checkpoint = &fleet.Checkpoint{At: at(1), Head: "abc"}
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: fleet.ResultDone, Ended: at(3), Registration: &was}))
	r, err := s.Registration(t.Context(), "a")
	ok(t, err)
	if r.Instance != "i1" || r.Process != was.Process || r.Worktree != "/w/a" || r.PromptState != fleet.DeliverySent || r.Checkpoint == nil {
		t.Errorf("not learned: %s", asJSON(r))
	}
	if r.Desired != fleet.DesiredStopped || r.DesiredBy != "bob" {
		t.Errorf("the stop of a person was undone: %s", asJSON(r))
	}
}

// TestLearnBeforeTheEnd: an agent that an action has started is known from then on,
// and what is seen of it until the action ends is not forgotten at its end.
func TestLearnBeforeTheEnd(t *testing.T) {
	s := fresh(t)
	was := register(t, s, registered("a"))
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{agentAction("x1", "recover")}}}))
	was.Instance, was.Process, was.StartedAt, was.SessionID = "i2", fleet.ProcessID{PID: 7, Start: 9}, at(2), "s1"
	was.Prompt, was.PromptState = "do it", fleet.DeliverySent
	ok(t, s.Learn(t.Context(), "x1", was))
	past, err := s.Past(t.Context(), at(2))
	ok(t, err)
	if r := past.Registrations[0]; r.Instance != "i2" || r.Process != was.Process {
		t.Errorf("while it goes on, the ledger says %s", asJSON(r))
	}
	_, err = s.UpdateRegistration(t.Context(), "a", at(3), func(r fleet.Registration) (fleet.Registration, error) {
		r.Prompt, r.PromptState, r.SessionID = "", fleet.DeliveryAcknowledged, "s2"
		r.Exit = &fleet.Exit{Instance: "i2", Process: r.Process, Signal: fleet.Known(9), At: at(3)}
		return r, nil
	})
	ok(t, err)
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: fleet.ResultUnverified, Ended: at(4), Registration: &was}))
	r, err := s.Registration(t.Context(), "a")
	ok(t, err)
	if r.PromptState != fleet.DeliveryAcknowledged || r.Prompt != "" || r.SessionID != "s2" || r.Exit == nil {
		t.Errorf("forgotten at the end: %s", asJSON(r))
	}
	if err := s.Learn(t.Context(), "x1", was); !errors.Is(err, ErrEnded) {
		t.Errorf("an action that has ended learned more: %v", err)
	}
}

// TestFailedSpawnLeavesNothing: a new agent that never lived is forgotten; one
// that was there before stays.
func TestFailedSpawnLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		status   fleet.ResultStatus
		revision int64
		stays    bool
	}{
		{fleet.ResultFailed, 0, false}, {fleet.ResultRefused, 0, false}, {fleet.ResultInDoubt, 0, true}, {fleet.ResultDone, 0, true}, {fleet.ResultFailed, 1, true},
	} {
		s := fresh(t)
		r := registered("a")
		if c.revision > 0 {
			r = register(t, s, r)
		}
		a := agentAction("x1", "spawn")
		target := r
		a.Target.Registration = &target
		turn := fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{a}}}
		if c.revision == 0 {
			turn.Plan.Registrations = []fleet.Registration{r}
		}
		ok(t, s.Commit(t.Context(), turn))
		ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: c.status, Ended: at(2)}))
		_, err := s.Registration(t.Context(), "a")
		if stays := err == nil; stays != c.stays {
			t.Errorf("%+v: stays %v", c, stays)
		}
	}
}

// What goes with an order is there exactly when the order is: a crash in between cannot
// lose a first prompt, and an order that is given again doubles none.
func TestAnOrderIsTakenWithWhatGoesWithIt(t *testing.T) {
	s := fresh(t)
	spawn := fleet.Order{ID: "o1", Do: fleet.OrderSpawn, Agent: "a", By: "ann", At: at(0)}
	prompt := fleet.Order{ID: "o1-prompt", Do: fleet.OrderNudge, Agent: "a", By: "ann", At: at(0), Text: "go"}
	for range 2 {
		_, _, err := s.TakeOrder(t.Context(), spawn, prompt)
		ok(t, err)
	}
	list, err := s.Orders(t.Context(), OrderFilter{Open: true})
	ok(t, err)
	if len(list) != 2 || list[0].ID != "o1" || list[1].ID != "o1-prompt" {
		t.Errorf("taken: %s", asJSON(list))
	}
	_, _, err = s.TakeOrder(t.Context(), fleet.Order{ID: "o2", Do: fleet.OrderSpawn, Agent: "b", By: "ann", At: at(0)}, prompt)
	wantErr(t, err, ErrExists)
	if list, err = s.Orders(t.Context(), OrderFilter{ID: "o2"}); err != nil || len(list) != 0 {
		t.Errorf("an order was taken without what goes with it: %s, %v", asJSON(list), err)
	}
}

func TestOrderLife(t *testing.T) {
	s := fresh(t)
	o := fleet.Order{ID: "o1", Do: fleet.OrderNudge, Agent: "a", By: "ann", At: at(0), Text: "go"}
	taken, first, err := s.TakeOrder(t.Context(), o)
	ok(t, err)
	if !first || taken.State != fleet.OrderOpen {
		t.Fatalf("taken %v %s", first, asJSON(taken))
	}
	o.At = at(time.Hour)
	taken, first, err = s.TakeOrder(t.Context(), o)
	ok(t, err)
	if first || taken.At != at(0) {
		t.Errorf("the same order was taken twice: %s", asJSON(taken))
	}
	o.Text = "stop"
	_, _, err = s.TakeOrder(t.Context(), o)
	wantErr(t, err, ErrExists)

	queued := taken
	queued.State, queued.Guard, queued.Why = fleet.OrderQueued, fleet.GuardState, "it is working"
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Orders: []fleet.Order{queued}}}))
	planned := queued
	planned.State, planned.Guard, planned.Why, planned.Action = fleet.OrderOpen, "", "", "x1"
	a := agentAction("x1", "nudge")
	a.Order = "o1"
	turn := fleet.Turn{At: at(2), Plan: fleet.Plan{Actions: []fleet.Action{a}, Orders: []fleet.Order{planned}}}
	for range 2 {
		ok(t, s.Commit(t.Context(), turn))
	}
	wantErr(t, s.EndOrder(t.Context(), "o1", fleet.OrderRefused, "taken back", at(2)), ErrConflict)
	if p := past(t, s, at(3)); len(p.Orders) != 1 || p.Orders[0].Action != "x1" {
		t.Errorf("orders %s", asJSON(p.Orders))
	}
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: fleet.ResultRefused, Why: "it works now", Ended: at(3)}))
	if p := past(t, s, at(3)); p.Orders[0].Action != "" || p.Orders[0].State != fleet.OrderOpen || p.Orders[0].Why != "it works now" {
		t.Errorf("orders %s", asJSON(p.Orders))
	}
	ok(t, s.EndOrder(t.Context(), "o1", fleet.OrderRefused, "taken back", at(4)))
	ok(t, s.EndOrder(t.Context(), "o1", fleet.OrderRefused, "taken back", at(4)))
	wantErr(t, s.EndOrder(t.Context(), "o1", fleet.OrderDone, "", at(4)), ErrEnded)
	wantErr(t, s.EndOrder(t.Context(), "o9", fleet.OrderDone, "", at(4)), ErrNotFound)
	if p := past(t, s, at(5)); len(p.Orders) != 0 {
		t.Errorf("orders %s", asJSON(p.Orders))
	}
	if got := kinds(t, s, EventFilter{Subject: agentSubject("a")}); got !=
		"order.taken order.queued action.planned order.planned action.ended order.reopened order.refused" {
		t.Errorf("events %s", got)
	}
}

// TestAskedOrders: nothing sees an order that waits for a person's word but who looks for it; when that is given it is
// one like any other, with what goes with it, once.
func TestAskedOrders(t *testing.T) {
	s := fresh(t)
	o := fleet.Order{ID: "o1", Do: fleet.OrderSpawn, Agent: "a", By: "person@box1", At: at(1), State: fleet.OrderAsked}
	with := fleet.Order{ID: "o1-prompt", Do: fleet.OrderNudge, Agent: "a", By: o.By, At: at(3), Text: "go"}
	for range 2 {
		taken, _, err := s.TakeOrder(t.Context(), o)
		ok(t, err)
		if taken.State != fleet.OrderAsked {
			t.Errorf("it is %s", taken.State)
		}
	}
	if p := past(t, s, at(2)); len(p.Orders) != 0 || len(p.Asked) != 1 {
		t.Errorf("orders %s, asked %s", asJSON(p.Orders), asJSON(p.Asked))
	}
	ok(t, s.LetOrder(t.Context(), "o1", "ann", at(3), with))
	p := past(t, s, at(4))
	if len(p.Asked) != 0 || len(p.Orders) != 2 || p.Orders[0].State != fleet.OrderOpen || p.Orders[0].Approved != "ann" || p.Orders[0].By != "person@box1" || p.Orders[0].At != at(3) {
		t.Errorf("orders %s, asked %s", asJSON(p.Orders), asJSON(p.Asked))
	}
	wantErr(t, s.LetOrder(t.Context(), "o1", "bob", at(5)), ErrEnded)
	wantErr(t, s.LetOrder(t.Context(), "o9", "bob", at(5)), ErrNotFound)
	o.ID = "o2"
	_, _, err := s.TakeOrder(t.Context(), o)
	ok(t, err)
	wantErr(t, s.LetOrder(t.Context(), "o2", "ann", at(6), with), ErrExists) // another order's is not taken for its own
	if p := past(t, s, at(7)); len(p.Asked) != 1 {
		t.Errorf("half of it is done: asked %s", asJSON(p.Asked))
	}
}

// TestWhatIsSaidOfAnOrderNamesIt: an agent has many at once.
func TestWhatIsSaidOfAnOrderNamesIt(t *testing.T) {
	s := fresh(t)
	_, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "0a1b2c3d4e5f6071", Do: fleet.OrderNudge, Agent: "a", By: "ann", Text: "hi", At: at(0)})
	ok(t, err)
	ok(t, s.EndOrder(t.Context(), "0a1b2c3d4e5f6071", fleet.OrderRefused, "taken back", at(4)))
	events, err := s.Events(t.Context(), 0, 0, EventFilter{})
	ok(t, err)
	var said []string
	for _, e := range events {
		said = append(said, e.Kind+" "+e.Text)
	}
	if got, want := strings.Join(said, "; "), "order.taken 0a1b2c3d4e5f6071: nudge by ann; order.refused 0a1b2c3d4e5f6071: nudge: taken back"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestNothingIsLeftOfAnOrderThatIsOver, with what was said by it, when it is as old as records that are over get.
func TestNothingIsLeftOfAnOrderThatIsOver(t *testing.T) {
	s := fresh(t)
	const secret = "the words of the nudge"
	for _, o := range []fleet.Order{{ID: "over", Do: fleet.OrderNudge, Agent: "a", By: "ann", Text: secret, At: at(0)}, {ID: "open", Do: fleet.OrderNudge, Agent: "a", By: "ann", Text: "another", At: at(0)}} {
		_, _, err := s.TakeOrder(t.Context(), o)
		ok(t, err)
	}
	one := action("x1")
	one.Order, one.Text = "over", secret
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(1), Plan: fleet.Plan{Actions: []fleet.Action{one}}}))
	ok(t, s.Finish(t.Context(), fleet.Result{ActionID: "x1", Status: fleet.ResultDone, Began: at(1), Ended: at(2)}))
	ok(t, s.EndOrder(t.Context(), "over", fleet.OrderDone, "", at(3)))
	for _, c := range []struct {
		age  time.Duration
		left int
	}{{KeepRecords - time.Hour, 2}, {KeepRecords + time.Hour, 0}} {
		ok(t, s.Trim(t.Context(), at(0).Add(c.age)))
		left := 0
		for _, table := range []string{"orders", "actions"} {
			var n int
			ok(t, s.w.QueryRow("SELECT count(*) FROM "+table+" WHERE json LIKE '%'||?||'%'", secret).Scan(&n))
			left += n
		}
		if left != c.left {
			t.Errorf("after %v %d rows hold its words, want %d", c.age, left, c.left)
		}
	}
	if list, err := s.Orders(t.Context(), OrderFilter{}); err != nil || len(list) != 1 || list[0].ID != "open" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestOrderTakenBack: a turn that was to carry out an order which is over by
// now is refused whole; one that only says why it waits leaves it over.
func TestOrderTakenBack(t *testing.T) {
	s := fresh(t)
	o, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "o1", Do: fleet.OrderStop, Agent: "a", By: "ann", At: at(0)})
	ok(t, err)
	ok(t, s.EndOrder(t.Context(), "o1", fleet.OrderRefused, "taken back", at(1)))
	a := agentAction("x1", "stop")
	a.Order, o.Action = "o1", "x1"
	wantErr(t, s.Commit(t.Context(), fleet.Turn{At: at(2), Plan: fleet.Plan{Actions: []fleet.Action{a}, Orders: []fleet.Order{o}}}), ErrConflict)
	o.Action, o.State, o.Why = "", fleet.OrderQueued, "frozen"
	ok(t, s.Commit(t.Context(), fleet.Turn{At: at(2), Plan: fleet.Plan{Orders: []fleet.Order{o}}}))
	list, err := s.Orders(t.Context(), OrderFilter{ID: "o1"})
	ok(t, err)
	if p := past(t, s, at(3)); len(p.Actions) != 0 || list[0].State != fleet.OrderRefused {
		t.Errorf("%s %s", asJSON(p.Actions), asJSON(list))
	}
}

func TestOrdersInTheOrderGiven(t *testing.T) {
	s := fresh(t)
	for _, id := range []string{"z", "a", "m"} {
		_, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: id, Do: fleet.OrderNudge, Agent: "x" + id, By: "ann", Text: "t", At: at(0)})
		ok(t, err)
	}
	ids := func(f OrderFilter) string {
		list, err := s.Orders(t.Context(), f)
		ok(t, err)
		var out []string
		for _, o := range list {
			out = append(out, o.ID)
		}
		return strings.Join(out, " ")
	}
	ok(t, s.EndOrder(t.Context(), "a", fleet.OrderExpired, "", at(1)))
	for want, f := range map[string]OrderFilter{"z a m": {}, "z m": {Open: true}, "a m": {Limit: 2}, "m": {Agent: "xm"}} {
		if got := ids(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	var p []string
	for _, o := range past(t, s, at(1)).Orders {
		p = append(p, o.ID)
	}
	if !slices.Equal(p, []string{"z", "m"}) {
		t.Errorf("past %v", p)
	}
}

func TestRetiredFade(t *testing.T) {
	s := fresh(t)
	r := registered("a")
	r.Desired = fleet.DesiredRetired
	register(t, s, r)
	register(t, s, registered("b"))
	_, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "o1", Do: fleet.OrderStop, Agent: "b", By: "ann", At: at(0)})
	ok(t, err)
	if p := past(t, s, at(23*time.Hour)); len(p.Registrations) != 2 {
		t.Errorf("a retired one is forgotten within a day: %s", asJSON(p.Registrations))
	}
	later := at(40 * 24 * time.Hour)
	if p := past(t, s, later); len(p.Registrations) != 1 || len(p.Orders) != 1 {
		t.Errorf("past %s", asJSON(p))
	}
	ok(t, s.EndOrder(t.Context(), "o1", fleet.OrderDone, "", at(0)))
	ok(t, s.Trim(t.Context(), later))
	all, err := s.Registrations(t.Context())
	ok(t, err)
	orders, err := s.Orders(t.Context(), OrderFilter{})
	ok(t, err)
	if len(all) != 1 || all[0].Name != "b" || len(orders) != 0 {
		t.Errorf("left: %s %s", asJSON(all), asJSON(orders))
	}
}

func TestDamagedRowsAreSetAside(t *testing.T) {
	s := fresh(t)
	register(t, s, registered("a"))
	_, _, err := s.TakeOrder(t.Context(), fleet.Order{ID: "o1", Do: fleet.OrderStop, Agent: "a", By: "ann", At: at(0)})
	ok(t, err)
	for _, table := range []string{"registrations", "orders"} {
		if _, err := s.w.Exec("UPDATE " + table + " SET json = '{'"); err != nil {
			t.Fatal(err)
		}
	}
	if p := past(t, s, at(1)); len(p.Registrations)+len(p.Orders) != 0 {
		t.Errorf("past %s", asJSON(p))
	}
	aside, err := s.SetAside(t.Context())
	ok(t, err)
	if len(aside) != 2 {
		t.Errorf("set aside %s", asJSON(aside))
	}
	register(t, s, registered("a"))
}

// TestRegistryAgainstModel drives registrations and orders with random steps and
// compares with what they should be.
func TestRegistryAgainstModel(t *testing.T) {
	fleettest.Checks(t, 30)
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, fmt.Sprint(n, ".db")), synchronous: "OFF"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { sameAsWritten(t, s); _ = s.Close() }()
		m := registryModel{t: t, s: s, regs: map[string]fleet.Registration{}, orders: map[string]fleet.Order{}}
		t.Repeat(map[string]func(*rapid.T){"": m.check, "register": m.register, "commit": m.commit, "take": m.take, "finish": m.finish, "end": m.end})
	})
}

type registryModel struct {
	t      *rapid.T
	s      *Store
	regs   map[string]fleet.Registration
	orders map[string]fleet.Order
	given  []string
	open   []fleet.Action
	n      int
}

func (m *registryModel) now() fleet.Instant { m.n++; return at(time.Duration(m.n) * time.Second) }

func (m *registryModel) register(t *rapid.T) {
	n := draw(t, "name", "a", "b")
	_, known := m.regs[n]
	r, err := m.s.Register(context.Background(), registered(n), m.now())
	if known != errors.Is(err, ErrExists) {
		t.Fatalf("register %s: %v", n, err)
	}
	if !known {
		m.regs[n] = r
	}
}

// commit changes a registration that may be known in an outdated revision, and
// plans an action for an order.
func (m *registryModel) commit(t *rapid.T) {
	turn := fleet.Turn{At: m.now()}
	lawful := true
	if r, known := m.regs[draw(t, "name", "a", "b")]; known {
		r.Depth++
		if rapid.IntRange(0, 3).Draw(t, "outdated") == 3 {
			r.Revision--
			lawful = false
		}
		turn.Plan.Registrations = append(turn.Plan.Registrations, r)
	}
	if o, known := m.orders[draw(t, "order", "o1", "o2", "o3")]; known && !o.IsOver() && o.Action == "" {
		a := agentAction(fmt.Sprint("x", m.n), "nudge")
		a.Order, o.Action, o.State, o.Why = o.ID, a.ID, fleet.OrderOpen, ""
		turn.Plan.Actions, turn.Plan.Orders = []fleet.Action{a}, []fleet.Order{o}
	}
	err := m.s.Commit(context.Background(), turn)
	if lawful != (err == nil) || !lawful && !errors.Is(err, ErrConflict) {
		t.Fatalf("commit: %v, lawful %v", err, lawful)
	}
	if !lawful {
		return
	}
	for _, r := range turn.Plan.Registrations {
		r.Revision++
		m.regs[r.Name] = r
	}
	for _, o := range turn.Plan.Orders {
		m.orders[o.ID] = o
	}
	m.open = append(m.open, turn.Plan.Actions...)
}

func (m *registryModel) take(t *rapid.T) {
	o := fleet.Order{ID: draw(t, "order", "o1", "o2", "o3"), Do: fleet.OrderNudge, Agent: "a", By: "ann", At: m.now(), Text: draw(t, "text", "x", "x", "y")}
	old, known := m.orders[o.ID]
	got, first, err := m.s.TakeOrder(context.Background(), o)
	switch {
	case known && old.Text != o.Text:
		if !errors.Is(err, ErrExists) || first {
			t.Fatalf("take: %v %v", first, err)
		}
	case err != nil || first == known:
		t.Fatalf("take: %v %v", first, err)
	case !known:
		m.orders[o.ID], m.given = got, append(m.given, o.ID)
	}
}

func (m *registryModel) finish(t *rapid.T) {
	if len(m.open) == 0 {
		return
	}
	a := m.open[0]
	m.open = m.open[1:]
	r := fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, Ended: m.now(), Why: "w",
		Status: fleet.ResultStatus(draw(t, "status", "done", "failed", "refused", "unverified", "in_doubt"))}
	if reg, known := m.regs["a"]; known && rapid.Bool().Draw(t, "learned") {
		reg.Instance, reg.Desired = a.ID, fleet.DesiredRetired // which is not its to say
		r.Registration = &reg
		reg.Desired = m.regs["a"].Desired
		defer func() { reg.Revision++; m.regs["a"] = reg }()
		learned := reg
		learned.Desired = fleet.DesiredRetired
		r.Registration = &learned
	}
	if err := m.s.Finish(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	m.orders[a.Order] = m.orders[a.Order].After(r)
}

func (m *registryModel) end(t *rapid.T) {
	o, known := m.orders[draw(t, "order", "o1", "o2", "o3")]
	if !known {
		return
	}
	err := m.s.EndOrder(context.Background(), o.ID, fleet.OrderRefused, "back", m.now())
	lawful := o.State == fleet.OrderRefused || !o.IsOver() && o.Action == ""
	if lawful != (err == nil) {
		t.Fatalf("end %+v: %v", o, err)
	}
	if lawful && !o.IsOver() {
		o.State, o.Why = fleet.OrderRefused, "back"
		m.orders[o.ID] = o
	}
}

func (m *registryModel) check(t *rapid.T) {
	p, err := m.s.Past(context.Background(), at(time.Duration(m.n)*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var regs []fleet.Registration
	for _, n := range []string{"a", "b"} {
		if r, known := m.regs[n]; known {
			regs = append(regs, r)
		}
	}
	var orders []fleet.Order
	for _, id := range m.given {
		if o := m.orders[id]; !o.IsOver() {
			orders = append(orders, o)
		}
	}
	if d := cmp.Diff(asJSON(fleet.Past{Registrations: regs, Orders: orders}), asJSON(fleet.Past{Registrations: p.Registrations, Orders: p.Orders})); d != "" {
		t.Fatalf("past (- want, + got):\n%s", d)
	}
}
