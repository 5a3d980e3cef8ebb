package forgewrite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/forgetest"
)

// moved is a wish to close the issue of a place, or to open it again, and the issue
// as it is then.
func (p *place) moved(do, text string) fleet.Action {
	p.repo.Open(12, time.Hour, forgetest.Issue{Title: "it is broken", Author: "ann", Labels: []string{"bug"}, Assignees: []string{"dev-bot"}})
	a := wish(do, text)
	if do == ReopenIssue {
		p.repo.Close(12, time.Minute)
		a.Target.Issue.Open = fleet.Known(false)
	}
	return a
}

func TestMovingConformance(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		for _, do := range []string{CloseIssue, ReopenIssue} {
			t.Run(kind+"/"+do, func(t *testing.T) {
				p := newPlace(t, kind)
				acttest.Test(t, acttest.Case{
					Action:      New(do, p.o),
					Setup:       func(*testing.T) fleet.Action { return p.moved(do, "It is done.") },
					Fingerprint: func(t *testing.T, _ fleet.Action) string { return p.words(t) },
					Gone: func(*testing.T, fleet.Action) {
						if do == ReopenIssue {
							p.repo.Reopen(12)
						} else {
							p.repo.Close(12, time.Minute)
						}
					},
					Changed: map[string]func(*testing.T, fleet.Action){
						"taken up":      func(*testing.T, fleet.Action) { p.server.Change(func() { p.issue().Assignees = []string{"ann"} }) },
						"foreign":       func(_ *testing.T, a fleet.Action) { a.Target.Issue.Owner = fleet.OwnerForeign },
						"other project": func(_ *testing.T, a fleet.Action) { a.Target.Issue.Project = "bank" },
						"seen so":       func(_ *testing.T, a fleet.Action) { a.Target.Issue.Open = fleet.Known(do == ReopenIssue) },
						"not told": func(_ *testing.T, a fleet.Action) {
							a.Target.Issue.Open = fleet.Unknown[bool]("the forge does not answer")
						},
					},
				})
			})
		}
	}
}

// Closed, opened again and closed: each time the reason is said once, and nothing but
// the state changes.
func TestMovingThereAndBack(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		p := newPlace(t, kind)
		a := p.moved(CloseIssue, "merged as !7")
		acttest.Do(t, New(CloseIssue, p.o), a)
		if i := p.issue(); i.Closed.IsZero() || len(i.Assignees) != 1 || len(i.Labels) != 1 || len(i.Comments) != 1 {
			t.Fatalf("%s: closed: %+v", kind, i)
		}
		if _, err := New(CloseIssue, p.o).Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) {
			t.Errorf("%s: again: %v", kind, err)
		}
		back := wish(ReopenIssue, "")
		back.ID, back.Target.Issue.Open = "2", fleet.Known(false)
		acttest.Do(t, New(ReopenIssue, p.o), back)
		if i := p.issue(); !i.Closed.IsZero() || len(i.Comments) != 1 {
			t.Errorf("%s: opened again: %+v", kind, i)
		}
		a.ID = "3"
		acttest.Do(t, New(CloseIssue, p.o), a)
		i := p.issue()
		if i.Closed.IsZero() || len(i.Comments) != 2 || !strings.HasPrefix(i.Comments[1].Body, "merged as !7\n") {
			t.Errorf("%s: closed again: %+v", kind, i)
		}
	}
}

// A pull request is not closed, whether it is seen as one or its number is one.
func TestMovingPullRequest(t *testing.T) {
	p := newPlace(t, "forgejo")
	before := p.words(t)
	a := wish(CloseIssue, "")
	a.Target.Issue.Number = 7
	a.Target.Issue.Assignees = nil
	if _, err := New(CloseIssue, p.o).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("its number: %v", err)
	}
	a.Target = fleet.Target{Pull: &fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured}}
	if _, err := New(CloseIssue, p.o).Prepare(t.Context(), a); err == nil {
		t.Error("it was to be closed")
	}
	if after := p.words(t); after != before {
		t.Errorf("changed to %s", after)
	}
}
