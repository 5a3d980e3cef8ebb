package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/rules"
)

// machine has one lock whose holder may be dead, and everything the
// loop needs around it, in memory.
type machine struct {
	watches bool   // mode observe
	frozen  string // by whom, and why
	denied  string // what is done where a person denies that the lock is removed

	mu      sync.Mutex
	dead    bool // the lock's holder
	sticky  bool // removing it does not help
	broken  bool // the past cannot be read
	looks   int
	turns   []fleet.Turn
	entries []fleet.Pass
	done    [][]fleet.Result // of each entry
	last    map[string]fleet.Instant
	loop    *loop.Loop
	rules   *rules.Set
	begun   time.Time
	patrols int64
	past    []fleet.Alert
	acts    []fleet.ActionRecord
	clash   int           // so many turns are not committed: somebody was quicker
	flood   int           // so many wakes come while the next turn is committed
	slow    time.Duration // what the first looks take
	records fleet.Records
	holds   func(fleet.Past, *fleet.Snapshot)
}

// quicker is what a ledger says when somebody changed what a turn was thought
// out from.
type quicker struct{}

func (quicker) Error() string  { return "changed meanwhile" }
func (quicker) Conflict() bool { return true }

func (w *machine) now() fleet.Instant {
	return fleet.Instant{Wall: time.Now().UTC(), Up: fleet.Duration(time.Since(w.begun) + time.Hour), Boot: "b"}
}

func (w *machine) First(context.Context) { time.Sleep(w.slow) } // fake

func (w *machine) Await(context.Context, ...fleet.PartName) {}

func (w *machine) Touched(...fleet.PartName) {}

func (w *machine) Snapshot() fleet.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	s := fleet.Snapshot{At: w.now(), From: fleet.Vantage{Host: "h"}}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	}
	holder := fleet.HolderAlive
	if w.dead {
		holder = fleet.HolderDead
	}
	s.Locks.Value = []fleet.Lock{{Path: "/l", Owner: fleet.OwnerConfigured, PID: fleet.Known(7), Holder: fleet.Known(holder),
		Age: fleet.Known(fleet.Duration(time.Hour)), WaitedFor: true}}
	return s
}

func (w *machine) Past(context.Context, fleet.Instant) (fleet.Past, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return fleet.Past{}, errors.New("broken")
	}
	return fleet.Past{NextAlert: 1, Patrol: w.patrols, Alerts: w.past, Actions: w.acts, Records: recall(w.records)}, nil
}

// Start commits the turn and does its actions at once.
func (w *machine) Start(_ context.Context, t fleet.Turn) error {
	w.mu.Lock()
	if w.clash > 0 {
		w.clash--
		w.mu.Unlock()
		return fmt.Errorf("cannot commit: %w", quicker{})
	}
	w.turns = append(w.turns, t)
	w.patrols = max(w.patrols, t.Patrol)
	w.past = t.Assessment.Alerts
	keep(&w.records, t.Plan.Records)
	var results []fleet.Result
	for _, a := range t.Plan.Actions {
		r := fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Status: fleet.ResultDone, Began: t.At, Ended: t.At}
		w.acts = append(w.acts, fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, PlannedAt: t.At, StartedAt: t.At, Result: &r})
		w.dead = w.dead && w.sticky
		results = append(results, r)
	}
	flood := w.flood
	w.flood = 0
	w.mu.Unlock()
	for range flood {
		w.loop.Wake("flood")
	}
	for _, r := range results {
		w.loop.Done(r)
	}
	return nil
}

func (w *machine) Wait(context.Context) error { return nil }

func (w *machine) Journal(p fleet.Pass, done []fleet.Result) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries, w.done = append(w.entries, p), append(w.done, done)
	return nil
}

func (w *machine) policy(o fleet.PatrolOrder) fleet.Policy {
	p := fleet.Policy{Mode: fleet.ModeAuto, Frozen: w.frozen, Budget: fleet.Attempts{Max: 100, In: fleet.Duration(time.Hour)},
		Abilities: map[string]fleet.Ability{"remove-lock": {Do: "remove-lock", Idempotent: true, Touches: []fleet.PartName{fleet.PartLocks}}}}
	if w.denied != "" {
		remove := p.Abilities["remove-lock"]
		remove.Denied = w.denied
		p.Abilities["remove-lock"], p.Abilities[w.denied] = remove, fleet.Ability{Do: w.denied, Idempotent: true, Touches: remove.Touches}
	}
	if w.watches {
		p.Mode = fleet.ModeObserve
	}
	if o.Apply {
		p.ApprovedBy = o.By
	}
	return p
}

func newMachine(t *testing.T) *machine {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	w := &machine{begun: time.Now(), rules: set}
	w.run(20*time.Minute, time.Minute)
	return w
}

// run makes the loop anew, with these times between patrols and ticks.
func (w *machine) run(every, tick time.Duration) {
	w.loop = loop.New(loop.Options{Board: w, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w, Holds: w.holds,
		Touches: func(string) []fleet.PartName { return []fleet.PartName{fleet.PartLocks} },
		Every:   every, Tick: tick, Log: slog.New(slog.DiscardHandler)})
}

// hours runs the loop for a while of fake time.
func (w *machine) hours(t *testing.T, d time.Duration) {
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	w.loop.Run(ctx)
}

func TestPatrolsAreNumberedAndJournalledAndOtherPassesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.hours(t, time.Hour-time.Second)
		if len(w.entries) != 3 || w.entries[2].Number != 3 {
			t.Errorf("%d journal entries in an hour, want 3", len(w.entries))
		}
		if passes := len(w.turns); passes < 50 || passes > 70 {
			t.Errorf("%d passes in an hour of one tick a minute", passes)
		}
	})
}

// Alerts of what was seen at once do not wait for a first look that takes long, nor does
// the first patrol come before that, or its patience, ends.
func TestWhatIsSeenAtOnceIsJudgedWhileFirstLooksGoOn(t *testing.T) {
	for name, c := range map[string]struct{ slow, patrol time.Duration }{
		"quick": {time.Second / 2, time.Second / 2}, "some seconds": {4 * time.Second, 4 * time.Second}, "a huge tree": {time.Minute, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newMachine(t)
				w.slow, w.watches, w.dead = c.slow, true, true
				w.hours(t, 20*time.Second)
				first, patrol := w.turns[0].At.Wall.Sub(w.begun), w.entries[0].Snapshot.At.Wall.Sub(w.begun)
				if first > time.Second || len(w.turns[0].Outbox) == 0 || patrol != c.patrol {
					t.Errorf("the first pass came after %s and told %d messages, the first patrol after %s, want it after %s", first, len(w.turns[0].Outbox), patrol, c.patrol)
				}
			})
		})
	}
}

func TestResultWakesTheLoopAndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead = true
		w.hours(t, 41*time.Minute)
		told := 0
		for _, done := range w.done {
			told += len(done)
		}
		if len(w.acts) != 1 || told != 1 {
			t.Fatalf("%d actions, journalled %d times; want 1 and 1", len(w.acts), told)
		}
		if gap := w.turns[1].At.Since(w.turns[0].At); gap != 0 {
			t.Errorf("the pass after the result came %v later, want at once", gap)
		}
		messages := map[string]int{}
		for _, turn := range w.turns {
			for _, m := range turn.Outbox {
				messages[m.Subject]++
			}
		}
		if len(messages) != 2 {
			t.Errorf("told %v, want one beginning and one all-clear", messages)
		}
	})
}

func TestBrokenPassDoesNotStopTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.broken = true
		go func() {
			time.Sleep(30 * time.Minute) // fake
			w.mu.Lock()
			w.broken = false
			w.mu.Unlock()
		}()
		w.hours(t, time.Hour-time.Second)
		if len(w.entries) != 1 || len(w.turns) == 0 {
			t.Errorf("%d entries and %d passes after the past could be read again, want 1 and some", len(w.entries), len(w.turns))
		}
	})
}

func TestWakesThatComeTogetherAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.flood = 1000 // while the first pass runs
		w.hours(t, 59*time.Second)
		if n := len(w.turns); n != 2 {
			t.Errorf("%d passes, want the first and one for a flood of 1000 wakes", n)
		}
	})
}

func TestPatrolGoesOnUntilNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead = true
		p, err := w.loop.Patrol(t.Context(), fleet.PatrolOrder{Apply: true, By: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Results) != 1 || len(p.Plan.Actions) != 1 || p.Number != 1 {
			t.Errorf("patrol %d: %d actions, %d results; want 1, 1, 1", p.Number, len(p.Plan.Actions), len(p.Results))
		}
		for _, f := range p.Assessment.Findings {
			t.Errorf("%s is still found after it was mended", f.AlertKey)
		}
		if len(w.entries) != 1 || len(w.entries[0].Assessment.Findings) == 0 {
			t.Error("the journal does not say what was found")
		}
	})
}

// What follows from a pass by itself is done by the patrol that found it: nobody else is
// woken where no daemon runs.
func TestPatrolGoesOnWithWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.records.Gates = []fleet.Gate{{Head: fleet.Head{ID: "g1", Revision: 1}, By: "ann", Type: fleet.GateCondition, Title: "quiet", When: "true", State: fleet.GateOpen,
			At: w.now(), Since: w.now(), Waiters: []string{fleet.Overseer}}}
		w.holds = func(_ fleet.Past, seen *fleet.Snapshot) {
			seen.Holds = []fleet.GateCheck{{Gate: "g1", Holds: fleet.Known(true)}}
		}
		w.run(20*time.Minute, time.Minute)
		if _, err := w.loop.Patrol(t.Context(), fleet.PatrolOrder{}); err != nil {
			t.Fatal(err)
		}
		if len(w.records.Mails) != 1 || !ledger.Unread(w.records.Mails[0], fleet.Overseer) || w.records.Mails[0].Copies[0].State != fleet.CopyTold {
			t.Errorf("mails %+v", w.records.Mails)
		}
	})
}

func TestPatrolEndsWhenNothingHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead, w.sticky = true, true
		p, err := w.loop.Patrol(t.Context(), fleet.PatrolOrder{Apply: true, By: "me"})
		if err != nil || len(p.Plan.Actions) != 1 || len(p.Plan.Skipped) != 1 {
			t.Errorf("%d actions, skipped %v, %v; want one action and then its cooldown", len(p.Plan.Actions), p.Plan.Skipped, err)
		}
	})
}

func TestLookWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead = true
		p, err := w.loop.Look(t.Context(), time.Minute, fleet.PatrolOrder{Apply: true, By: "me"})
		if err != nil || len(p.Plan.Actions) != 1 {
			t.Fatalf("plan %v, %v", p.Plan, err)
		}
		if len(w.turns)+len(w.entries) != 0 || !w.dead {
			t.Error("a look left a trace")
		}
	})
}

// What an agent tells of its plan is written down with the turn: it holds when the agent is gone.
func TestQuotasAreWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		quota := fleet.Quota{Window: "5h", Percent: 97, At: w.now().Wall, Resets: w.now().Wall.Add(5 * time.Hour)}
		w.holds = func(_ fleet.Past, s *fleet.Snapshot) {
			s.Agents.Value = []fleet.Agent{{Name: "a", Account: "own", Process: fleet.ProcessID{PID: 7, Start: 1}, Quota: []fleet.Quota{quota}}}
		}
		w.run(20*time.Minute, time.Minute)
		w.hours(t, time.Second)
		if len(w.turns) == 0 || !slices.Equal(w.turns[0].Quotas, []fleet.AccountQuota{{Account: "own", Quota: quota}}) {
			t.Errorf("%+v", w.turns)
		}
	})
}

// What is done without anybody's word is told beside what a word would lead to: it is the
// plan that a patrol by itself follows.
func TestLookTellsWhatIsDoneWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead, w.watches = true, true
		p, err := w.loop.Look(t.Context(), time.Minute, fleet.PatrolOrder{Apply: true, By: "me"})
		if err != nil || len(p.Plan.Actions) != 1 || p.Itself == nil || len(p.Itself.Actions) != 0 {
			t.Fatalf("%+v, %+v, %v", p.Plan, p.Itself, err)
		}
		own, err := w.loop.Look(t.Context(), time.Minute, fleet.PatrolOrder{})
		if err != nil || own.Itself != nil || !reflect.DeepEqual(own.Plan, *p.Itself) {
			t.Errorf("%+v is not %+v, %v", own.Plan, p.Itself, err)
		}
	})
}

// TestWakesWhenAGuardLifts: what a cooldown holds back is tried when it is over,
// though no tick and no patrol comes by.
func TestWakesWhenAGuardLifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.dead, w.sticky = true, true // it is tried, and does not help
		w.run(10*time.Hour, 10*time.Hour)
		w.hours(t, 2*time.Hour)
		if len(w.acts) < 2 {
			t.Errorf("tried %d times in two hours", len(w.acts))
		}
	})
}

// TestWakesWhenARuleIsDue: a rule that has to be true for a while fires when it
// has been, though no tick comes by.
func TestWakesWhenARuleIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		table := "[rule.slow]\npriority = \"P3\"\nover = \"lock\"\nexpr = \"lock.waited_for\"\nfor = \"7s\"\nsummary = \"'held'\"\n"
		set, err := (rules.Checker{}).Parse("rules.toml", []byte(table))
		if err != nil {
			t.Fatal(err)
		}
		w.rules = set
		w.run(10*time.Hour, 10*time.Hour)
		w.hours(t, time.Hour)
		last := w.turns[len(w.turns)-1]
		if len(w.turns) != 2 || last.At.Since(w.turns[0].At) != 7*time.Second || last.Assessment.Alerts[0].Status != fleet.AlertFiring {
			t.Errorf("%d passes; the last %v after the first, with %+v", len(w.turns), last.At.Since(w.turns[0].At), last.Assessment.Alerts)
		}
	})
}

// TestOvertakenTurnIsThoughtOutAgain: once, without a word; then it is trouble.
func TestOvertakenTurnIsThoughtOutAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMachine(t)
		w.clash = 1
		if err := w.loop.Pass(t.Context(), "test"); err != nil || w.looks != 2 || w.loop.Trouble() != "" {
			t.Errorf("%v after %d looks, trouble %q", err, w.looks, w.loop.Trouble())
		}
		w.clash = 2
		if err := w.loop.Pass(t.Context(), "test"); err == nil || w.looks != 4 || w.loop.Trouble() == "" {
			t.Errorf("%v after %d looks, trouble %q", err, w.looks, w.loop.Trouble())
		}
	})
}
