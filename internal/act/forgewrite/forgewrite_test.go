package forgewrite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
)

// bearer adds the token to what is asked.
type bearer struct{ scheme, token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	name, value := "Authorization", b.scheme+" "+b.token
	if own, ok := strings.CutSuffix(b.scheme, ":"); ok {
		name, value = own, b.token
	}
	r.Header.Set(name, value)
	return http.DefaultTransport.RoundTrip(r)
}

// place is a fake forge with one project, and the hand for it.
type place struct {
	server *forgetest.Server
	repo   *forgetest.Repo
	o      Options
}

func newPlace(t *testing.T, kind string) *place {
	t.Helper()
	p := &place{server: forgetest.New(t, kind)}
	p.repo = p.server.Repo("acme/shop")
	p.repo.Open(12, time.Hour, forgetest.Issue{Title: "it is broken", Author: "ann", Labels: []string{"in-progress", "bug"}, Assignees: []string{"dev-bot"}})
	p.repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "mend it", Author: "dev-bot"}, Base: "main", Branch: "fix-12", Head: "c0ffee"})
	client := &http.Client{Transport: bearer{forgetest.Kind(kind).Scheme, p.server.Account("custos-bot")}}
	o := forge.Options{Kind: forgetest.Kind(kind), URL: p.server.URL, Repo: "acme/shop", HTTP: client}
	hand, err := forge.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Pulls = true
	pulls, err := forge.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	p.o.Projects = map[string]Project{"shop": {Writer: hand, Pulls: pulls, Labels: map[string][]string{"ready": {"backlog", "todo"}, "in-progress": {"doing", "in-progress"}, "blocked": {}}}}
	return p
}

func (p *place) issue() *forgetest.Issue { return p.repo.Issues[12] }

// words is all that can be written to.
func (p *place) words(t *testing.T) string {
	t.Helper()
	var text []byte
	p.server.Change(func() {
		var err error
		if text, err = json.Marshal([]any{p.repo.Issues, p.repo.Pulls}); err != nil {
			t.Error(err)
		}
	})
	return string(text)
}

func wish(do, text string) fleet.Action {
	i := fleet.Issue{Name: "shop#12", Project: "shop", Number: 12, URL: "https://forge/acme/shop/issues/12", Owner: fleet.OwnerConfigured, Labels: []string{"in-progress", "bug"},
		Assignees: []string{"dev-bot"}, Open: fleet.Known(true), Taken: fleet.Known(true), Agent: "worker"}
	s := fleet.Subject{Kind: fleet.KindIssue, Name: i.Name}
	return fleet.Action{ID: "1", Do: do, Subject: s, Target: fleet.Target{Issue: &i}, For: fleet.AlertKey{Rule: "orphaned-work", Subject: s}, Text: text}
}

// deeds are the three actions as the rules ask for them.
func deeds() map[string]string {
	return map[string]string{Comment: "It goes back.", Label: "-in-progress, +ready, +blocked", Assign: "-*"}
}

func TestConformance(t *testing.T) {
	for _, kind := range forgetest.Kinds() {
		for do, text := range deeds() {
			t.Run(kind+"/"+do, func(t *testing.T) { conform(t, kind, do, text) })
		}
	}
}

// conform runs the suite: one forge, filled anew for each promise.
func conform(t *testing.T, kind, do, text string) {
	p := newPlace(t, kind)
	change := func(how func()) func(*testing.T, fleet.Action) {
		return func(*testing.T, fleet.Action) { p.server.Change(how) }
	}
	acttest.Test(t, acttest.Case{
		Action: New(do, p.o),
		Setup: func(*testing.T) fleet.Action {
			p.repo.Open(12, time.Hour, forgetest.Issue{Title: "it is broken", Author: "ann", Labels: []string{"in-progress", "bug"}, Assignees: []string{"dev-bot"}})
			return wish(do, text)
		},
		Fingerprint: func(t *testing.T, _ fleet.Action) string { return p.words(t) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"closed":        func(*testing.T, fleet.Action) { p.repo.Close(12, time.Minute) },
			"taken up":      change(func() { p.issue().Assignees = []string{"ann"} }),
			"shared":        change(func() { p.issue().Assignees = []string{"dev-bot", "ann"} }),
			"foreign":       func(_ *testing.T, a fleet.Action) { a.Target.Issue.Owner = fleet.OwnerForeign },
			"other project": func(_ *testing.T, a fleet.Action) { a.Target.Issue.Project = "bank" },
		},
	})
}

// What was done by an earlier life of Custos, or by a person, is not done again.
func TestWhatIsSoAlready(t *testing.T) {
	p := newPlace(t, "forgejo")
	p.server.Change(func() { p.issue().Labels = []string{"backlog"} })
	for do, text := range map[string]string{Label: "-in-progress, +ready", Assign: "+dev-bot, -ann"} {
		if _, err := New(do, p.o).Prepare(t.Context(), wish(do, text)); !errors.Is(err, act.ErrUnneeded) {
			t.Errorf("%s: %v", do, err)
		}
	}
}

// A comment is said once by each rule about each thing, whoever asks how often;
// another agent's end is another comment. A marker in a stranger's words is none.
func TestCommentIsSaidOnce(t *testing.T) {
	p := newPlace(t, "github")
	x := New(Comment, p.o)
	first := wish(Comment, "It goes back.")
	target, _ := targetOf(first)
	p.server.Change(func() {
		p.issue().Comments = append(p.issue().Comments, forgetest.Comment{Author: "eve", Body: forge.Marker(keyOf(first, target).now)})
	})
	acttest.Do(t, x, first)
	again := wish(Comment, "It goes back!")
	again.ID, again.Attempt = "2", 2
	if _, err := x.Prepare(t.Context(), again); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("again: %v", err)
	}
	other := wish(Comment, "It goes back.")
	other.Target.Issue.Agent = "another"
	acttest.Do(t, x, other)
	if n := len(p.issue().Comments); n != 3 {
		t.Errorf("%d comments, want eve's and two of ours: %+v", n, p.issue().Comments)
	}
	for _, c := range p.issue().Comments[1:] {
		if !strings.HasPrefix(c.Body, "It goes back.\n\n<!-- custos:orphaned-work:") {
			t.Errorf("said %q", c.Body)
		}
	}
}

// What another host has said, which calls the project by another name, or this one before several shared
// it, is not said again.
func TestCommentIsSaidOnceByAllHosts(t *testing.T) {
	p := newPlace(t, "forgejo")
	own := wish(Comment, "It goes back.")
	theirs := wish(Comment, "It goes back.")
	theirs.Target.Issue.Project, theirs.Target.Issue.Name = "box2-shop", fleet.IssueName("box2-shop", 12)
	theirs.For.Subject.Name = theirs.Target.Issue.Name
	o := p.o
	o.Projects = map[string]Project{"box2-shop": p.o.Projects[own.Target.Issue.Project]}
	acttest.Do(t, New(Comment, o), theirs)
	if _, err := New(Comment, p.o).Prepare(t.Context(), own); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("said by another host: %v", err)
	}
	target, _ := targetOf(own)
	p.server.Change(func() {
		p.issue().Comments[0].Body = forge.Marker(keyOf(own, target).before)
	})
	if _, err := New(Comment, p.o).Prepare(t.Context(), own); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("said by an earlier version: %v", err)
	}
	p.server.Change(func() { p.issue().Comments = nil })
	acttest.Do(t, New(Comment, p.o), own)
}

// A pull request is written to as an issue of its number.
func TestPullRequest(t *testing.T) {
	p := newPlace(t, "gitea")
	pull := fleet.PullRequest{Name: "shop!7", Project: "shop", Number: 7, Owner: fleet.OwnerConfigured, Head: "c0ffee"}
	for do, text := range map[string]string{Comment: "Please look.", Label: "+bug", Assign: "+ann"} {
		a := wish(do, text)
		a.Target = fleet.Target{Pull: &pull}
		if effect := acttest.Do(t, New(do, p.o), a); effect == "" {
			t.Errorf("%s says nothing", do)
		}
	}
	if got := p.repo.Pulls[7]; len(got.Comments) != 1 || len(got.Labels) != 1 || len(got.Assignees) != 1 {
		t.Errorf("%+v", got.Issue)
	}
}

// Words that cannot be read, a label that there is not, and a forge that does not
// answer are errors, and change nothing.
func TestWhatCannotBeDone(t *testing.T) {
	p := newPlace(t, "forgejo")
	before := p.words(t)
	for _, c := range [][2]string{{Comment, " \n"}, {Label, ""}, {Label, "ready"}, {Label, "+"}, {Label, "+*"}, {Assign, "+a,,-b"}, {Label, "+no-such-label"}} {
		run, err := New(c[0], p.o).Prepare(t.Context(), wish(c[0], c[1]))
		if err == nil {
			err = run.Do(t.Context())
		}
		if err == nil {
			t.Errorf("%s %q was done", c[0], c[1])
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Assign, p.o).Prepare(gone, wish(Assign, "-*")); err == nil || errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a forge that does not answer: %v", err)
	}
	if after := p.words(t); after != before {
		t.Errorf("changed from %s\nto %s", before, after)
	}
}

// What is there after the deed, and not as it was wanted, is no success.
func TestVerifyLooksAgain(t *testing.T) {
	p := newPlace(t, "forgejo")
	run, err := New(Label, p.o).Prepare(t.Context(), wish(Label, "-in-progress"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.server.Change(func() { p.issue().Labels = append(p.issue().Labels, "in-progress") })
	if effect, err := run.Verify(t.Context()); err == nil {
		t.Errorf("verified: %s", effect)
	}
}

func TestWithoutAForge(t *testing.T) {
	a := New(Comment, Options{}).Ability()
	if a.Cannot == "" || a.Needs == "" {
		t.Errorf("%+v", a)
	}
}

// Where pull requests are counted apart, what is for one goes to it, and not to the issue of
// the same number.
func TestPullRequestsThatAreCountedApart(t *testing.T) {
	p := newPlace(t, "gitlab")
	p.repo.Propose(12, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "mend it"}, Base: "main", Branch: "fix", Head: "c0ffee"})
	before := p.issue()
	a := wish(Comment, "It waits.")
	a.Target = fleet.Target{Pull: &fleet.PullRequest{Name: "shop!12", Project: "shop", Number: 12, Owner: fleet.OwnerConfigured, Head: "c0ffee"}}
	acttest.Do(t, New(Comment, p.o), a)
	a.Text = "+bug"
	acttest.Do(t, New(Label, p.o), a)
	if i := p.repo.Pulls[12]; len(i.Comments) != 1 || len(i.Labels) != 1 || len(before.Comments) != 0 || len(before.Labels) != 2 {
		t.Errorf("the merge request is %+v, the issue %+v", i, before)
	}
}
