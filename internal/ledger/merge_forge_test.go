package ledger_test

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// greenPull is the pull request of an item called mq1, whose checks have passed.
func greenPull() fleet.PullRequest {
	return fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Base: "main", Branch: "b-mq1", Head: "c-mq1", Age: fleet.Known(fleet.Duration(time.Hour)),
		Checks: fleet.Known("success"), Conflict: fleet.Known(false), Review: fleet.Known("none")}
}

var forgeQueue = fleet.MergeQueue{Name: "q", Project: "shop", Target: "main", Mode: fleet.MergeForge}

// An item is merged by its forge once all that is asked of its pull request is seen to be so; it finds that by its branch, at its
// commit. What is not seen neither merges nor fails it.
func TestSeeAtForge(t *testing.T) {
	type look struct {
		waits, closed string
		stuck         fleet.MergeState
		unseen        bool
	}
	for name, c := range map[string]struct {
		change func(*fleet.PullRequest, *fleet.Snapshot)
		want   look
	}{
		"green":             {func(*fleet.PullRequest, *fleet.Snapshot) {}, look{}},
		"a draft":           {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Draft = true }, look{waits: "shop!7 is a draft"}},
		"no checks":         {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Checks = fleet.Known("none") }, look{waits: "shop!7 has no checks"}},
		"pending":           {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Checks = fleet.Known("pending") }, look{waits: "the checks of shop!7 are pending"}},
		"checks unknown":    {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Checks = fleet.Unknown[string]("timeout") }, look{waits: "shop!7 is seen, but not its checks", unseen: true}},
		"conflict unknown":  {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Conflict = fleet.Unknown[bool]("checking") }, look{waits: "it is not seen whether", unseen: true}},
		"review asked for":  {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Review = fleet.Known("requested") }, look{waits: "shop!7 waits for the review"}},
		"changes requested": {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Review = fleet.Known("changes requested") }, look{waits: "shop!7 has changes requested"}},
		"failed": {func(p *fleet.PullRequest, _ *fleet.Snapshot) {
			p.Checks, p.Failed = fleet.Known("failure"), []string{"ci"}
		}, look{waits: "the checks", stuck: fleet.MergeFailed}},
		"conflict":           {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Conflict = fleet.Known(true) }, look{stuck: fleet.MergeConflict}},
		"at another commit":  {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Head = "c2" }, look{waits: "no pull request of b-mq1"}},
		"into another":       {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Base = "next" }, look{waits: "no pull request of b-mq1"}},
		"of another project": {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Project = "bank" }, look{waits: "no pull request of b-mq1"}},
		"of a fork":          {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Fork = true }, look{waits: "no pull request of b-mq1"}},
		"watched only":       {func(p *fleet.PullRequest, _ *fleet.Snapshot) { p.Owner = fleet.OwnerForeign }, look{waits: "nothing may be written to project shop: watch_only"}},
		"blind":              {func(_ *fleet.PullRequest, s *fleet.Snapshot) { s.Forge.Status = fleet.StatusUnknown }, look{waits: "its tracker is not seen now", unseen: true}},
	} {
		s, p := shopSeen(), greenPull()
		c.change(&p, &s)
		s.Forge.Value.Pulls = []fleet.PullRequest{p}
		got := ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, mergeItem("mq1"))
		if !strings.HasPrefix(got.Now.Waits, c.want.waits) || c.want.waits == "" && got.Now.Waits != "" || got.Closed != c.want.closed || got.Stuck.State != c.want.stuck || got.Now.Unseen != c.want.unseen || got.Merged {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What was added as a pull request is that, at the head that it has now, and is over with it.
func TestAnItemIsItsPullRequest(t *testing.T) {
	named := mergeItem("mq1", func(i *fleet.MergeItem) { i.Work = []fleet.Ref{"shop!7"} })
	s, p := shopSeen(), greenPull()
	p.Head = "c2"
	s.Forge.Value.Pulls = []fleet.PullRequest{p}
	if got := ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, named); got.Now.Commit != "c2" || got.Pull != "shop!7" {
		t.Errorf("%+v", got)
	}
	p.Fork = true
	s.Forge.Value.Pulls = []fleet.PullRequest{p}
	if got := ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, named); got.Now.Commit != "c-mq1" || got.Now.Waits != "shop!7 is of a fork: a person merges it there" {
		t.Errorf("of a fork: %+v", got)
	}
	age := fleet.Known(fleet.Duration(time.Hour))
	for want, e := range map[string]fleet.EndedPull{
		"":                                  {Name: "shop!7", Merged: true, Base: "main", Head: "c3", Ended: age},
		"shop!7 was closed, and not merged": {Name: "shop!7", Base: "main", Ended: age},
		"shop!7 was merged into release, and not into main": {Name: "shop!7", Merged: true, Base: "release", Ended: age},
	} {
		s.Forge.Value.Pulls, s.Forge.Value.Ended = nil, []fleet.EndedPull{e}
		if got := ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, named); got.Merged != (want == "") || got.Closed != want || got.Merged && got.Now.Commit != "c3" {
			t.Errorf("%+v", got)
		}
	}
}

// What an agent added is merged by a pull request of its own only; what was merged before it was seen is found all the same.
func TestWhosePullRequestItIs(t *testing.T) {
	s, p := shopSeen(), greenPull()
	s.Forge.Value.Pulls = []fleet.PullRequest{p}
	of := func(agent string) ledger.PullSight {
		return ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, mergeItem("mq1", func(i *fleet.MergeItem) { i.Agent = agent }))
	}
	if got := of("eve"); got.Pull != "" || !strings.Contains(got.Now.Waits, "or have a person add it, where it is not eve's") {
		t.Errorf("a person's: %+v", got)
	}
	s.Forge.Value.Pulls[0].Agent = "eve"
	if got := of("eve"); got.Pull != "shop!7" || got.Now.Waits != "" {
		t.Errorf("its own: %+v", got)
	}
	s.Forge.Value.Pulls = nil
	s.Forge.Value.Ended = []fleet.EndedPull{{Name: "shop!7", Project: "shop", Merged: true, Base: "main", Branch: "b-mq1", Head: "c-mq1", Agent: "eve", Ended: fleet.Known(fleet.Duration(time.Hour))}}
	if got := of("eve"); !got.Merged {
		t.Errorf("merged already: %+v", got)
	}
}

// What conflicted, or failed, waits again when its pull request is seen to be all right; not what a review has blocked.
func TestWhatWasStuckWaitsAgain(t *testing.T) {
	s, p := shopSeen(), greenPull()
	s.Forge.Value.Pulls = []fleet.PullRequest{p}
	for why, want := range map[string]fleet.MergeState{"the checks failed": fleet.MergeWaiting, fleet.MergeBlocked + "w9": fleet.MergeFailed} {
		i := mergeItem("mq1", func(i *fleet.MergeItem) { i.State, i.Why = fleet.MergeFailed, why })
		if got := ledger.SeeAtForge(ledger.NewTrackers(fleet.Past{}, s), forgeQueue, i); got.Now.State != want {
			t.Errorf("%s: %+v", why, got.Now)
		}
	}
}
