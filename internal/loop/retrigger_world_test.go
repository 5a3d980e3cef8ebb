package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/act"
	"custos/internal/act/retrigger"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/loop"
	ciprobe "custos/internal/observe/ci"
	"custos/internal/rules"
	"custos/internal/sys/ci"
)

// ciWorld is a CI system that need not be true to any: each time somebody looks,
// numbers, states, attempts, causes and what is listed at all may be others. Only
// what was asked to be run again is written down as it was.
type ciWorld struct {
	rand  *rand.Rand
	at    time.Time
	again map[string]int // by commit
	next  int64
}

const worldCommits = 3

func (w *ciWorld) Pipelines(context.Context) (ci.Listing, error) {
	if w.rand.IntN(20) == 0 {
		return ci.Listing{}, errors.New("it is down")
	}
	out := ci.Listing{Primary: "main", At: w.at}
	for range w.rand.IntN(5) {
		out.Pipelines = append(out.Pipelines, w.pipeline())
	}
	return out, nil
}

func (w *ciWorld) Pipeline(_ context.Context, id int64) (ci.Pipeline, error) {
	p := w.pipeline()
	p.ID, p.Number = id, id
	return p, nil
}

func (w *ciWorld) pipeline() ci.Pipeline {
	if w.rand.IntN(2) == 0 {
		w.next++
	}
	id := w.next
	if w.rand.IntN(5) == 0 {
		id = 1 + w.rand.Int64N(w.next+1)
	}
	state := ci.Failure
	if w.rand.IntN(5) == 0 {
		state = []string{ci.Success, ci.Running, ci.Pending, ci.Cancelled, ci.Blocked, ""}[w.rand.IntN(6)]
	}
	ended := w.at.Add(-time.Minute)
	return ci.Pipeline{ID: id, Number: id, Attempt: w.rand.IntN(4), Event: "push", Branch: "main",
		Head: strconv.Itoa(1 + w.rand.IntN(worldCommits)), State: state, Created: ended, Started: ended, Ended: ended}
}

func (w *ciWorld) Failed(context.Context, ci.Pipeline) ([]ci.Step, error) {
	return []ci.Step{{Name: "build/push", Exit: 137}}, nil
}

func (w *ciWorld) Workers(context.Context) ([]ci.Worker, time.Time, error) { return nil, w.at, nil }

func (w *ciWorld) Again(_ context.Context, p ci.Pipeline) error {
	w.again[p.Head]++
	if w.rand.IntN(4) == 0 {
		return errors.New("its answer broke off")
	}
	return nil
}

// No world makes Custos run one commit again more often than its rule allows: not
// one that gives each repetition a new number and calls it the first.
func TestNoWorldIsRunAgainForEver(t *testing.T) {
	set, err := rules.Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	fleettest.Checks(t, 30) // of half a day each
	rapid.Check(t, func(rt *rapid.T) {
		w := &ciWorld{rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "world"), 0)), at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), again: map[string]int{}, next: 1}
		probe, err := ciprobe.New(ciprobe.Options{Systems: []ciprobe.System{{Name: "x", Project: "widget", Owner: fleet.OwnerConfigured, Reader: w}}})
		if err != nil {
			rt.Fatal(err)
		}
		action := retrigger.New(retrigger.Options{Systems: map[string]retrigger.System{"x": {Looker: w, Hand: w}}})
		var past fleet.Past
		for round := range 60 { // half a day
			w.at = w.at.Add(12 * time.Minute)
			now := fleet.Instant{Wall: w.at, Boot: "b", Up: fleet.Duration(round+1) * fleet.Duration(12*time.Minute)}
			past = w.round(rt.Context(), set, probe, action, now, past)
		}
		for head, n := range w.again {
			if n > 2 {
				rt.Errorf("commit %s was run again %d times", head, n)
			}
		}
	})
}

// round is one pass over what the world shows now, and what it asks for done.
func (w *ciWorld) round(ctx context.Context, set *rules.Set, probe *ciprobe.Probe, action *retrigger.Action, now fleet.Instant, past fleet.Past) fleet.Past {
	put, err := probe.Look(ctx)
	seen := fleet.Snapshot{At: now}
	sight := fleet.Sight{Status: fleet.StatusOK, At: now}
	if err != nil {
		sight = fleet.Sight{Status: fleet.StatusUnknown, At: now, Why: err.Error()}
	}
	put(&seen)
	seen.CI.Sight = sight
	policy := fleet.Policy{Mode: fleet.ModeAuto, Abilities: map[string]fleet.Ability{retrigger.Do: action.Ability()}}
	pass := loop.Judge(set, fleet.Recording{Snapshot: seen, Past: past, Policy: policy})
	past.Alerts = pass.Assessment.Alerts
	past.StartedAt = now
	for _, a := range pass.Plan.Actions {
		past.Actions = append(past.Actions, w.perform(ctx, action, a, now))
	}
	return past
}

func (w *ciWorld) perform(ctx context.Context, action *retrigger.Action, a fleet.Action, now fleet.Instant) fleet.ActionRecord {
	r := fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, PlannedAt: now, StartedAt: now}
	r.Result = &fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Ended: now, Status: fleet.ResultDone}
	run, err := action.Prepare(ctx, a)
	if err == nil {
		err = run.Do(ctx)
	}
	switch {
	case errors.Is(err, act.ErrUnneeded):
		r.Result.Status = fleet.ResultUnneeded
	case errors.Is(err, act.ErrRefused):
		r.Result.Status = fleet.ResultRefused
	case err != nil:
		r.Result.Status, r.Result.Why = fleet.ResultFailed, fmt.Sprint(err)
	}
	return r
}
