package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/forge"
	"custos/internal/sys/forge/gitlab"
	"custos/internal/sys/forgetest"
	"custos/internal/sys/httpcache"
)

const head = "1111111111111111111111111111111111111111"

// at is what reaches a project at an address.
func at(t *testing.T, site, repo, token string) forge.Options {
	t.Helper()
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: site})
	if err != nil {
		t.Fatal(err)
	}
	to := httpcache.NewTransport(host, gitlab.Kind().Scheme, func(context.Context) (string, error) { return token, nil })
	return forge.Options{Kind: gitlab.Kind(), URL: site, Repo: repo, HTTP: to.Client()}
}

func reader(t *testing.T, o forge.Options) forge.Reader {
	t.Helper()
	r, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writer(t *testing.T, o forge.Options) *forge.Writer {
	t.Helper()
	w, err := forge.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// shop is a project on a GitLab, and what reaches it.
func shop(t *testing.T) (*forgetest.Server, *forgetest.Repo, forge.Options) {
	t.Helper()
	s := forgetest.New(t, "gitlab")
	return s, s.Repo("acme/shop"), at(t, s.URL, "acme/shop", s.Account("custos-bot"))
}

// Issue 7 and merge request 7 are two things, and each is written to as itself.
func TestNumbersAreApart(t *testing.T) {
	_, repo, o := shop(t)
	i := repo.Open(7, time.Hour, forgetest.Issue{Title: "an issue"})
	p := repo.Propose(7, time.Hour, forgetest.Pull{Issue: forgetest.Issue{Title: "a merge request"}, Head: head})
	pulls := o
	pulls.Pulls = true
	for title, o := range map[string]forge.Options{"an issue": o, "a merge request": pulls} {
		got, err := reader(t, o).Issue(t.Context(), 7)
		if err != nil || got.Title != title || got.IsPull != o.Pulls || !got.Open {
			t.Errorf("%s: %+v, %v", title, got, err)
		}
		for range 2 {
			if _, err := writer(t, o).Comment(t.Context(), 7, "k", "under "+title); err != nil {
				t.Error(err)
			}
		}
		if _, err := writer(t, o).Label(t.Context(), 7, "bug", true); err != nil {
			t.Error(err)
		}
	}
	for title, i := range map[string]*forgetest.Issue{"an issue": i, "a merge request": &p.Issue} {
		if len(i.Comments) != 1 || !strings.HasPrefix(i.Comments[0].Body, "under "+title) || !slices.Equal(i.Labels, []string{"bug"}) {
			t.Errorf("%s: %+v", title, i)
		}
	}
}

// Groups lie within groups, and a GitLab may lie beneath a path of its host.
func TestWhereAProjectLies(t *testing.T) {
	s := forgetest.New(t, "gitlab")
	s.Repo("acme/web.x/shop_1").Open(1, time.Hour, forgetest.Issue{Title: "one"})
	below := httptest.NewServer(http.StripPrefix("/git/lab", s))
	t.Cleanup(below.Close)
	for _, site := range []string{s.URL, below.URL + "/git/lab", below.URL + "/git/lab/"} {
		r := reader(t, at(t, site, "acme/web.x/shop_1", s.Account("bot")))
		list, err := r.Issues(t.Context(), time.Time{})
		if err != nil || len(list) != 1 || list[0].Repo != "acme/web.x/shop_1" {
			t.Errorf("%s: %+v, %v", site, list, err)
		}
		if me, err := r.Me(t.Context()); err != nil || me != "bot" {
			t.Errorf("%s: %q, %v", site, me, err)
		}
	}
	if asked := s.Requests()[0]; !strings.HasPrefix(asked, "GET /api/v4/projects/acme%2Fweb.x%2Fshop_1/issues?") {
		t.Error(asked)
	}
	for _, repo := range []string{"shop", "/shop", "acme/", "acme//shop", "acme/../shop", "acme/sh op", "acme/shop?x", "acme/%2e/x", "acme/./x"} {
		if _, err := forge.New(forge.Options{Kind: gitlab.Kind(), Repo: repo}); err == nil || !strings.Contains(err.Error(), `like "acme/shop" or "acme/web/shop"`) {
			t.Errorf("%q: %v", repo, err)
		}
	}
}

// A list is read whole, whatever its server tells of its pages.
func TestListsAreWhole(t *testing.T) {
	for name, strip := range map[string]func(*forgetest.Server){
		"since 18.3":           func(*forgetest.Server) {},
		"before":               func(s *forgetest.Server) { s.NoKeyset = true },
		"more than it counts":  func(s *forgetest.Server) { s.NoKeyset, s.NoCount = true, true },
		"no Link":              func(s *forgetest.Server) { s.NoLink = true },
		"no Link before":       func(s *forgetest.Server) { s.NoLink, s.NoKeyset = true, true },
		"nothing":              func(s *forgetest.Server) { s.NoLink, s.NoNext, s.NoCount = true, true, true },
		"nothing, before":      func(s *forgetest.Server) { s.NoLink, s.NoNext, s.NoCount, s.NoKeyset = true, true, true, true },
		"links lead elsewhere": func(s *forgetest.Server) { s.Root = "http://127.0.0.1:1" },
	} {
		for _, many := range []int{99, 100, 201} {
			t.Run(fmt.Sprint(name, " ", many), func(t *testing.T) {
				s, repo, o := shop(t)
				s.Change(func() { strip(s) })
				i, p := forgetest.Issue{Title: "it"}, forgetest.Pull{Head: head}
				for n := range many {
					at := s.Clock().Add(-time.Duration(n) * time.Second)
					repo.Open(100+n, time.Duration(n%7)*time.Hour, forgetest.Issue{Title: "one"})
					repo.Propose(100+n, time.Duration(n%7)*time.Hour, forgetest.Pull{Head: fmt.Sprintf("%040d", n)})
					p.Checks = append(p.Checks, forgetest.Check{Context: fmt.Sprint("job ", n), State: "success", At: at})
					i.Comments = append(i.Comments, forgetest.Comment{Author: "custos-bot", Body: forge.Marker(fmt.Sprint("k", n))})
				}
				repo.Open(1, time.Hour, i)
				repo.Propose(1, time.Hour, p)
				r := reader(t, o)
				if got, err := r.Issues(t.Context(), time.Time{}); err != nil || len(got) != many+1 {
					t.Errorf("%d issues, %v", len(got), err)
				}
				if got, err := r.Pulls(t.Context()); err != nil || len(got) != many+1 {
					t.Errorf("%d merge requests, %v", len(got), err)
				}
				if got, err := r.Checks(t.Context(), 1, head); err != nil || len(got.Checks) != many || !got.Whole {
					t.Errorf("%d checks, %v", len(got.Checks), err)
				}
				if said, err := writer(t, o).Said(t.Context(), 1, fmt.Sprint("k", many-1)); err != nil || said != (many > 0) {
					t.Errorf("the last comment is found: %v, %v", said, err)
				}
			})
		}
	}
}

// While a list is read, one of it is closed or another opened: none may slip through between two pages.
func TestAListThatChangesMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		between func(*forgetest.Repo, int)
		times   int
		older   bool
		want    string
	}{
		"closed, by keyset":      {func(r *forgetest.Repo, _ int) { r.Close(250, 0) }, 1, false, ""},
		"closed":                 {func(r *forgetest.Repo, _ int) { r.Close(250, 0) }, 1, true, ""},
		"opened":                 {func(r *forgetest.Repo, n int) { r.Open(1000+n, 0, forgetest.Issue{}) }, 1, true, ""},
		"one for another":        {func(r *forgetest.Repo, n int) { r.Close(120, 0); r.Open(1000+n, 0, forgetest.Issue{}) }, 1, true, ""},
		"and does not end doing": {func(r *forgetest.Repo, n int) { r.Close(100+n, 0) }, 0, true, "changes while it is read"},
	} {
		t.Run(name, func(t *testing.T) {
			s, repo, o := shop(t)
			s.NoKeyset = c.older
			for n := range 250 {
				repo.Open(1+n, time.Duration(250-n)*time.Minute, forgetest.Issue{Title: "one"})
			}
			met, path := 0, "page=2"
			if !c.older {
				path = "cursor="
			}
			s.Break(forgetest.Fault{Path: path, Times: c.times, Met: func() { met++; c.between(repo, met) }})
			got, err := reader(t, o).Issues(t.Context(), time.Time{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%d issues, %v", len(got), err)
				}
				return
			}
			seen := map[int]bool{}
			for _, i := range got {
				seen[i.Number] = true
			}
			for n := range 250 { // those that stayed open throughout
				if number := 1 + n; repo.Issues[number].Closed.IsZero() && !seen[number] {
					t.Errorf("issue %d slipped through", number)
				}
			}
			if err != nil || met == 0 {
				t.Errorf("met %d, %v", met, err)
			}
		})
	}
}

// bare drops what is said of pages from an answer that nothing is modified, as some servers do.
type bare struct{ http.ResponseWriter }

func (b bare) WriteHeader(status int) {
	if status == http.StatusNotModified {
		for _, name := range []string{"Link", "X-Total", "X-Total-Pages", "X-Next-Page", "X-Prev-Page", "X-Page", "X-Per-Page"} {
			b.Header().Del(name)
		}
	}
	b.ResponseWriter.WriteHeader(status)
}

// The first page is as it was, and the last is not: both are of one list.
func TestStoredPages(t *testing.T) {
	for _, older := range []bool{false, true} {
		s := forgetest.New(t, "gitlab")
		s.NoKeyset = older
		repo := s.Repo("acme/shop")
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(bare{w}, r) }))
		t.Cleanup(proxy.Close)
		for n := range 150 {
			repo.Open(1+n, time.Duration(150-n)*time.Minute, forgetest.Issue{Title: "one"})
		}
		r := reader(t, at(t, proxy.URL, "acme/shop", s.Account("bot")))
		for closed := range 4 {
			if closed > 0 {
				repo.Close(closed, 0)
			}
			if got, err := r.Issues(t.Context(), time.Time{}); err != nil || len(got) != 150-closed {
				t.Errorf("older: %v: %d issues, %v, want %d", older, len(got), err, 150-closed)
			}
		}
		if s.Same() == 0 {
			t.Error("nothing was asked conditionally")
		}
	}
}

// What is checked is the pipeline of the head, whosoever it is.
func TestChecks(t *testing.T) {
	ago := func(s *forgetest.Server) time.Time { return s.Clock().Add(-time.Hour) }
	check := func(name, state string) forgetest.Check { return forgetest.Check{Context: name, State: state} }
	for name, c := range map[string]struct {
		checks   []forgetest.Check
		pipeline string
		want     string
	}{
		"none":                       {nil, "", ""},
		"well":                       {[]forgetest.Check{check("test", "success"), check("lint", "skipped")}, "", "lint success, test success"},
		"failed":                     {[]forgetest.Check{check("test", "failure"), check("lint", "success")}, "", "lint success, test failure"},
		"on its way":                 {[]forgetest.Check{check("test", "pending"), check("lint", "success")}, "", "lint success, test pending"},
		"may fail":                   {[]forgetest.Check{check("test", "success"), check("lint", "warning")}, "", "lint success, test success"},
		"begun again":                {[]forgetest.Check{check("test", "failure"), check("test", "success")}, "", "test success"},
		"of both branches":           {[]forgetest.Check{check("test", "failure")}, forgetest.PipelineMerged, "test failure"},
		"in a fork":                  {[]forgetest.Check{check("test", "failure")}, forgetest.PipelineFork, "pipeline failure"},
		"in a fork, well":            {[]forgetest.Check{check("test", "success")}, forgetest.PipelineFork, "pipeline success"},
		"of an older commit":         {[]forgetest.Check{check("test", "success")}, forgetest.PipelineOld, ""},
		"the configuration is wrong": {nil, forgetest.PipelineEmpty, "pipeline failure"},
	} {
		s, repo, o := shop(t)
		for i := range c.checks {
			c.checks[i].At = ago(s)
		}
		repo.Propose(3, time.Hour, forgetest.Pull{Head: head, Checks: c.checks, Pipeline: c.pipeline})
		got, err := reader(t, o).Checks(t.Context(), 3, head)
		var told []string
		for _, x := range got.Checks {
			told = append(told, x.Context+" "+x.State)
			if x.Ended.IsZero() != (x.State == "pending") || x.Began.IsZero() {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if err != nil || strings.Join(told, ", ") != c.want || !got.Whole {
			t.Errorf("%s: %q, %v, want %q", name, told, err, c.want)
		}
	}
	_, repo, o := shop(t)
	repo.Propose(3, time.Hour, forgetest.Pull{Head: head})
	if got, err := reader(t, o).Checks(t.Context(), 3, strings.Repeat("2", 40)); err == nil {
		t.Errorf("of a commit that is not its head: %+v", got)
	}
}

func TestMerges(t *testing.T) {
	_, repo, o := shop(t)
	for n, c := range []struct {
		pull forgetest.Pull
		want string
	}{{forgetest.Pull{}, "yes"}, {forgetest.Pull{Conflict: true}, "no"}, {forgetest.Pull{Conflict: true, Draft: true}, "no"}, {forgetest.Pull{Draft: true}, "yes"}, {forgetest.Pull{Undecided: true}, ""}} {
		repo.Propose(n+1, time.Hour, c.pull)
		if got, err := reader(t, o).Merges(t.Context(), n+1); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.pull, got, err, c.want)
		}
	}
}

// Who approved need not have been asked, and who was asked need not have done anything.
func TestReviews(t *testing.T) {
	s, repo, o := shop(t)
	at := s.Clock().Add(-time.Hour)
	p := repo.Propose(3, time.Hour, forgetest.Pull{Requested: []string{"ann", "bob"}, Reviews: []forgetest.Review{{Author: "bob", State: "REQUEST_CHANGES", At: at},
		{Author: "cat", State: "APPROVED", At: at}, {Author: "dan", State: "COMMENT", At: at}, {Author: "eve", State: "APPROVED", At: at, Dismissed: true}}})
	told := func() string {
		list, err := reader(t, o).Reviews(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range list {
			if r.State == "approved" && !r.At.Equal(at) {
				t.Errorf("%+v", r)
			}
			out = append(out, r.Author+" "+r.State)
		}
		return strings.Join(out, ", ")
	}
	if got := told(); got != "ann requested, bob changes requested, cat approved, dan commented, eve dismissed" {
		t.Error(got)
	}
	s.Change(func() { repo.Old = true })
	if got := told(); got != "cat approved" {
		t.Error("a server that does not list reviewers: ", got)
	}
	s.Change(func() { p.Reviews = nil })
	if got := told(); got != "" {
		t.Error(got)
	}
	if list, err := reader(t, o).Reviews(t.Context(), 4); !forge.IsMissing(err) {
		t.Errorf("of none: %+v, %v", list, err)
	}
}

// What Custos says is never done: a line that begins with a slash is a command to GitLab.
func TestNothingSaidIsDone(t *testing.T) {
	_, repo, o := shop(t)
	i := repo.Open(1, time.Hour, forgetest.Issue{})
	text := "look\n/close\n  /assign @eve\n\t/label ~x\nand/or"
	if _, err := writer(t, o).Comment(t.Context(), 1, "k", text); err != nil {
		t.Fatal(err)
	}
	if !i.Closed.IsZero() || len(i.Comments) != 1 || i.Comments[0].Body != "look\n\\/close\n  \\/assign @eve\n\t\\/label ~x\nand/or\n\n"+forge.Marker("k") {
		t.Errorf("%+v", i)
	}
	if said, err := writer(t, o).Said(t.Context(), 1, "k"); !said || err != nil {
		t.Errorf("%v, %v", said, err)
	}
}

func TestLabels(t *testing.T) {
	s, repo, o := shop(t)
	i := repo.Open(1, time.Hour, forgetest.Issue{})
	s.Change(func() { repo.Shared = []string{"group::later"} })
	if did, err := writer(t, o).Label(t.Context(), 1, "group::later", true); err != nil || !did {
		t.Errorf("a label of the group: %v, %v", did, err)
	}
	if _, err := writer(t, o).Label(t.Context(), 1, "nosuch", true); err == nil || slices.Contains(repo.Labels, "nosuch") {
		t.Errorf("a label was made: %v", err)
	}
	if !slices.Equal(i.Labels, []string{"group::later"}) {
		t.Errorf("%v", i.Labels)
	}
}

// Where its licence knows but one assignee, GitLab leaves out the second, and says nothing.
func TestASecondAssignee(t *testing.T) {
	s, repo, o := shop(t)
	i := repo.Open(1, time.Hour, forgetest.Issue{Assignees: []string{"ann"}})
	s.Change(func() { repo.Free = true })
	if _, err := writer(t, o).Assign(t.Context(), 1, "bob", true); err == nil || !strings.Contains(err.Error(), "no second one") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(i.Assignees, []string{"ann"}) {
		t.Errorf("%v", i.Assignees)
	}
}

// tells answers every request alike, of JSON unless it is said otherwise.
func tells(t *testing.T, status int, body string, header ...string) forge.Options {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return at(t, s.URL, "acme/shop", "glpat-secretdetail")
}

// Each way to fail is an error: it says little, and nothing of it is a fact.
func TestFaults(t *testing.T) {
	const page = `<!DOCTYPE html><title>Sign in · GitLab</title><input name="authenticity_token" value="secretdetail">`
	for name, c := range map[string]struct {
		o    forge.Options
		want string
	}{
		"401":           {tells(t, 401, `{"message":"401 Unauthorized"}`), "does not take the token"},
		"expired":       {tells(t, 401, `{"error":"invalid_token","error_description":"Token is expired. secretdetail"}`), "does not take the token"},
		"scope":         {tells(t, 403, `{"error":"insufficient_scope","scope":"api secretdetail"}`), "may not do that"},
		"private":       {tells(t, 404, `{"message":"404 Project Not Found"}`), "may not see it"},
		"moved":         {tells(t, 301, "This resource has been moved permanently to secretdetail", "Location", "http://127.0.0.1:1/api/v4/projects/81"), "another address"},
		"to a person":   {tells(t, 302, page, "Location", "/users/sign_in"), "sign in"},
		"a page":        {tells(t, 200, page, "Content-Type", "text/html"), "no JSON"},
		"throttled":     {tells(t, 429, "Retry later\n", "Retry-After", "30"), "429"},
		"500":           {tells(t, 500, `{"message":"500 Internal Server Error secretdetail"}`), "500"},
		"502":           {tells(t, 502, "<html>secretdetail</html>"), "502"},
		"null":          {tells(t, 200, "null"), "not what it should be"},
		"cut":           {tells(t, 200, `[{"iid":1,"state":"opened"`), "no JSON"},
		"nothing":       {tells(t, 200, ""), "no JSON"},
		"null in it":    {tells(t, 200, "[null]"), "not what it should be"},
		"a new state":   {tells(t, 200, `[{"iid":1,"state":"secretdetail"}]`), "not what it should be"},
		"another shape": {tells(t, 200, `[{"iid":"secretdetail","state":"opened"}]`), "no JSON"},
		"an object":     {tells(t, 200, `{"error":"secretdetail"}`), "no JSON"},
		"no number":     {tells(t, 200, `[{"state":"opened","title":"x"}]`), "not what it should be"},
	} {
		for what, ask := range map[string]func(forge.Reader) (any, error){
			"issues": func(r forge.Reader) (any, error) { return r.Issues(t.Context(), time.Time{}) },
			"pulls":  func(r forge.Reader) (any, error) { return r.Pulls(t.Context()) },
			"ended":  func(r forge.Reader) (any, error) { return r.Ended(t.Context()) },
		} {
			got, err := ask(reader(t, c.o))
			if name == "throttled" && err != nil { // and then it is left alone
				var l *httpcache.Limited
				if errors.As(err, &l) && strings.Contains(l.Why, "429") {
					continue
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secretdetail") {
				t.Errorf("%s, %s: %v, %v", name, what, got, err)
			}
		}
	}
}

// Where GitLab says null there is nothing, and no fault.
func TestNullFields(t *testing.T) {
	o := tells(t, 200, `[{"iid":3,"title":"x","description":null,"state":"opened","author":null,"labels":null,"assignees":[null],"assignee":null,"milestone":null,"closed_at":null,"merged_at":null,
		"created_at":"2026-11-20T09:00:00.123Z","updated_at":"2026-11-20T09:00:00+02:00","references":null,"sha":null,"reviewers":null,"draft":null,"merge_status":null,"head_pipeline":null}]`)
	list, err := reader(t, o).Issues(t.Context(), time.Time{})
	if err != nil || len(list) != 1 || list[0].Author != "" || len(list[0].Assignees) != 0 || !list[0].Closed.IsZero() || list[0].Repo != "acme/shop" || list[0].Created.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	pulls, err := reader(t, o).Pulls(t.Context())
	if err != nil || len(pulls) != 1 || pulls[0].Head != "" || pulls[0].Requested || pulls[0].Draft {
		t.Errorf("%+v, %v", pulls, err)
	}
}

// GitLab counts what is not modified, so it says how much is left: none, and it is left alone.
func TestSpentIsHeeded(t *testing.T) {
	s, _, o := shop(t)
	r := reader(t, o)
	s.Break(forgetest.Throttled(40*time.Second, s.Clock()))
	for range 3 {
		if _, err := r.Pulls(t.Context()); err == nil {
			t.Fatal("no error")
		}
	}
	if asked := len(s.Requests()); asked != 1 {
		t.Errorf("%d requests to a server that asked to be left alone", asked)
	}
	o = tells(t, 200, "[]", "RateLimit-Remaining", "0", "RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Minute).Unix()))
	r = reader(t, o)
	if _, err := r.Pulls(t.Context()); err != nil {
		t.Error(err)
	}
	var l *httpcache.Limited
	if _, err := r.Pulls(t.Context()); !errors.As(err, &l) || time.Until(l.Until) > time.Minute || time.Until(l.Until) < 50*time.Second {
		t.Errorf("%v", err)
	}
}

// The token is in a header of its own, and nowhere else.
func TestTheToken(t *testing.T) {
	var heard http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header
		_, _ = io.WriteString(w, `{"username":"bot"}`)
	}))
	defer s.Close()
	if _, err := reader(t, at(t, s.URL, "a/b", "glpat-1")).Me(t.Context()); err != nil {
		t.Fatal(err)
	}
	if heard.Get("PRIVATE-TOKEN") != "glpat-1" || heard.Get("Authorization") != "" {
		t.Errorf("%v", heard)
	}
}

// FuzzAnswers: whatever a GitLab says, there is an answer or an error, and it ends.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`[{"iid":1,"state":"opened"}]`, `[{"iid":1,"state":"merged","merged_at":"2026-11-20T09:00:00Z"}]`, `{"approved_by":[{"user":null}]}`, `[{"user":{"username":"a"},"state":"approved"}]`,
		`{"iid":1,"sha":"1","head_pipeline":{"id":1,"status":"failed"}}`, `[{"id":1,"name":"x","status":"failed"}]`, `[{"link_type":"is_blocked_by","iid":2,"state":"closed","references":{"full":"a/b#2"}}]`, `null`, `[null]`, `"`} {
		f.Add(s, `<https://x/?page=2>; rel="next"`)
	}
	f.Add(`[]`, `<::>; rel=next, <`)
	f.Fuzz(func(t *testing.T, body, link string) {
		asked := 0
		web := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			if asked++; asked > 2000 {
				t.Fatal("it does not end")
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Link": {link}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})}
		r := reader(t, forge.Options{Kind: gitlab.Kind(), URL: "https://git.example.org", Repo: "a/b", HTTP: web})
		if list, err := r.Issues(t.Context(), time.Time{}); err == nil {
			for _, i := range list {
				if i.Number <= 0 {
					t.Errorf("%+v", i)
				}
			}
		}
		_, _ = r.Pulls(t.Context())
		_, _ = r.Ended(t.Context())
		_, _ = r.Issue(t.Context(), 1)
		_, _ = r.Blockers(t.Context(), 1)
		_, _ = r.Reviews(t.Context(), 1)
		_, _ = r.Merges(t.Context(), 1)
		if c, err := r.Checks(t.Context(), 1, "1"); err == nil {
			for _, x := range c.Checks {
				if x.State != "pending" && x.State != "success" && x.State != "failure" {
					t.Errorf("%+v", x)
				}
			}
		}
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
