package decide

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// A forge is asked to merge one item at a time, in their order, and none while the queue is held or what it was asked is not seen
// to be done; what waits in its own queue keeps nobody waiting, and leaves that when it is not to be merged any more.
func TestNextAtForge(t *testing.T) {
	forgeQueue := fleet.MergeQueue{Name: "q", Project: "shop", Target: "main", Mode: fleet.MergeForge}
	s := fleet.Snapshot{At: fleet.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}}
	s.Forge.Sight = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	var past fleet.Past
	for n, p := range []fleet.Priority{fleet.P3, fleet.P1} {
		name, source, commit := fmt.Sprintf("shop!%d", 7+n), fmt.Sprintf("b%d", n), fmt.Sprintf("c%d", n)
		s.Forge.Value.Pulls = append(s.Forge.Value.Pulls, fleet.PullRequest{Name: name, Project: "shop", Owner: fleet.OwnerConfigured, Base: "main", Branch: source, Head: commit,
			Checks: fleet.Known("success"), Conflict: fleet.Known(false), Review: fleet.Known("none"), Age: fleet.Known(fleet.Duration(time.Hour))})
		past.Records.Merges = append(past.Records.Merges, fleet.MergeItem{Head: fleet.Head{ID: fmt.Sprintf("mq%d", 1+n), Revision: 1}, Queue: "q", Source: source, Commit: commit, Priority: p, State: fleet.MergeWaiting, Work: []fleet.Ref{fleet.Ref(name)}, At: s.At})
	}
	next := func() string {
		if i, pull := nextAtForge(ledger.NewMergeBook(forgeQueue, past, s.At), &past, &s); i != nil {
			return i.ID + " " + pull.Name
		}
		return ""
	}
	leaves := func() string {
		if i, _ := toDequeue(ledger.NewMergeBook(forgeQueue, past, s.At), &past, &s); i != nil {
			return i.ID
		}
		return ""
	}
	if got := next(); got != "mq2 shop!8" {
		t.Errorf("first %q", got)
	}
	for what, change := range map[string]func(*fleet.PullRequest){
		"red":            func(p *fleet.PullRequest) { p.Checks = fleet.Known("failure") },
		"not seen":       func(p *fleet.PullRequest) { p.Checks = fleet.Unknown[string]("not asked") },
		"of a fork":      func(p *fleet.PullRequest) { p.Fork = true },
		"in conflict":    func(p *fleet.PullRequest) { p.Conflict = fleet.Known(true) },
		"into another":   func(p *fleet.PullRequest) { p.Base = "next" },
		"watched only":   func(p *fleet.PullRequest) { p.Owner = fleet.OwnerForeign },
		"at another one": func(p *fleet.PullRequest) { p.Head = "c9" },
	} { // since it was found to be ready, a pass ago
		was := s.Forge.Value.Pulls[1]
		change(&s.Forge.Value.Pulls[1])
		if got := next(); got != "mq1 shop!7" {
			t.Errorf("%s by now: %q", what, got)
		}
		s.Forge.Value.Pulls[1] = was
	}
	asked := fleet.ActionRecord{Action: fleet.Action{Do: ledger.AskForge, For: fleet.AlertKey{Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq2"}}}, Stage: fleet.StageStarted, PlannedAt: s.At}
	past.Actions = []fleet.ActionRecord{asked}
	if got := next(); got != "" {
		t.Errorf("while it is asked: %q", got)
	}
	past.Actions[0].Stage, past.Actions[0].Result = fleet.StageEnded, &fleet.Result{Status: fleet.ResultDone, Ended: s.At, Merge: &fleet.MergeOutcome{Commit: "m"}}
	past.Records.Merges[1].Waits = "its forge was asked to merge shop!8"
	if got := next(); got != "" {
		t.Errorf("before its merge is seen: %q", got)
	}
	past.Actions[0].Result.Merge.Commit = ""
	if got := next(); got != "mq1 shop!7" || leaves() != "" {
		t.Errorf("beside the forge's own queue: %q, leaves %q", got, leaves())
	}
	past.Actions = append(past.Actions, fleet.ActionRecord{Action: fleet.Action{Do: ledger.AskForge, For: fleet.AlertKey{Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq1"}}}, Stage: fleet.StageEnded, PlannedAt: s.At, Result: &fleet.Result{Status: fleet.ResultFailed}})
	if got := next(); got != "mq1 shop!7" {
		t.Errorf("one that was refused, alone: %q", got)
	}
	past.Records.Merges[1].Waits, past.Actions[0].Result.Status = "", fleet.ResultFailed
	past.Records.Merges[0].Priority = fleet.P0
	past.Actions = past.Actions[1:]
	if got := next(); got != "mq2 shop!8" {
		t.Errorf("beside one that was refused: %q", got)
	}
	past.Actions = []fleet.ActionRecord{asked}
	past.Actions[0].Stage, past.Actions[0].Result = fleet.StageEnded, &fleet.Result{Status: fleet.ResultDone, Ended: s.At, Merge: &fleet.MergeOutcome{}}
	past.Records.Merges[1].Waits = "its forge has shop!8 in its own queue"
	past.Records.MergeHolds = []fleet.MergeHold{{Head: fleet.Head{Key: "q"}, Queue: "q", Held: true, Why: "release day", By: "ann"}}
	if got := next(); got != "" || leaves() != "mq2" {
		t.Errorf("while it is held: %q, leaves %q", got, leaves())
	}
	left := asked
	left.Do, left.Stage, left.PlannedAt, left.Result = ledger.LeaveForge, fleet.StageEnded, s.At.Add(time.Second), &fleet.Result{Status: fleet.ResultDone}
	if past.Actions = append(past.Actions, left); leaves() != "" {
		t.Errorf("it leaves once: %q", leaves())
	}
}
