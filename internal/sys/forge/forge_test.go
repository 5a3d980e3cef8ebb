package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forge"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

const head = "1111111111111111111111111111111111111111"

// world is one repository on a forge of each kind, its reader and its writer.
type world struct {
	*forgetest.Server
	repo   *forgetest.Repo
	host   *httpcache.Host
	reader forge.Reader
	pulls  forge.Reader // of which numbers are those of pull requests
	writer *forge.Writer
	merger *forge.Writer // of which numbers are those of pull requests
}

func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	s := forgetest.New(t, kind)
	w := &world{Server: s, repo: s.Repo("acme/shop")}
	o := w.options(t, kind, s.Account("custos-bot"))
	var err error
	if w.reader, err = forge.New(o); err != nil {
		t.Fatal(err)
	}
	if w.writer, err = forge.NewWriter(o); err != nil {
		t.Fatal(err)
	}
	o.Pulls = true
	if w.pulls, err = forge.New(o); err != nil {
		t.Fatal(err)
	}
	if w.merger, err = forge.NewWriter(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) options(t *testing.T, kind, token string) forge.Options {
	t.Helper()
	var err error
	if w.host, err = httpcache.NewHost(httpcache.HostOptions{URL: forgetest.Kind(kind).API(w.URL)}); err != nil {
		t.Fatal(err)
	}
	to := httpcache.NewTransport(w.host, forgetest.Kind(kind).Scheme, func(context.Context) (string, error) { return token, nil })
	return forge.Options{Kind: forgetest.Kind(kind), URL: w.URL, Repo: "acme/shop", HTTP: to.Client()}
}

// each runs a test against a forge of each kind.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	for _, kind := range forgetest.Kinds() {
		t.Run(kind, func(t *testing.T) { test(t, newWorld(t, kind)) })
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestIssues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.repo.Open(1, 48*time.Hour, forgetest.Issue{Title: "one", Body: "depends on #2", Author: "ann", Labels: []string{"backlog"}, Assignees: []string{"bob"}, DependsOn: []string{"#2"}})
		w.repo.Open(2, 24*time.Hour, forgetest.Issue{Title: "two"})
		w.repo.Open(3, 72*time.Hour, forgetest.Issue{Title: "three"})
		w.repo.Propose(4, time.Hour, forgetest.Pull{Head: head})
		w.repo.Close(3, 2*time.Hour)
		open := must[[]forge.Issue](t)(w.reader.Issues(t.Context(), time.Time{}))
		open = slices.DeleteFunc(open, func(i forge.Issue) bool { return i.IsPull })
		if len(open) != 2 || open[1].Number != 1 || !open[1].Open || open[1].Author != "ann" || !slices.Equal(open[1].Labels, []string{"backlog"}) ||
			!slices.Equal(open[1].Assignees, []string{"bob"}) || open[1].Native == 0 || open[0].Native > 0 || open[1].Body != "depends on #2" {
			t.Errorf("open: %+v", open)
		}
		closed := must[[]forge.Issue](t)(w.reader.Issues(t.Context(), w.Clock().Add(-24*time.Hour)))
		if len(closed) != 1 || closed[0].Number != 3 || closed[0].Open || w.Clock().Sub(closed[0].Closed).Round(time.Hour) != 2*time.Hour {
			t.Errorf("closed: %+v", closed)
		}
		if none := must[[]forge.Issue](t)(w.reader.Issues(t.Context(), w.Clock().Add(-time.Hour))); len(none) != 0 {
			t.Errorf("closed in the last hour: %+v", none)
		}
		by := must[[]forge.Issue](t)(w.reader.Blockers(t.Context(), 1))
		if len(by) != 1 || by[0].Number != 2 || by[0].Repo != "acme/shop" {
			t.Errorf("waits for %+v", by)
		}
		if pull := must[forge.Issue](t)(w.pulls.Issue(t.Context(), 4)); !pull.IsPull || !pull.Open {
			t.Errorf("a pull request as an issue: %+v", pull)
		}
		if _, err := w.reader.Issue(t.Context(), 99); !forge.IsMissing(err) {
			t.Errorf("no such issue: %v", err)
		}
	})
}

// Those that ended are told with when and how, the one that changed last first.
func TestEnded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := 1; n <= 4; n++ {
			w.repo.Propose(n, 48*time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix", Author: "bot"}, Base: "main", Branch: "fix", Head: head})
		}
		w.repo.Close(1, time.Hour)
		w.repo.Merge(2, 3*time.Hour)
		w.repo.Merge(4, 2*time.Hour)
		got := must[[]forge.Ended](t)(w.reader.Ended(t.Context()))
		var told []string
		for _, e := range got {
			told = append(told, fmt.Sprintf("%d %v %s %s", e.Number, e.Merged, w.Clock().Sub(e.At).Round(time.Hour), e.Branch))
		}
		if want := []string{"1 false 1h0m0s fix", "4 true 2h0m0s fix", "2 true 3h0m0s fix"}; !slices.Equal(told, want) {
			t.Errorf("ended: %q, want %q", told, want)
		}
		if open := must[[]forge.Pull](t)(w.reader.Pulls(t.Context())); len(open) != 1 || open[0].Number != 3 {
			t.Errorf("open: %+v", open)
		}
	})
}

// A list is read whole, although no header leads to its other pages: a part of it
// would read as if the rest were closed.
func TestListsAreWhole(t *testing.T) {
	for name, strip := range map[string]func(*world){
		"all headers":   func(*world) {},
		"no Link":       func(w *world) { w.NoLink = true },
		"neither":       func(w *world) { w.NoLink, w.NoCount = true, true },
		"smaller pages": func(w *world) { w.PageSize = 7 },
	} {
		for _, kind := range []string{"gitea", "forgejo"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				w := newWorld(t, kind)
				w.Change(func() { strip(w) })
				const many = 60
				p := forgetest.Pull{Head: head}
				i := forgetest.Issue{Title: "all"}
				for n := range many {
					at := w.Clock().Add(time.Duration(n) * time.Second)
					w.repo.Labels = append(w.repo.Labels, fmt.Sprint("label ", n))
					p.Checks = append(p.Checks, forgetest.Check{Context: fmt.Sprint("ci/", n), State: "success", At: at})
					p.Reviews = append(p.Reviews, forgetest.Review{Author: fmt.Sprint("r", n), State: "COMMENT", At: at})
					i.DependsOn = append(i.DependsOn, fmt.Sprint("#", 100+n))
					i.Comments = append(i.Comments, forgetest.Comment{Author: "custos-bot", Body: forge.Marker(fmt.Sprint("k", n))})
					w.repo.Open(100+n, time.Hour, forgetest.Issue{Title: "one"})
				}
				w.repo.Open(1, time.Hour, i)
				w.repo.Propose(2, time.Hour, p)
				if got := must[[]forge.Issue](t)(w.reader.Issues(t.Context(), time.Time{})); len(got) != many+1 {
					t.Errorf("%d issues", len(got))
				}
				if got := must[[]forge.Issue](t)(w.reader.Blockers(t.Context(), 1)); len(got) != many {
					t.Errorf("it waits for %d", len(got))
				}
				if got := must[forge.Checks](t)(w.reader.Checks(t.Context(), 2, head)); len(got.Checks) != many || !got.Whole {
					t.Errorf("%d checks, whole: %v", len(got.Checks), got.Whole)
				}
				if got := must[[]forge.Review](t)(w.reader.Reviews(t.Context(), 2)); len(got) != many {
					t.Errorf("%d reviews", len(got))
				}
				if did := must[bool](t)(w.writer.Label(t.Context(), 1, fmt.Sprint("label ", many-1), true)); !did {
					t.Error("the last label is not found")
				}
				if said := must[bool](t)(w.writer.Said(t.Context(), 1, "k59")); !said {
					t.Error("the last comment is not found")
				}
			})
		}
	}
}

// Of a context that ran again the newest result counts, and an answer that cannot be
// read is not that there was none.
func TestNewestStatusCounts(t *testing.T) {
	w := newWorld(t, "gitea")
	at := w.Clock()
	w.repo.Propose(2, time.Hour, forgetest.Pull{Head: head, Checks: []forgetest.Check{
		{Context: "ci", State: "pending", At: at}, {Context: "ci", State: "failure", At: at}, {Context: "lint", State: "success", At: at}, {Context: "ci", State: "success", At: at}}})
	got := must[forge.Checks](t)(w.reader.Checks(t.Context(), 2, head))
	if len(got.Checks) != 2 || got.Checks[0].Context != "ci" || got.Checks[0].State != "success" || !got.Whole {
		t.Errorf("%+v", got)
	}
	for name, f := range map[string]forgetest.Fault{"a page": {Status: 200, Body: "<html>"}, "nothing": {Status: 200}, "no status": {Status: 200, Body: "[{}]"}} {
		mend := w.Break(f)
		if got, err := w.reader.Checks(t.Context(), 2, head); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
		mend()
	}
}

func TestPulls(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := w.Clock().Add(-time.Hour)
		w.repo.Required["main"] = []string{"ci/test"}
		p := w.repo.Propose(7, 2*time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "fix", Body: "Fixes #1"}, Base: "main", Branch: "fix/issue-1", Head: head,
			Requested: []string{"ann"}, Conflict: true, Committed: at,
			Checks:  []forgetest.Check{{Context: "ci/test", State: "failure", At: at}, {Context: "lint", State: "success", At: at, Run: true}, {Context: "deploy", State: "pending", At: at, Run: true}},
			Reviews: []forgetest.Review{{Author: "ann", State: "REQUEST_CHANGES", At: at}, {Author: "eve", State: "APPROVED", Dismissed: true, At: at}}})
		list := must[[]forge.Pull](t)(w.reader.Pulls(t.Context()))
		if len(list) != 1 || list[0].Base != "main" || list[0].Branch != "fix/issue-1" || list[0].Head != head || !list[0].Requested || list[0].Draft {
			t.Fatalf("pulls: %+v", list)
		}
		if got := must[string](t)(w.reader.Merges(t.Context(), 7)); got != "no" {
			t.Errorf("merges: %q", got)
		}
		w.Change(func() { p.Conflict = false })
		if got := must[string](t)(w.reader.Merges(t.Context(), 7)); got != "yes" {
			t.Errorf("merges after: %q", got)
		}
		checks := must[forge.Checks](t)(w.reader.Checks(t.Context(), 7, head))
		states := map[string]string{}
		for _, c := range checks.Checks {
			states[c.Context] = c.State
			if (c.State == "pending") != c.Ended.IsZero() {
				t.Errorf("check %+v", c)
			}
		}
		if !checks.Whole || states["ci/test"] != "failure" || states["lint"] != "success" || states["deploy"] != "pending" {
			t.Errorf("checks: %+v", checks)
		}
		reviews := must[[]forge.Review](t)(w.reader.Reviews(t.Context(), 7))
		if len(reviews) < 2 || reviews[len(reviews)-2].State != "changes requested" || reviews[len(reviews)-2].Author != "ann" || reviews[len(reviews)-1].State != "dismissed" {
			t.Errorf("reviews: %+v", reviews)
		}
		if got := must[time.Time](t)(w.reader.Committed(t.Context(), head)); !got.Equal(at) {
			t.Errorf("committed %v, want %v", got, at)
		}
		if got := must[[]string](t)(w.reader.Required(t.Context(), "main")); !slices.Equal(got, []string{"ci/test"}) && w.Kind != "gitlab" { // which asks for all of a pipeline
			t.Errorf("required: %v", got)
		}
		if got := must[[]string](t)(w.reader.Required(t.Context(), "feature/x")); len(got) != 0 {
			t.Errorf("required elsewhere: %v", got)
		}
		if got := must[string](t)(w.reader.Primary(t.Context())); got != "main" {
			t.Errorf("primary %q", got)
		}
		if got := must[string](t)(w.reader.Me(t.Context())); got != "custos-bot" {
			t.Errorf("me %q", got)
		}
	})
}

func TestPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := range 230 {
			w.repo.Open(n+1, time.Hour, forgetest.Issue{Title: "x"})
		}
		seen := map[int]bool{}
		for _, i := range must[[]forge.Issue](t)(w.reader.Issues(t.Context(), time.Time{})) {
			seen[i.Number] = true
		}
		if len(seen) != 230 {
			t.Errorf("%d of 230 seen", len(seen))
		}
		before := w.Same()
		must[[]forge.Issue](t)(w.reader.Issues(t.Context(), time.Time{}))
		if got := w.Same() - before; got < 3 {
			t.Errorf("%d pages were not asked for conditionally", got)
		}
	})
}

// Every deed is done once, however often it is asked for, and although an answer is lost.
func TestWriter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		i := w.repo.Open(1, time.Hour, forgetest.Issue{Labels: []string{"bug"}, Assignees: []string{"ann"},
			Comments: []forgetest.Comment{{Author: "eve", Body: forge.Marker("pr-stale/1")}}})
		for n := range 2 {
			first := n == 0
			if did := must[bool](t)(w.writer.Comment(t.Context(), 1, "pr-stale/1", "hello")); did != first {
				t.Errorf("comment %d: %v", n, did)
			}
			if did := must[bool](t)(w.writer.Label(t.Context(), 1, "blocked", true)); did != first {
				t.Errorf("label %d: %v", n, did)
			}
			if did := must[bool](t)(w.writer.Label(t.Context(), 1, "bug", false)); did != first {
				t.Errorf("label off %d: %v", n, did)
			}
			if did := must[bool](t)(w.writer.Assign(t.Context(), 1, "bob", true)); did != first {
				t.Errorf("assign %d: %v", n, did)
			}
			if did := must[bool](t)(w.writer.Assign(t.Context(), 1, "ann", false)); did != first {
				t.Errorf("unassign %d: %v", n, did)
			}
		}
		w.Change(func() {
			if len(i.Comments) != 2 || i.Comments[1].Author != "custos-bot" || !slices.Equal(i.Labels, []string{"blocked"}) || !slices.Equal(i.Assignees, []string{"bob"}) {
				t.Errorf("issue %+v", i)
			}
		})
		must[bool](t)(w.writer.Assign(t.Context(), 1, "bob", false))
		w.Change(func() {
			if len(i.Assignees) != 0 {
				t.Errorf("nobody is left, but %v", i.Assignees)
			}
		})
		if _, err := w.writer.Label(t.Context(), 1, "nosuch", true); err == nil || !strings.Contains(err.Error(), `no label "nosuch"`) {
			t.Errorf("a label that there is not: %v", err)
		}
		for _, key := range []string{"", "a b", "-->", "x--y"} {
			if _, err := w.writer.Comment(t.Context(), 1, key, "x"); err == nil {
				t.Errorf("key %q was taken", key)
			}
		}
		if _, err := w.writer.Comment(t.Context(), 1, "k", "x "+forge.Marker("other")); err == nil {
			t.Error("a text with a marker was taken")
		}
	})
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.repo.Open(1, time.Hour, forgetest.Issue{Title: "one", Body: strings.Repeat("text ", 2000)})
		list := func() error {
			_, err := w.reader.Issues(t.Context(), time.Time{})
			return err
		}
		for name, c := range map[string]struct {
			fault forgetest.Fault
			want  string
		}{
			"500":        {forgetest.Fault{Status: 500, Body: `{"message":"secretdetail"}`}, "answered 500"},
			"a page":     {forgetest.Fault{Status: 502, Body: "<html>secretdetail</html>"}, "answered 502"},
			"no JSON":    {forgetest.Fault{Status: 200, Body: "<html>secretdetail</html>"}, "no JSON"},
			"wrong JSON": {forgetest.Fault{Status: 200, Body: `{"number":"secretdetail"}`}, "its answer"},
			"no issue":   {forgetest.Fault{Status: 200, Body: `[{"secretdetail":1}]`}, "its answer"},
			"odd time":   {forgetest.Fault{Status: 200, Body: `[{"number":1,"created_at":"secretdetail"}]`}, "its answer"},
			"404":        {forgetest.Fault{Status: 404, Body: `{}`}, "answered 404"},
			"403":        {forgetest.Fault{Status: 403, Body: `{}`}, "answered 403"},
			"half":       {forgetest.Fault{Half: true}, "broke off"},
			"endless":    {forgetest.Fault{Endless: true}, "does not end"},
			"elsewhere":  {forgetest.Fault{Status: 302, Header: http.Header{"Location": {"https://example.org/"}}}, "answered 302"},
			"too large":  {forgetest.Fault{Status: 200, Body: "[" + strings.Repeat(" ", 9<<20) + "]"}, "more than"},
		} {
			mend := w.Break(c.fault)
			err := list()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "forgetesttoken") {
				t.Errorf("%s: %v", name, err)
			}
			mend()
			if err := list(); err != nil {
				t.Errorf("%s: mended, but %v", name, err)
			}
		}
	})
}

// A server that is slow is waited for only as long as the caller waits.
func TestSlow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		defer close(release)
		w.Break(forgetest.Fault{Wait: release})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := w.reader.Pulls(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a slow one: %v", err)
		}
	})
}

func TestUnauthorized(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r, err := forge.New(w.options(t, w.Kind, "wrongtoken"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Pulls(t.Context())
		var e *forge.Error
		if !errors.As(err, &e) || e.Status != 401 || strings.Contains(err.Error(), "wrongtoken") {
			t.Errorf("401: %v", err)
		}
	})
}

// A host that asks to be left alone is asked nothing more until then.
func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, fault := range map[string]forgetest.Fault{
			"Retry-After": forgetest.Limited(time.Minute),
			"spent":       forgetest.Spent(w.Clock().Add(10 * time.Minute)),
			"for ever":    forgetest.Spent(w.Clock().Add(1e6 * time.Hour)),
		} {
			fault.Times = 1
			w.Break(fault)
			r, err := forge.New(w.options(t, w.Kind, w.Account("x")))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Pulls(t.Context()); err == nil {
				t.Errorf("%s: no error", name)
			}
			w.Forget()
			_, err = r.Pulls(t.Context())
			var l *httpcache.Limited
			if !errors.As(err, &l) || len(w.Requests()) != 0 {
				t.Fatalf("%s: %v, and it was asked %v", name, err, w.Requests())
			}
			if wait := time.Until(l.Until); wait < 30*time.Second || wait > 2*time.Hour {
				t.Errorf("%s: left alone for %v", name, wait)
			}
		}
	})
}

func TestSkew(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Change(func() { w.Skew = -10 * time.Minute })
		must[string](t)(w.reader.Primary(t.Context()))
		if skew, ok := w.host.Skew(); !ok || skew < -10*time.Minute-5*time.Second || skew > -10*time.Minute+5*time.Second {
			t.Errorf("skew %v", skew)
		}
	})
}

// Nobody but the host gets the token, and a page cannot send us anywhere else.
func TestNobodyElseGetsTheToken(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	each(t, func(t *testing.T, w *world) {
		w.Break(forgetest.Fault{Status: 301, Header: http.Header{"Location": {other.URL}}})
		if _, err := w.reader.Issue(t.Context(), 1); err == nil {
			t.Error("no error")
		}
		if _, err := w.reader.Primary(t.Context()); err == nil {
			t.Error("no error")
		}
		for _, r := range w.Requests() {
			if strings.Contains(r, "forgetesttoken") {
				t.Errorf("the token is in the URL: %s", r)
			}
		}
	})
	if asked > 0 {
		t.Errorf("the other server was asked %d times", asked)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []forge.Options{{Repo: "a/b"}, {Kind: forge.Gitea(), Repo: "a"}, {Kind: forge.Gitea(), Repo: "a/.."}, {Kind: forge.GitHub(), Repo: "a/b/c"}, {Kind: forge.GitHub(), Repo: "a b/c"}} {
		if _, err := forge.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if got := forgetest.Kind("github").API("https://github.com/"); got != "https://api.github.com/" {
		t.Error(got)
	}
}
