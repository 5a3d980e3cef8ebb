package forgewrite

import (
	"context"
	"errors"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

// pulled is a wish to close the pull request of a place, whose head is in its target.
func (p *place) pulled() fleet.Action {
	p.repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "mend it", Author: "dev-bot"}, Base: "main", Branch: "fix-12", Head: "c0ffee"})
	p.o.Landed = func(_ context.Context, item, commit string) (bool, error) {
		return item == "mq3" && commit == "c0ffee", nil
	}
	pull := fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Head: "c0ffee"}
	return fleet.Action{ID: "1", Do: ClosePull, Subject: fleet.Subject{Kind: fleet.KindPull, Name: "shop!7"}, Target: fleet.Target{Pull: &pull},
		For: fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq3"}}, Text: "merged as 0123456789ab by mq3 into main"}
}

func TestClosePullConformance(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t, kind)
			p.pulled()
			acttest.Test(t, acttest.Case{
				Action:      New(ClosePull, p.o),
				Setup:       func(*testing.T) fleet.Action { return p.pulled() },
				Fingerprint: func(t *testing.T, _ fleet.Action) string { return p.words(t) },
				Gone:        func(*testing.T, fleet.Action) { p.repo.Merge(7, time.Minute) }, // its forge saw it by itself
				Changed: map[string]func(*testing.T, fleet.Action){
					"pushed to": func(*testing.T, fleet.Action) { p.server.Change(func() { p.repo.Pulls[7].Head = "beef" }) },
					"not landed": func(_ *testing.T, a fleet.Action) {
						a.Target.Pull.Head = "beef"
						p.server.Change(func() { p.repo.Pulls[7].Head = "beef" })
					},
					"not by merge":  func(_ *testing.T, a fleet.Action) { a.Target.Pull.Head = "" },
					"foreign":       func(_ *testing.T, a fleet.Action) { a.Target.Pull.Owner = fleet.OwnerForeign },
					"other project": func(_ *testing.T, a fleet.Action) { a.Target.Pull.Project = "bank" },
				},
			})
		})
	}
}

// However often it is tried to close what a merge closes, it is said once why: an attempt that said it may
// have come to nothing else.
func TestAMergeSaysOnceWhatItCloses(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		p := newPlace(t, kind)
		a := p.moved(CloseIssue, "merged as 0123456789ab by mq3 into main")
		a.For = fleet.AlertKey{Rule: "merge", Subject: fleet.Subject{Kind: fleet.KindMerge, Name: "mq3"}}
		acttest.Do(t, New(CloseIssue, p.o), a)
		p.repo.Reopen(12)
		a.ID = "2"
		acttest.Do(t, New(CloseIssue, p.o), a)
		if i := p.issue(); i.Closed.IsZero() || len(i.Comments) != 1 {
			t.Errorf("%s: %+v", kind, i)
		}
		pull := p.pulled()
		acttest.Do(t, New(ClosePull, p.o), pull)
		p.repo.Reopen(7)
		pull.ID = "2"
		acttest.Do(t, New(ClosePull, p.o), pull)
		if i := p.repo.Pulls[7]; i.Closed.IsZero() || i.Merged || len(i.Comments) != 1 {
			t.Errorf("%s: %+v", kind, i)
		}
	}
}

// What cannot be told is not closed: where nobody says what has landed, and where the target is not read.
func TestClosePullUntold(t *testing.T) {
	p := newPlace(t, "forgejo")
	a := p.pulled()
	before := p.words(t)
	p.o.Landed = func(context.Context, string, string) (bool, error) { return false, errors.New("the remote is down") }
	if _, err := New(ClosePull, p.o).Prepare(t.Context(), a); err == nil || errors.Is(err, act.ErrUnneeded) {
		t.Errorf("the remote is down: %v", err)
	}
	p.o.Landed = nil
	if _, err := New(ClosePull, p.o).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("nobody says: %v", err)
	}
	if p.words(t) != before {
		t.Error("it was written to")
	}
}
