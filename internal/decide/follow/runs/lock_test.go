package runs

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// lockedRun is a run of one command, whose factory has a lock of its own.
func lockedRun(t *testing.T) fleet.Run {
	t.Helper()
	r, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, fleet.Run{ID: "r1", Formula: "f", By: "ann", Mode: fleet.RunSteps, Dir: "/state/runs/r1", Work: "/w", Lock: "/tmp/f.lock",
		Steps: []fleet.RunStep{{ID: "one", Do: fleet.StepRun, Argv: []string{"true"}}}}, at(0))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func held(h fleet.Hold) fleet.Leaf[fleet.Hold] { return fleet.Known(h) }

// took is the record of the action that takes the lock, as it ended after so long.
func took(status fleet.ResultStatus, why string, after time.Duration) []fleet.ActionRecord {
	rec := fleet.ActionRecord{Action: fleet.Action{ID: "act-1", Do: doHoldLock}, Stage: fleet.StageStarted}
	if status != "" {
		rec.Stage, rec.Result = fleet.StageEnded, &fleet.Result{Status: status, Why: why, Ended: at(after)}
	}
	return []fleet.ActionRecord{rec}
}

// A run begins once its lock is seen to be held for it, and not a moment earlier.
func TestARunWaitsForItsLock(t *testing.T) {
	cannot := fleet.Policy{Abilities: map[string]fleet.Ability{doHoldLock: {Do: doHoldLock, Cannot: "of another pid namespace"}}}
	for name, c := range map[string]struct {
		facts   fleet.RunFacts
		actions []fleet.ActionRecord
		policy  fleet.Policy
		step    fleet.StepState
		why     string
	}{
		"held":                {facts: fleet.RunFacts{Held: held(fleet.HoldOurs)}, step: fleet.StepReady, why: "may begin"},
		"free":                {facts: fleet.RunFacts{Held: held("")}, step: fleet.StepWaiting, why: "not taken yet"},
		"left by us":          {facts: fleet.RunFacts{Held: held(fleet.HoldLeft)}, step: fleet.StepWaiting, why: "not taken yet"},
		"unknown":             {facts: fleet.RunFacts{Held: fleet.Unknown[fleet.Hold]("no right")}, step: fleet.StepWaiting, why: "not known whether its lock is held: no right"},
		"being taken":         {facts: fleet.RunFacts{Held: held("")}, actions: took("", "", 0), step: fleet.StepWaiting, why: "being taken"},
		"seen before the end": {facts: fleet.RunFacts{Held: held("")}, actions: took(fleet.ResultDone, "", time.Hour), step: fleet.StepWaiting, why: "being taken"},
		"refused":             {facts: fleet.RunFacts{Held: held("")}, actions: took(fleet.ResultRefused, "process 7 lives", 0), step: fleet.StepSkipped, why: "process 7 lives"},
		"failed":              {facts: fleet.RunFacts{Held: held("")}, actions: took(fleet.ResultFailed, "no such folder", 0), step: fleet.StepSkipped, why: "no such folder"},
		"in doubt":            {facts: fleet.RunFacts{Held: held("")}, actions: took(fleet.ResultInDoubt, "", 0), step: fleet.StepWaiting, why: "not taken yet"},
		"cannot be":           {facts: fleet.RunFacts{Held: held("")}, policy: cannot, step: fleet.StepReady, why: "may begin"},
	} {
		t.Run(name, func(t *testing.T) {
			r := lockedRun(t)
			if c.actions != nil {
				r.Holding = "act-1"
			}
			c.facts.ID, c.facts.Locked = "r1", fleet.Known("")
			snap := seenRun(c.facts)
			got := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{r}, Actions: c.actions}, Snapshot: snap, Policy: c.policy})
			if len(got.Runs) != 1 || got.Runs[0].Steps[0].State != c.step || !strings.Contains(got.Runs[0].Why, c.why) {
				t.Errorf("%+v", got.Runs)
			}
		})
	}
}

func seenRun(facts fleet.RunFacts) fleet.Snapshot {
	snap := fleet.Snapshot{At: at(time.Minute)}
	snap.Runs.Sight = fleet.Sight{Status: fleet.StatusOK, At: at(time.Minute)}
	snap.Runs.Value = []fleet.RunFacts{facts}
	return snap
}

// Which action takes the lock is committed with the plan, and forgotten only when the
// run is over and the lock is seen to be given back.
func TestTheLockIsFollowedToItsEnd(t *testing.T) {
	r := lockedRun(t)
	plan := fleet.Plan{Actions: []fleet.Action{{ID: "act-1", Do: doHoldLock, Target: fleet.Target{Step: &fleet.StepTarget{Run: r}}}}}
	got := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{r}}, Snapshot: seenRun(fleet.RunFacts{ID: "r1", Locked: fleet.Known(""), Held: held("")}), Plan: plan})
	if len(got.Runs) != 1 || got.Runs[0].Holding != "act-1" {
		t.Fatalf("%+v", got.Runs)
	}
	over := got.Runs[0]
	over.State, over.EndedAt = fleet.RunDone, at(0)
	for name, c := range map[string]struct {
		held    fleet.Leaf[fleet.Hold]
		actions []fleet.ActionRecord
		gone    bool
	}{
		"still held":          {held: held(fleet.HoldOurs), actions: took(fleet.ResultDone, "", 0)},
		"left by us":          {held: held(fleet.HoldLeft), actions: took(fleet.ResultDone, "", 0)},
		"unknown":             {held: fleet.Unknown[fleet.Hold]("no right"), actions: took(fleet.ResultDone, "", 0)},
		"it may yet come":     {held: held(""), actions: took("", "", 0)},
		"seen before the end": {held: held(""), actions: took(fleet.ResultDone, "", time.Hour)},
		"given back":          {held: held(""), actions: took(fleet.ResultDone, "", 0), gone: true},
		"nobody remembers":    {held: held(""), gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{over}, Actions: c.actions}, Snapshot: seenRun(fleet.RunFacts{ID: "r1", Held: c.held})})
			if gone := len(got.Runs) == 1 && got.Runs[0].Holding == ""; gone != c.gone || !c.gone && len(got.Runs) != 0 {
				t.Errorf("%+v", got.Runs)
			}
		})
	}
}

// A run whose lock another took meanwhile goes on, and says so.
func TestALostLockIsTold(t *testing.T) {
	r := lockedRun(t)
	r.Steps[0].State, r.Steps[0].Attempt = fleet.StepRunning, 1
	facts := fleet.RunFacts{ID: "r1", Locked: fleet.Known("process 7 (cron)"), Held: held(""), Steps: []fleet.StepFacts{{Step: "one", Attempt: 1, State: fleet.ProcRunning}}}
	got := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{r}}, Snapshot: seenRun(facts)}).Runs
	if len(got) != 1 || got[0].Steps[0].State != fleet.StepRunning || !strings.Contains(got[0].Why, "step one runs; its lock is held by process 7 (cron)") {
		t.Errorf("%+v", got)
	}
}
