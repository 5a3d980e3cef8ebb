package ledger_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// An item waits for a pull request that is a draft, of which changes are requested, or that is not seen; one that was
// closed unmerged is named.
func TestSeePulls(t *testing.T) {
	age := fleet.Known(fleet.Duration(time.Hour))
	for name, c := range map[string]struct {
		change        func(*fleet.Snapshot)
		waits, closed string
		unseen        bool
	}{
		"approved":          {func(s *fleet.Snapshot) { s.Forge.Value.Pulls[0].Review = fleet.Known("approved") }, "", "", false},
		"none":              {func(s *fleet.Snapshot) { s.Forge.Value.Pulls[0].Review = fleet.Known("none") }, "", "", false},
		"changes requested": {func(s *fleet.Snapshot) { s.Forge.Value.Pulls[0].Review = fleet.Known("changes requested") }, "shop!7 has changes requested", "", false},
		"draft":             {func(s *fleet.Snapshot) { s.Forge.Value.Pulls[0].Draft = true }, "shop!7 is a draft", "", false},
		"reviews unknown":   {func(s *fleet.Snapshot) { s.Forge.Value.Pulls[0].Review = fleet.Unknown[string]("not asked yet") }, "shop!7 is seen, but not its reviews: not asked yet", "", true},
		"forge blind":       {func(s *fleet.Snapshot) { s.Forge.Status = fleet.StatusStale }, "shop!7 is not seen now", "", true},
		"not shown":         {func(s *fleet.Snapshot) { s.Forge.Value.Pulls = nil }, "shop!7 is not seen now", "", true},
		"merged": {func(s *fleet.Snapshot) {
			s.Forge.Value.Pulls, s.Forge.Value.Ended = nil, []fleet.EndedPull{{Name: "shop!7", Merged: true, Ended: age}}
		}, "", "", false},
		"closed": {func(s *fleet.Snapshot) {
			s.Forge.Value.Pulls, s.Forge.Value.Ended = nil, []fleet.EndedPull{{Name: "shop!7", Ended: age}}
		}, "", "shop!7 was closed, and not merged", false},
	} {
		s := shopSeen()
		c.change(&s)
		i, closed := ledger.SeePulls(ledger.NewTrackers(fleet.Past{}, s), mergeItem("mq1", func(i *fleet.MergeItem) { i.Work, i.Waits, i.Unseen = []fleet.Ref{"w1", "shop!7"}, "old", true }))
		if !strings.HasPrefix(i.Waits, c.waits) || c.waits == "" && i.Waits != "" || i.Unseen != c.unseen || closed != c.closed {
			t.Errorf("%s: %q, unseen %v, closed %q", name, i.Waits, i.Unseen, closed)
		}
	}
}

// What waits for its pull request is not taken up, and says why; a group with it is given up, but for want of a
// look only kept from landing.
func TestMergeBookWaitsForPulls(t *testing.T) {
	q := fleet.MergeQueue{Name: "q", Digest: "d", Batch: 8}
	g := fleet.MergeGroup{Head: fleet.Head{ID: "mg1"}, Queue: "q", Gates: "d", State: fleet.GroupGreen, Items: []fleet.MergeMember{{ID: "mq1", Commit: "c-mq1"}}}
	past := func(waits string, unseen bool) fleet.Past {
		i := mergeItem("mq1", func(i *fleet.MergeItem) { i.Waits, i.Unseen = waits, unseen })
		return fleet.Past{Records: fleet.Records{Merges: []fleet.MergeItem{i, mergeItem("mq2")}, MergeGroups: []fleet.MergeGroup{g}}}
	}
	for _, c := range []struct {
		waits, outdated, barred string
		unseen                  bool
	}{
		{"", "", "", false},
		{"shop!7 is a draft", "mq1 waits: shop!7 is a draft", "mq1 waits: shop!7 is a draft", false},
		{"shop!7 is not seen now", "", "mq1 waits: shop!7 is not seen now", true},
	} {
		p := past(c.waits, c.unseen)
		b := ledger.NewMergeBook(q, p, mergeNoon)
		if got := b.Outdated(&g); got != c.outdated {
			t.Errorf("%q: outdated %q", c.waits, got)
		}
		if got := ledger.MergeBarred(p, fleet.MergeTarget{Queue: q, Group: g}, mergeNoon); got != c.barred {
			t.Errorf("%q: barred %q", c.waits, got)
		}
		if n := len(b.Waiting()); (n == 2) != (c.waits == "") {
			t.Errorf("%q: %d wait for their turn", c.waits, n)
		}
		if why := b.Why(b.Item("mq1")); c.waits != "" && why != c.waits {
			t.Errorf("%q: %q", c.waits, why)
		}
	}
}

// What is added with a pull request waits until that was looked at; and who names what is closed is who asks for it.
func TestAddMergeWithAPull(t *testing.T) {
	i, err := ledger.AddMerge(fleet.Records{}, fleet.MergeItem{Queue: "q", Source: "x", Commit: "c", Work: []fleet.Ref{"shop!7"}, Agent: "dev"}, "ann", mergeNoon)
	if err != nil || i.Waits != "shop!7 was not looked at yet" || !i.Unseen || i.By != "ann" {
		t.Fatalf("%+v, %v", i, err)
	}
	i.ID = "mq1"
	again, err := ledger.AddMerge(fleet.Records{Merges: []fleet.MergeItem{i}}, fleet.MergeItem{Queue: "q", Source: "x", Commit: "c", Work: []fleet.Ref{"shop#12"}}, "agent/dev", mergeNoon)
	if err != nil || again.Waits != "" || again.By != "agent/dev" || again.ID != "mq1" {
		t.Errorf("%+v, %v", again, err)
	}
}
