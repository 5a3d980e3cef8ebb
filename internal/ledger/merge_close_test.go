package ledger_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// merged is an item that was merged so long ago, and what it names.
func merged(ago time.Duration, work ...fleet.Ref) fleet.MergeItem {
	return mergeItem("mq3", func(i *fleet.MergeItem) {
		i.State, i.Merged, i.Commit, i.Work, i.Since = fleet.MergeMerged, "0123456789abcdef", "cafe", work, mergeNoon.Add(-ago)
	})
}

// shopSeen is what a forge and a tracker of beads show: an issue and a bead of dev's, one issue that is closed, and
// two pull requests of dev's.
func shopSeen() fleet.Snapshot {
	s := fleet.Snapshot{At: mergeNoon}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	}
	s.Forge.Value.Issues = []fleet.Issue{
		{Name: "shop#12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Open: fleet.Known(true), Agent: "dev"},
		{Name: "shop#13", Project: "shop", Number: 13, Owner: fleet.OwnerConfigured, Open: fleet.Known(false)},
	}
	age := fleet.Known(fleet.Duration(time.Hour))
	s.Forge.Value.Pulls = []fleet.PullRequest{{Name: "shop!7", Project: "shop", Number: 7, Head: "cafe", Age: age, Agent: "dev"}, {Name: "shop!8", Project: "shop", Number: 8, Head: "beef", Age: age, Agent: "dev"}}
	s.Beads.Value = []fleet.Bead{{ID: "hq-a1", Project: "shop", State: fleet.WorkTaken, Assignee: "dev"}}
	return s
}

// A person names whatever there is, and what cannot be seen now; an agent what is its own. What is closed is
// not closed again.
func TestMayCloseByMerge(t *testing.T) {
	blind, none := shopSeen(), shopSeen()
	blind.Forge.Sight = fleet.Sight{Status: fleet.StatusUnknown, Why: "it does not answer"}
	none.Forge.Sight = fleet.Sight{Status: fleet.StatusAbsent}
	for _, c := range []struct {
		ref  fleet.Ref
		by   string
		snap fleet.Snapshot
		want string
	}{
		{"shop#12", "ann", shopSeen(), ""},
		{"shop#12", "agent/dev", shopSeen(), ""},
		{"bd:hq-a1", "agent/dev", shopSeen(), ""},
		{"shop!7", "agent/dev", shopSeen(), ""},
		{"shop#12", "ann", blind, ""},
		{"w1", "agent/eve", shopSeen(), ""}, // AddMerge asks about it
		{"shop#12", "agent/dev", blind, "shop#12 is not seen now: its tracker is not seen now: it does not answer"},
		{"shop#12", "ann", none, "there is no such tracker here"},
		{"shop#12", "agent/eve", shopSeen(), "shop#12 is not eve's"},
		{"bd:hq-a1", "agent/eve", shopSeen(), "bd:hq-a1 is not eve's"},
		{"shop!7", "agent/eve", shopSeen(), "shop!7 is not eve's"},
		{"shop!7", "agent/", shopSeen(), "shop!7 is not 's"},
		{"shop#13", "ann", shopSeen(), "shop#13 is closed"},
		{"shop#99", "ann", shopSeen(), "shop#99 is not seen now: its tracker does not show it"},
		{"shop#7", "ann", shopSeen(), "shop#7 is a pull request: shop!7"},
	} {
		err := ledger.MayCloseByMerge(fleet.Past{}, c.snap, []fleet.Ref{c.ref}, c.by)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s by %s: %v, want %q", c.ref, c.by, err, c.want)
		}
	}
}

// closing is what is said of the one thing that an item names.
func closing(t *testing.T, i fleet.MergeItem, snap fleet.Snapshot, actions ...fleet.ActionRecord) ledger.MergeClosing {
	t.Helper()
	list := ledger.MergeClosings(fleet.MergeQueue{Name: "q", Target: "main"}, fleet.Past{Records: fleet.Records{Merges: []fleet.MergeItem{i}}, Actions: actions}, snap)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	return list[0]
}

// What is seen open is closed by the action for it, and what is to be left is left, and why is said.
func TestMergeClosings(t *testing.T) {
	blind, taken := shopSeen(), shopSeen()
	blind.Forge.Sight = fleet.Sight{Status: fleet.StatusStale}
	taken.Forge.Value.Issues[0].Agent = "eve"
	of := func(i fleet.MergeItem, agent string) fleet.MergeItem { i.Agent = agent; return i }
	for name, c := range map[string]struct {
		item    fleet.MergeItem
		snap    fleet.Snapshot
		do, why string
		settled bool
	}{
		"an issue":                  {merged(time.Minute, "shop#12"), shopSeen(), "close-issue", "", false},
		"its author's":              {of(merged(time.Minute, "shop#12"), "dev"), shopSeen(), "close-issue", "", false},
		"a bead":                    {merged(time.Minute, "bd:hq-a1"), shopSeen(), "close-bead", "", false},
		"closed":                    {merged(time.Minute, "shop#13"), shopSeen(), "", "", true},
		"not seen":                  {merged(time.Minute, "shop#12"), blind, "", "it is not seen now", false},
		"given to another":          {of(merged(time.Minute, "shop#12"), "dev"), taken, "", "eve has it now", true},
		"a person named it":         {merged(time.Minute, "shop#12"), taken, "close-issue", "", false},
		"a day old":                 {merged(25*time.Hour, "shop#12"), shopSeen(), "", "it was open a day after the merge", true},
		"a day old and not seen":    {merged(25*time.Hour, "shop#12"), blind, "", "a day after the merge: it is not seen now", true},
		"a pull request, young":     {merged(9*time.Minute, "shop!7"), shopSeen(), "", "may yet see by itself", false},
		"a pull request, open":      {merged(10*time.Minute, "shop!7"), shopSeen(), "close-pull", "", false},
		"a pull request, moved on":  {merged(10*time.Minute, "shop!8"), shopSeen(), "", "its head is beef, and cafe was merged", true},
		"a pull request, not there": {merged(10*time.Minute, "shop!9"), shopSeen(), "", "its tracker does not show it", false},
	} {
		got := closing(t, c.item, c.snap)
		do := ""
		if got.Wish != nil {
			if do = got.Wish.Do; got.Wish.Text != "merged as 0123456789ab by mq3 into main" || got.Part == "" || got.Wish.Target == (fleet.Target{}) {
				t.Errorf("%s: %+v", name, got.Wish)
			}
		}
		if do != c.do || got.Settled != c.settled || !strings.Contains(got.Why, c.why) || c.why == "" && got.Why != "" {
			t.Errorf("%s: %q, settled %v, %q", name, do, got.Settled, got.Why)
		}
	}
}

// What an action came to counts before what is seen, which may be older.
func TestMergeClosingsAfterAnAction(t *testing.T) {
	ended := func(status fleet.ResultStatus, unbegun bool, item string) fleet.ActionRecord {
		return fleet.ActionRecord{Action: fleet.Action{Do: "close-issue", Subject: fleet.Subject{Kind: fleet.KindIssue, Name: "shop#12"}, For: fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: item}}},
			PlannedAt: mergeNoon, Result: &fleet.Result{Status: status, Unbegun: unbegun, Why: "so it was"}}
	}
	for name, c := range map[string]struct {
		action        fleet.ActionRecord
		settled, wish bool
		why           string
	}{
		"done":                 {ended(fleet.ResultDone, false, "mq3"), true, false, ""},
		"unneeded":             {ended(fleet.ResultUnneeded, false, "mq3"), true, false, ""},
		"refused":              {ended(fleet.ResultRefused, false, "mq3"), true, false, "so it was"},
		"frozen at that time":  {ended(fleet.ResultRefused, true, "mq3"), false, true, "so it was"},
		"failed":               {ended(fleet.ResultFailed, false, "mq3"), false, true, "so it was"},
		"in doubt":             {ended(fleet.ResultInDoubt, false, "mq3"), false, true, "so it was"},
		"done for another one": {ended(fleet.ResultDone, false, "mq4"), false, true, ""},
	} {
		got := closing(t, merged(time.Minute, "shop#12"), shopSeen(), c.action)
		if got.Settled != c.settled || (got.Wish != nil) != c.wish || got.Why != c.why {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What is settled is asked of no more, though it is opened again; and trackers are asked for what is not.
func TestSettledForGood(t *testing.T) {
	i := ledger.SettleMerge(merged(time.Minute, "w1", "shop#12", "bd:hq-a1"), "shop#12", "")
	if got := closing(t, i, shopSeen()); got.Ref != "bd:hq-a1" {
		t.Errorf("%+v", got)
	}
	if got := ledger.Named(fleet.Records{Merges: []fleet.MergeItem{i}}); len(got) != 1 || got[0] != "bd:hq-a1" {
		t.Errorf("%v", got)
	}
	i.State = fleet.MergeWithdrawn
	if got := ledger.Named(fleet.Records{Merges: []fleet.MergeItem{i}}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
