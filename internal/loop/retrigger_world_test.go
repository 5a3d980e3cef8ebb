package loop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
	again map[commitRun]int
	next  int64

	workflows, branches, commits []string // that it has
}

func newCIWorld(seed uint64) *ciWorld {
	r := rand.New(rand.NewPCG(seed, 0))
	return &ciWorld{rand: r, at: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), again: map[commitRun]int{}, next: 1,
		workflows: someOf(r, worldWorkflows), branches: someOf(r, worldBranches), commits: someOf(r, worldCommits)}
}

// commitRun is what a rule may have run again so often: the runs of one workflow, on one
// branch, at one commit.
type commitRun struct{ workflow, branch, head string }

func commitRunOf(p ci.Pipeline) commitRun { return commitRun{p.Workflow, p.Branch, p.Head} }

// Names that a careless key would take for each other.
var (
	worldWorkflows = []string{"", "ci.yml", "ci.yml/main", "night #2"}
	worldBranches  = []string{"main", "main/1", "fix", ""}
	worldCommits   = []string{"1", "2", "main"}
)

// someOf is one word at least: a world of few has the same again and again.
func someOf(r *rand.Rand, words []string) []string {
	some := slices.Clone(words)
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:1+r.IntN(len(some))]
}

func oneOf(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }

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
	return ci.Pipeline{ID: id, Number: id, Attempt: w.rand.IntN(4), Event: oneOf(w.rand, []string{"push", "pull_request", "cron"}),
		Workflow: oneOf(w.rand, w.workflows), Branch: oneOf(w.rand, w.branches), Head: oneOf(w.rand, w.commits), State: state, Created: ended, Started: ended, Ended: ended}
}

func (w *ciWorld) Failed(context.Context, ci.Pipeline) ([]ci.Step, error) {
	return []ci.Step{{Name: "build/push", Exit: 137}}, nil
}

func (w *ciWorld) Workers(context.Context) ([]ci.Worker, time.Time, error) { return nil, w.at, nil }

func (w *ciWorld) Again(_ context.Context, p ci.Pipeline) error {
	w.again[commitRunOf(p)]++
	if w.rand.IntN(4) == 0 {
		return errors.New("its answer broke off")
	}
	return nil
}

// No world makes Custos run one workflow on one branch at one commit again more often than
// its rule allows: not one that gives each repetition a new number and calls it the first.
func TestNoWorldIsRunAgainForEver(t *testing.T) {
	fleettest.Checks(t, 30) // of half a day each
	set, full, several := builtinRules(t), false, false
	rapid.Check(t, func(rt *rapid.T) {
		w := newCIWorld(rapid.Uint64().Draw(rt, "world"))
		d := newCIDay(rt, set, w, w)
		for range 60 { // half a day
			w.at = w.at.Add(12 * time.Minute)
			d.round(rt.Context(), w.at)
		}
		for what, n := range w.again {
			if n > 2 {
				rt.Errorf("%+v was run again %d times", what, n)
			}
			full = full || n == 2
		}
		several = several || len(w.again) > 2
	})
	if !t.Failed() && (!full || !several) {
		t.Errorf("the worlds show nothing: one was run again as often as may be: %v, several were: %v", full, several)
	}
}

// ciDay is Custos beside a CI system, from pass to pass.
type ciDay struct {
	set    *rules.Set
	probe  *ciprobe.Probe
	action *retrigger.Action
	past   fleet.Past
	rounds int
}

type ciReader interface {
	ciprobe.Reader
	retrigger.Looker
}

func builtinRules(t *testing.T) *rules.Set {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func newCIDay(t *rapid.T, set *rules.Set, r ciReader, writer retrigger.Writer) *ciDay {
	probe, err := ciprobe.New(ciprobe.Options{Systems: []ciprobe.System{{Name: "x", Project: "widget", Owner: fleet.OwnerConfigured, Reader: r}}})
	if err != nil {
		t.Fatal(err)
	}
	action := retrigger.New(retrigger.Options{Systems: map[string]retrigger.System{"x": {Looker: r, Writer: writer}}})
	return &ciDay{set: set, probe: probe, action: action}
}

// round is one pass over what the world shows now, and what it asks for done.
func (d *ciDay) round(ctx context.Context, at time.Time) {
	d.rounds++
	now := fleet.Instant{Wall: at, Boot: "b", Up: fleet.Duration(d.rounds) * fleet.Duration(12*time.Minute)}
	put, err := d.probe.Look(ctx)
	seen := fleet.Snapshot{At: now}
	sight := fleet.Sight{Status: fleet.StatusOK, At: now}
	if err != nil {
		sight = fleet.Sight{Status: fleet.StatusUnknown, At: now, Why: err.Error()}
	}
	put(&seen)
	seen.CI.Sight = sight
	policy := fleet.Policy{Mode: fleet.ModeAuto, Abilities: map[string]fleet.Ability{retrigger.Do: d.action.Ability()}}
	pass := loop.Judge(d.set, fleet.Recording{Snapshot: seen, Past: d.past, Policy: policy})
	d.past.Alerts = pass.Assessment.Alerts
	d.past.StartedAt = now
	for _, a := range pass.Plan.Actions {
		d.past.Actions = append(d.past.Actions, d.perform(ctx, a, now))
	}
}

func (d *ciDay) perform(ctx context.Context, a fleet.Action, now fleet.Instant) fleet.ActionRecord {
	r := fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, PlannedAt: now, StartedAt: now}
	r.Result = &fleet.Result{ActionID: a.ID, Do: a.Do, Subject: a.Subject, For: a.For, Ended: now, Status: fleet.ResultDone}
	run, err := d.action.Prepare(ctx, a)
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
