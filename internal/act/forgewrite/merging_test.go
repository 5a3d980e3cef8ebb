package forgewrite

import (
	"context"
	"testing"
	"time"

	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

// wanted is a wish to have the pull request of a place merged, whose checks have passed.
func (p *place) wanted(do string) fleet.Action {
	p.repo.MustPass, p.repo.Required["main"] = true, []string{"ci"}
	p.repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "mend it", Author: "dev-bot"}, Base: "main", Branch: "fix-12", Head: "c0ffee",
		Checks: []forgetest.Check{{Context: "ci", State: "success"}}})
	p.o.Barred = func(_ context.Context, item, commit string) (string, error) {
		if item != "mq3" || commit != "c0ffee" {
			return "the queue is held", nil
		}
		return "", nil
	}
	pull := fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Head: "c0ffee"}
	return fleet.Action{ID: "1", Do: do, Subject: fleet.Subject{Kind: fleet.KindPull, Name: "shop!7"}, Target: fleet.Target{Pull: &pull},
		For: fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq3"}}}
}

func TestMergePullConformance(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t, kind)
			p.wanted(MergePull)
			held := ""
			p.o.Barred = func(context.Context, string, string) (string, error) { return held, nil }
			acttest.Test(t, acttest.Case{
				Action:      New(MergePull, p.o),
				Setup:       func(*testing.T) fleet.Action { held = ""; return p.wanted(MergePull) },
				Fingerprint: func(t *testing.T, _ fleet.Action) string { return p.words(t) },
				Gone:        func(*testing.T, fleet.Action) { p.repo.Merge(7, time.Minute) }, // somebody else has merged it
				Changed: map[string]func(*testing.T, fleet.Action){
					"pushed to": func(*testing.T, fleet.Action) { p.server.Change(func() { p.repo.Pulls[7].Head = "beef" }) },
					"held":      func(*testing.T, fleet.Action) { held = "the queue is held" },
					"no head":   func(_ *testing.T, a fleet.Action) { a.Target.Pull.Head = "" },
					"foreign":   func(_ *testing.T, a fleet.Action) { a.Target.Pull.Owner = fleet.OwnerForeign },
				},
			})
		})
	}
}

// What is merged is told with its commit; a pull request that the forge refuses is told why, and is open as it was.
func TestWhatAForgeAnswers(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		p := newPlace(t, kind)
		a := p.wanted(MergePull)
		if said := p.learned(t, a); said == nil || said.Commit != p.repo.Pulls[7].MergeCommit() || !p.repo.Pulls[7].Merged {
			t.Errorf("%s: %+v", kind, said)
		}
		p = newPlace(t, kind)
		a = p.wanted(MergePull)
		p.repo.Report(7, "failure")
		r, err := New(MergePull, p.o).Prepare(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if err = r.Do(t.Context()); err == nil || r.(*run).Merged() != nil || p.repo.Pulls[7].Merged {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// learned is what is known once an action is done.
func (p *place) learned(t *testing.T, a fleet.Action) *fleet.MergeOutcome {
	t.Helper()
	r, err := New(a.Do, p.o).Prepare(t.Context(), a)
	if err == nil {
		err = r.Do(t.Context())
	}
	if err == nil {
		_, err = r.Verify(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.(*run).Merged()
}

// What waits in GitHub's own queue leaves it when it is not to be merged any more.
func TestWhatLeavesAForgesQueue(t *testing.T) {
	p := newPlace(t, "github")
	a := p.wanted(MergePull)
	p.repo.Queues = []string{"main"}
	if said := p.learned(t, a); said == nil || said.Commit != "" || !p.repo.Pulls[7].Auto.Queued {
		t.Fatalf("%+v", said)
	}
	a.Do, a.ID = DequeuePull, "2"
	if said := p.learned(t, a); said != nil || p.repo.Pulls[7].Auto != nil {
		t.Errorf("%+v; %+v", said, p.repo.Pulls[7].Auto)
	}
}
