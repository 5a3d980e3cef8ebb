package ledger

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestNudged(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(24 * time.Hour), Boot: "b"}
	nudge := func(name string, ago time.Duration, change func(*fleet.ActionRecord)) fleet.ActionRecord {
		r := fleet.ActionRecord{Action: fleet.Action{Do: "nudge", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: name}},
			Result: &fleet.Result{Status: fleet.ResultDone, Ended: now.Add(-ago)}}
		if change != nil {
			change(&r)
		}
		return r
	}
	past := fleet.Past{Actions: []fleet.ActionRecord{
		nudge("a", time.Hour, nil), nudge("a", 2*time.Hour, func(r *fleet.ActionRecord) { r.Result.Status = fleet.ResultUnverified }),
		nudge("a", 7*time.Hour, nil),
		nudge("a", time.Minute, func(r *fleet.ActionRecord) { r.Order = "o1" }),
		nudge("a", time.Minute, func(r *fleet.ActionRecord) { r.Result.Unbegun = true }),
		nudge("a", time.Minute, func(r *fleet.ActionRecord) { r.Result.Status = fleet.ResultRefused }),
		nudge("a", time.Minute, func(r *fleet.ActionRecord) { r.Result = nil }),
		nudge("a", time.Minute, func(r *fleet.ActionRecord) { r.Do = "stop" }),
	}}
	seen := fleet.Snapshot{At: now}
	seen.Agents.Value = []fleet.Agent{{Name: "a"}, {Name: "b"}}
	got := Nudged(past, seen)
	if got[0].Nudges != 2 || got[1].Nudges != 0 {
		t.Errorf("%d and %d nudges, want 2 and 0", got[0].Nudges, got[1].Nudges)
	}
	if seen.Agents.Value[0].Nudges != 0 {
		t.Error("the snapshot that others share was changed")
	}
}
