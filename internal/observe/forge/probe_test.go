package forge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/forge"
	"custos/internal/observe/observetest"
	sysforge "custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

// world is a forge of some kind, and a probe that watches projects on it. Its clock
// stands still until it is moved.
type world struct {
	*forgetest.Server
	token string
	host  *httpcache.Host
	hands []forge.Hand
	probe *forge.Probe

	mu    sync.Mutex
	now   time.Time
	named []fleet.Ref // what somebody depends on
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func newWorld(t testing.TB, kind string, projects ...string) (*world, map[string]*forgetest.Repo) {
	t.Helper()
	w := &world{Server: forgetest.New(t, kind), now: time.Now().UTC().Truncate(time.Second)}
	w.Server.Now = w.Now
	w.token = w.Account("custos-bot")
	var err error
	if w.host, err = httpcache.NewHost(httpcache.HostOptions{URL: w.URL, Now: w.Now}); err != nil {
		t.Fatal(err)
	}
	repos := map[string]*forgetest.Repo{}
	o := forge.Options{Now: w.Now, Agents: func(context.Context) ([]forge.Hand, error) { return w.hands, nil },
		Named: func(context.Context) ([]fleet.Ref, error) { return w.named, nil }}
	for _, name := range projects {
		repos[name] = w.Repo("acme/" + name)
		o.Projects = append(o.Projects, w.project(t, name))
	}
	if w.probe, err = forge.New(o); err != nil {
		t.Fatal(err)
	}
	return w, repos
}

func (w *world) project(t testing.TB, name string) forge.Project {
	t.Helper()
	to := httpcache.NewTransport(w.host, forgetest.Kind(w.Kind).Scheme, func(context.Context) (string, error) { return w.token, nil })
	o := sysforge.Options{Kind: forgetest.Kind(w.Kind), URL: w.URL, Repo: "acme/" + name, HTTP: to.Client()}
	r, err := sysforge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var apart sysforge.Reader
	if o.Pulls = true; o.Kind.Apart {
		if apart, err = sysforge.New(o); err != nil {
			t.Fatal(err)
		}
	}
	return forge.Project{Name: name, URL: w.URL, Repo: "acme/" + name, Owner: fleet.OwnerConfigured, Reader: r, Apart: apart, Clock: w.host, Lazy: o.Kind.Lazy,
		Labels: forge.Labels{Ready: []string{"backlog"}, InProgress: []string{"in-progress"}, Blocked: []string{"blocked"}}}
}

// look looks once, a minute later.
func (w *world) look(t testing.TB) (fleet.Forge, error) {
	t.Helper()
	w.pass(time.Minute)
	put, err := w.probe.Look(t.Context())
	if put == nil {
		return fleet.Forge{}, err
	}
	var s fleet.Snapshot
	put(&s)
	return s.Forge.Value, err
}

func (w *world) must(t testing.TB) fleet.Forge {
	t.Helper()
	f, err := w.look(t)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// each runs a test for all ways to ask; Forgejo is asked as a Gitea is.
func each(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{"forgejo", "github", "gitlab"} {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

func commit(n int) string { return fmt.Sprintf("%040x", n) }

// fill puts 40 issues and 12 pull requests on three projects.
func fill(repos map[string]*forgetest.Repo) {
	for i, name := range []string{"shop", "blog", "wiki"} {
		r := repos[name]
		for n := range 13 + i%2 {
			body := "text"
			if n > 0 {
				body = fmt.Sprintf("Depends on #%d", n)
			}
			r.Open(n+1, time.Duration(n+1)*24*time.Hour, forgetest.Issue{Title: "an issue", Body: body, Labels: []string{"backlog"}})
		}
		for n := range 4 {
			state := []string{"success", "failure", "pending", "success"}[n]
			r.Propose(100+n, time.Duration(n+2)*time.Hour, forgetest.Pull{Base: "main", Branch: fmt.Sprintf("fix/issue-%d", n+1), Head: commit(100*i + n + 1), Issue: forgetest.Issue{Title: "a change", Body: fmt.Sprintf("Fixes #%d", n+1)},
				Checks: []forgetest.Check{{Context: "ci/test", State: state, At: r.Issues[1].Created.Add(23 * time.Hour), Run: n%2 == 0}}})
		}
	}
}

func TestSuite(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		observetest.Test(t, func() observe.Probe {
			w, repos := newWorld(t, kind, "shop", "blog")
			for name, r := range repos {
				r.Open(1, time.Hour, forgetest.Issue{Title: name, Body: "Depends on #2"})
				r.Open(2, time.Hour, forgetest.Issue{Title: name, DependsOn: []string{"#1"}})
				r.Propose(3, time.Hour, forgetest.Pull{Base: "main", Head: commit(1), Checks: []forgetest.Check{{Context: "ci", State: "pending", At: w.Now()}}})
			}
			repos["shop"].Open(77, time.Hour, forgetest.Issue{Title: "odd \x1b[31m title", Author: "e\x1bve", Body: "token=hunter2hunter2"})
			return w.probe
		})
	})
}

// Done when 6 of issue 5: three projects, nothing changed, at most 20 requests.
func TestRequestsWhenNothingChanged(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop", "blog", "wiki")
		fill(repos)
		for n := range 10 { // a phase file for some that are closed for long
			repos["shop"].Open(200+n, 900*time.Hour, forgetest.Issue{})
			repos["shop"].Close(200+n, 800*time.Hour)
		}
		w.must(t)
		for n := range 10 {
			w.probe.Closed(t.Context(), "shop", 200+n)
		}
		f := w.must(t)
		for _, i := range f.Issues {
			if !i.BlockedBy.IsKnown() {
				t.Errorf("%s: blocked by: %s", i.Name, i.BlockedBy.Why())
			}
		}
		for _, p := range f.Pulls {
			if !p.Checks.IsKnown() || !p.Review.IsKnown() || !p.Pushed.IsKnown() || !p.Conflict.IsKnown() {
				t.Errorf("%+v", p)
			}
		}
		most := 0
		for range 6 {
			w.pass(4 * time.Minute) // so that much is due again
			w.Forget()
			w.must(t)
			for n := range 10 {
				w.probe.Closed(t.Context(), "shop", 200+n)
			}
			if got := len(w.Requests()); got > most {
				most = got
			}
			if same, got := w.Same(), len(w.Requests()); same != got && got-same > 3 { // the question for closed issues changes each hour
				t.Errorf("%d of %d requests were conditional: %v", same, got, w.Requests())
			}
		}
		t.Logf("at most %d requests a look", most)
		if most > 20 {
			t.Errorf("%d requests in one look", most)
		}
	})
}

func issue(t *testing.T, f fleet.Forge, name string) fleet.Issue {
	t.Helper()
	for _, i := range f.Issues {
		if i.Name == name {
			return i
		}
	}
	t.Fatalf("%s is not seen", name)
	return fleet.Issue{}
}

func TestIssues(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop", "blog")
		w.hands = []forge.Hand{{Name: "dev-shop-4"}}
		shop, blog, day := repos["shop"], repos["blog"], 24*time.Hour
		shop.Open(1, 2*day, forgetest.Issue{Title: "ready", Labels: []string{"backlog"}})
		shop.Open(2, 3*day, forgetest.Issue{Labels: []string{"backlog"}, Body: "Depends on #1 and #9"})
		shop.Open(3, 3*day, forgetest.Issue{Labels: []string{"Backlog"}, DependsOn: []string{"acme/blog#1"}})
		shop.Open(4, 3*day, forgetest.Issue{Labels: []string{"backlog", "in-progress"}})
		shop.Open(5, 3*day, forgetest.Issue{Labels: []string{"backlog"}, Assignees: []string{"ann"}})
		shop.Open(6, 3*day, forgetest.Issue{Labels: []string{"backlog", "blocked"}})
		shop.Open(7, 3*day, forgetest.Issue{Labels: []string{"backlog"}, Body: "blocked by other/repo#3"})
		shop.Open(8, 3*day, forgetest.Issue{Labels: []string{"backlog"}, Body: "depends on #9, depends on #999"}) // closed, and none
		shop.Open(9, 90*day, forgetest.Issue{})
		shop.Close(9, 40*day)
		shop.Open(10, 3*day, forgetest.Issue{Labels: []string{"bug"}})
		shop.Open(11, 3*day, forgetest.Issue{})
		shop.Close(11, 2*time.Hour)
		shop.Open(12, 3*day, forgetest.Issue{})
		shop.Close(12, 25*time.Hour)
		blog.Open(1, 40*day, forgetest.Issue{Body: "waits: depends on acme/shop#3"})
		f := w.must(t)
		for number, want := range map[int]string{1: "ready ", 2: "waits shop#1 48h1m0s", 3: "waits blog#1 960h1m0s", 4: "taken ", 5: "taken ", 6: "waits ", 8: "ready ", 10: "waits "} {
			i := issue(t, f, fleet.IssueName("shop", number))
			state := "waits"
			switch {
			case i.Ready.Or(false):
				state = "ready"
			case i.Taken.Or(false):
				state = "taken"
			}
			got := state + " " + strings.Join(i.BlockedBy.Or([]string{"?"}), " ")
			if d, ok := i.Waits.Get(); ok && d > 0 {
				got += " " + time.Duration(d).Round(time.Minute).String()
			}
			if got != want || !i.Ready.IsKnown() || !i.Waits.IsKnown() {
				t.Errorf("shop#%d: %q, want %q (%+v)", number, got, want, i)
			}
		}
		seven := issue(t, f, "shop#7")
		if by, _ := seven.BlockedBy.Get(); !slices.Equal(by, []string{"other/repo#3"}) || seven.Ready.IsKnown() || seven.Waits.IsKnown() {
			t.Errorf("what is not seen: %+v", seven)
		}
		if i := issue(t, f, "shop#11"); i.Open.Or(true) || time.Duration(i.Closed.Or(0)).Round(time.Minute) != 121*time.Minute {
			t.Errorf("closed lately: %+v", i)
		}
		if i := issue(t, f, "shop#4"); i.Agent != "dev-shop-4" {
			t.Errorf("agent %q", i.Agent)
		}
		if slices.ContainsFunc(f.Issues, func(i fleet.Issue) bool { return i.Name == "shop#12" || i.Name == "shop#9" }) {
			t.Error("what was closed long ago is shown")
		}
		if i := issue(t, f, "blog#1"); !slices.Equal(i.Cycle, []string{"blog#1", "shop#3"}) || issue(t, f, "shop#3").Cycle != nil {
			t.Errorf("cycle %v", i.Cycle)
		}
		p := f.Projects[0]
		if p.Name != "shop" || p.Primary.Or("") != "main" || p.InProgress.Or(0) != 2 || p.Blocked.Or(0) != 4 || p.Ready.IsKnown() || p.URL != w.URL+"/acme/shop" {
			t.Errorf("project %+v", p)
		}
	})
}

// Looks in a row that find nothing ready are counted, each once.
func TestEmpty(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	i := repos["shop"].Open(1, time.Hour, forgetest.Issue{Labels: []string{"blocked"}})
	for want := 1; want <= 3; want++ {
		if got := w.must(t).Projects[0].Empty; got.Or(-1) != want {
			t.Errorf("empty %v, want %d", got, want)
		}
	}
	mend := w.Break(forgetest.Fault{Status: 500})
	if f, _ := w.look(t); f.Projects[0].Empty.IsKnown() {
		t.Error("a look that saw nothing is no empty one")
	}
	mend()
	w.Change(func() { i.Labels, i.Updated = []string{"backlog"}, w.Clock() })
	if got := w.must(t).Projects[0].Empty; got.Or(-1) != 0 {
		t.Errorf("empty %v", got)
	}
}

func TestPulls(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop")
		w.hands = []forge.Hand{{Name: "a", Registered: true, Project: "shop", Branch: "fix/issue-3"}}
		shop, now := repos["shop"], w.Now()
		shop.Required["main"] = []string{"ci/*"}
		p := shop.Propose(7, 3*time.Hour, forgetest.Pull{Issue: forgetest.Issue{Body: "Fixes #3"}, Base: "main", Branch: "fix/issue-3", Head: commit(1), Conflict: true, Committed: now.Add(-2 * time.Hour), Requested: []string{"ann"},
			Checks: []forgetest.Check{{Context: "ci/a", State: "success", At: now.Add(-time.Hour)}, {Context: "ci/b", State: "failure", At: now.Add(-30 * time.Minute), Run: true}, {Context: "style", State: "failure", At: now}}})
		lacks := "pending"    // a required context is missing
		if kind == "gitlab" { // it requires pipelines, and none of their jobs
			p.Checks, lacks = p.Checks[:2], "none"
		}
		shop.Propose(8, time.Hour, forgetest.Pull{Base: "main", Branch: "x", Head: commit(2), Draft: true})
		shop.Propose(9, time.Hour, forgetest.Pull{Base: "dev", Branch: "y", Head: commit(3)})
		f := w.must(t)
		one := f.Pulls[0]
		if one.Name != "shop!7" || one.Checks.Or("") != "failure" || !slices.Equal(one.Failed, []string{"ci/b"}) || !one.Conflict.Or(false) ||
			one.Review.Or("") != "requested" || !slices.Equal(one.Closes, []string{"shop#3"}) || one.Agent != "a" || one.Base != "main" || one.Head != commit(1) {
			t.Errorf("pull request %+v", one)
		}
		if checked, pushed := time.Duration(one.Checked.Or(0)), time.Duration(one.Pushed.Or(0)); checked.Round(time.Minute) != 31*time.Minute || pushed.Round(time.Minute) != 121*time.Minute {
			t.Errorf("checked %v, pushed %v ago", checked, pushed)
		}
		if f.Pulls[1].Checks.Or("") != lacks {
			t.Errorf("no check of a required context: %v", f.Pulls[1].Checks)
		}
		if f.Pulls[2].Checks.Or("") != "none" || f.Pulls[2].Conflict.Or(true) || f.Pulls[2].Review.Or("") != "none" {
			t.Errorf("pull request %+v", f.Pulls[2])
		}
		// A push: everything that was about the old commit is asked again at once.
		w.Change(func() {
			p.Head, p.Checks, p.Conflict = commit(4), []forgetest.Check{{Context: "ci/a", State: "pending", At: w.Clock()}}, false
			p.Updated = w.Clock().Add(30 * time.Second)
		})
		one = w.must(t).Pulls[0]
		if one.Checks.Or("") != "pending" || one.Pushed.Or(99) > fleet.Duration(10*time.Second) || one.Conflict.Or(true) || one.Checked.Or(9) != 0 {
			t.Errorf("after a push: %+v", one)
		}
		// Pending checks are looked at often.
		w.Change(func() { p.Checks[0].State = "success" })
		w.must(t)
		if one = w.must(t).Pulls[0]; one.Checks.Or("") != "success" {
			t.Errorf("after two looks: %v", one.Checks)
		}
	})
}

// A forge that fails leaves what was seen, with unknown leaves and the reason; the
// next good look sees again. No way to fail blinds another project.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for name, c := range map[string]struct {
			fault forgetest.Fault
			want  string
		}{
			"down":    {forgetest.Fault{Status: 503, Body: "<html>secretdetail"}, "answered 503"},
			"500":     {forgetest.Fault{Status: 500, Body: `{"message":"secretdetail"}`}, "answered 500"},
			"401":     {forgetest.Fault{Status: 401, Body: `{"message":"secretdetail"}`}, "does not take the token"},
			"404":     {forgetest.Fault{Status: 404}, "no such thing"},
			"half":    {forgetest.Fault{Half: true}, "broke off"},
			"endless": {forgetest.Fault{Endless: true}, "does not end"},
		} {
			t.Run(name, func(t *testing.T) {
				w, repos := newWorld(t, kind, "shop", "blog")
				repos["shop"].Open(1, time.Hour, forgetest.Issue{Title: "x"})
				repos["shop"].Propose(2, time.Hour, forgetest.Pull{Base: "main", Head: commit(1)})
				repos["blog"].Open(1, time.Hour, forgetest.Issue{Title: "y"})
				w.must(t)
				c.fault.Path = "acme/shop"
				mend := w.Break(c.fault)
				f := w.must(t) // the other project is seen, so it is no blind look
				i := issue(t, f, "shop#1")
				if i.Open.IsKnown() || !strings.Contains(i.Open.Why(), c.want) || i.Title != "x" || strings.Contains(i.Open.Why(), "secret") {
					t.Errorf("issue %+v, %q", i, i.Open.Why())
				}
				if p := f.Pulls[0]; p.Checks.IsKnown() || p.Age.IsKnown() || p.Conflict.IsKnown() {
					t.Errorf("pull request %+v", p)
				}
				if p := f.Projects[0]; p.Ready.IsKnown() || p.Empty.IsKnown() || p.Primary.IsKnown() {
					t.Errorf("project %+v", p)
				}
				if !issue(t, f, "blog#1").Open.Or(false) || !f.Projects[1].Ready.IsKnown() {
					t.Errorf("the other project feels it: %+v", f.Projects[1])
				}
				mend()
				if f := w.must(t); !issue(t, f, "shop#1").Open.Or(false) {
					t.Error("mended, and not seen again")
				}
			})
		}
	})
}

func TestAllDown(t *testing.T) {
	w, repos := newWorld(t, "gitea", "shop", "blog")
	repos["shop"].Open(1, time.Hour, forgetest.Issue{})
	w.must(t)
	w.Break(forgetest.Fault{Status: 500})
	f, err := w.look(t)
	if err == nil || err.Error() != "shop, blog: the forge answered 500" || len(f.Issues) != 1 {
		t.Errorf("%v, %+v", err, f)
	}
}

// One question that fails blinds one leaf, and is not asked over and over.
func TestOneQuestionFails(t *testing.T) {
	w, repos := newWorld(t, "forgejo", "shop")
	for n := range 30 {
		repos["shop"].Open(n+1, time.Hour, forgetest.Issue{Labels: []string{"backlog"}})
	}
	w.Break(forgetest.Fault{Path: "/dependencies", Status: 500})
	f := w.must(t)
	if i := f.Issues[0]; i.BlockedBy.IsKnown() || i.Ready.IsKnown() || !i.Open.Or(false) || f.Projects[0].Ready.IsKnown() {
		t.Errorf("%+v", i)
	}
	w.Forget()
	w.must(t)
	if n := len(w.Requests()); n > 6 {
		t.Errorf("%d requests of a forge that fails: %v", n, w.Requests())
	}
}

// A limited host is left alone until the time it said, though there are many
// projects on it.
func TestLimited(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		w, repos := newWorld(t, kind, "shop", "blog")
		fill(map[string]*forgetest.Repo{"shop": repos["shop"], "blog": repos["blog"], "wiki": w.Repo("acme/wiki")})
		w.must(t)
		fault := forgetest.Limited(5 * time.Minute)
		fault.Times = 1
		w.Break(fault)
		if _, err := w.look(t); err != nil && !strings.Contains(err.Error(), "403") {
			t.Fatal(err)
		}
		w.Forget()
		f, err := w.look(t)
		if err == nil || !strings.Contains(f.Projects[0].Ready.Why(), "left alone until") || len(w.Requests()) != 0 {
			t.Errorf("%v, %q, %d requests", err, f.Projects[0].Ready.Why(), len(w.Requests()))
		}
		w.pass(5 * time.Minute)
		w.must(t)
	})
}

// Ages are told by the forge's clock.
func TestSkew(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for _, skew := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
			w, repos := newWorld(t, kind, "shop")
			w.Change(func() { w.Skew = skew })
			repos["shop"].Open(1, 2*time.Hour, forgetest.Issue{})
			repos["shop"].Close(1, time.Hour)
			repos["shop"].Open(2, 0, forgetest.Issue{})
			f := w.must(t)
			if got := time.Duration(issue(t, f, "shop#1").Closed.Or(0)).Round(time.Minute); got != 61*time.Minute {
				t.Errorf("skew %v: closed %v ago", skew, got)
			}
			if got := f.Projects[0].Skew; time.Duration(got.Or(0)).Round(time.Minute) != skew {
				t.Errorf("skew %v, want %v", got, skew)
			}
			if got := issue(t, f, "shop#2").Age; !got.IsKnown() {
				t.Errorf("age of a new one: %s", got.Why())
			}
		}
	})
}

// A look that the forge does not answer ends with its context.
func TestSlow(t *testing.T) {
	w, repos := newWorld(t, "github", "shop")
	fill(map[string]*forgetest.Repo{"shop": repos["shop"], "blog": w.Repo("acme/blog"), "wiki": w.Repo("acme/wiki")})
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.Break(forgetest.Fault{Path: "/reviews", Wait: release, Met: cancel})
	w.pass(time.Minute)
	put, err := w.probe.Look(ctx)
	if put == nil || err != nil {
		t.Fatalf("the lists were seen: %v", err)
	}
	var s fleet.Snapshot
	put(&s)
	if len(s.Forge.Value.Pulls) != 4 || s.Forge.Value.Pulls[0].Review.IsKnown() {
		t.Errorf("%+v", s.Forge.Value.Pulls)
	}
}

func TestAbsent(t *testing.T) {
	p, err := forge.New(forge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context()); !errors.Is(err, observe.ErrAbsent) {
		t.Errorf("no forge is %v", err)
	}
}
