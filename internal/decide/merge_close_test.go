package decide

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// mergedWorld is a world with an item that was merged a minute ago, by whom, and names an issue that is open.
func mergedWorld(by string) *world {
	w := newWorld()
	w.policy.Merges = []fleet.MergeQueue{{Name: "q", Target: "main"}}
	w.policy.Abilities["close-issue"] = fleet.Ability{Do: "close-issue", Idempotent: true, Touches: []fleet.PartName{fleet.PartForge}}
	w.snap.Forge.Value.Issues = []fleet.Issue{{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: fleet.Known(true)}}
	i := fleet.MergeItem{Head: fleet.Head{ID: "mq3"}, Queue: "q", Commit: "cafe", Merged: "0123456789abcdef", Work: []fleet.Ref{"shop#12"}, State: fleet.MergeMerged, By: by, Since: w.snap.At.Add(-time.Minute)}
	w.past.Records.Merges = []fleet.MergeItem{i}
	return w
}

// What a merged item names is closed through every guard: a person who added it has approved of it, an agent
// has not. What holds it back is said.
func TestCloseMerged(t *testing.T) {
	attempt := func(ended time.Duration, status fleet.ResultStatus) fleet.ActionRecord {
		s := fleet.Subject{Kind: fleet.KindIssue, Name: "shop#12"}
		a := fleet.ActionRecord{Action: fleet.Action{ID: ended.String(), Do: "close-issue", Subject: s, For: fleet.AlertKey{Rule: ruleMerge, Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq3"}}},
			Stage: fleet.StageEnded, PlannedAt: at("10:00").Add(-ended), Result: &fleet.Result{Status: status, Ended: at("10:00").Add(-ended)}}
		if status == "" {
			a.Stage, a.Result = fleet.StageStarted, nil
		}
		return a
	}
	for name, c := range map[string]struct {
		by, held string // held "-": nothing is even asked
		change   func(*world)
	}{
		"auto, a person":    {"ann", "", func(*world) {}},
		"auto, an agent":    {"agent/dev", "", func(*world) {}},
		"ask, a person":     {"ann", "", func(w *world) { w.policy.Mode = fleet.ModeAsk }},
		"ask, an agent":     {"agent/dev", "a person must approve", func(w *world) { w.policy.Mode = fleet.ModeAsk }},
		"observe, a person": {"ann", "", func(w *world) { w.policy.Mode = fleet.ModeObserve }},
		"observe, an agent": {"agent/dev", "mode observe", func(w *world) { w.policy.Mode = fleet.ModeObserve }},
		"frozen":            {"ann", "frozen: by bob", func(w *world) { w.policy.Frozen = "by bob" }},
		"paused": {"ann", "project shop is paused", func(w *world) {
			w.past.Silences = []fleet.Silence{fleet.PauseProject("shop", "ann", "", at("09:00"))}
		}},
		"watch only":    {"ann", "not configured", func(w *world) { w.snap.Forge.Value.Issues[0].Owner = fleet.OwnerForeign }},
		"seen long ago": {"ann", "-", func(w *world) { w.snap.Forge.Status = fleet.StatusStale }},
		"touched since": {"ann", "before the last action here ended", func(w *world) {
			w.snap.Forge.At = at("09:00")
			w.past.Actions = []fleet.ActionRecord{attempt(time.Minute*2, fleet.ResultFailed)}
		}},
		"no forge": {"ann", "no forge is configured", func(w *world) {
			w.policy.Abilities["close-issue"] = fleet.Ability{Do: "close-issue", Cannot: "no forge is configured"}
		}},
		"under way":       {"ann", "-", func(w *world) { w.past.Actions = []fleet.ActionRecord{attempt(time.Minute, "")} }},
		"done":            {"ann", "-", func(w *world) { w.past.Actions = []fleet.ActionRecord{attempt(time.Minute, fleet.ResultDone)} }},
		"settled":         {"ann", "-", func(w *world) { w.past.Records.Merges[0].Settled = []fleet.MergeElsewhere{{Ref: "shop#12"}} }},
		"another queue":   {"ann", "-", func(w *world) { w.policy.Merges[0].Name = "r" }},
		"failed long ago": {"ann", "", func(w *world) { w.past.Actions = []fleet.ActionRecord{attempt(time.Hour, fleet.ResultFailed)} }},
		"failed too often": {"ann", "5 of 5", func(w *world) {
			w.past.Actions = []fleet.ActionRecord{attempt(time.Hour, fleet.ResultFailed), attempt(2*time.Hour, fleet.ResultFailed), attempt(3*time.Hour, fleet.ResultFailed), attempt(4*time.Hour, fleet.ResultFailed), attempt(5*time.Hour, fleet.ResultFailed)}
		}},
	} {
		w := mergedWorld(c.by)
		c.change(w)
		p := Decide(w.policy, w.snap, w.found, w.past)
		switch {
		case c.held == "":
			if len(p.Actions) != 1 || p.Actions[0].By != c.by || p.Actions[0].Approved != "" || p.Actions[0].Text != "merged as 0123456789ab by mq3 into main" {
				t.Errorf("%s: %+v, skipped %+v", name, p.Actions, p.Skipped)
			}
		case len(p.Actions) != 0, c.held == "-" && len(p.Skipped) != 0, c.held != "-" && (len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Why, c.held)):
			t.Errorf("%s: %+v, skipped %+v; want %q", name, p.Actions, p.Skipped, c.held)
		}
	}
}

// What was made for a group is cleared though its queue is not configured any more, as long as it is remembered
// where that was.
func TestClearOfAQueueThatIsGone(t *testing.T) {
	w := newWorld()
	w.policy.Abilities[doClearMerge] = fleet.Ability{Do: doClearMerge, Idempotent: true}
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1"}, Queue: "old", State: fleet.GroupDropped, Worktree: "/w/mg1-1", Since: w.snap.At}
	w.past.Records.MergeGroups = []fleet.MergeGroup{g}
	if p := Decide(w.policy, w.snap, w.found, w.past); len(p.Actions) != 0 {
		t.Errorf("%+v", p.Actions)
	}
	q := fleet.MergeQueue{Name: "old", Repo: "/src/shop"}
	w.past.Actions = []fleet.ActionRecord{{Action: fleet.Action{Do: doBuildMerge, Target: fleet.Target{Merge: &fleet.MergeTarget{Queue: q, Group: g}}}, Stage: fleet.StageEnded, PlannedAt: at("09:00"), Result: &fleet.Result{Status: fleet.ResultDone, Ended: at("09:01")}}}
	p := Decide(w.policy, w.snap, w.found, w.past)
	if len(p.Actions) != 1 || p.Actions[0].Do != doClearMerge || p.Actions[0].Target.Merge.Queue.Repo != "/src/shop" {
		t.Errorf("%+v, %+v", p.Actions, p.Skipped)
	}
}
