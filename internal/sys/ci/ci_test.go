package ci_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
	"custos/internal/sys/httpcache"
)

// options are those that reach a fake, as the catalog makes them.
func options(t testing.TB, s *citest.Server) ci.Options {
	t.Helper()
	api, err := citest.Kind(s.Kind()).API(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: api})
	if err != nil {
		t.Fatal(err)
	}
	token := func(context.Context) (string, error) { return citest.Token, nil }
	return ci.Options{Kind: citest.Kind(s.Kind()), URL: s.URL, Project: citest.Project, Clock: host.Clock, Elsewhere: http.DefaultClient,
		HTTP: httpcache.NewTransport(host, citest.Kind(s.Kind()).Scheme, token).Client()}
}

func reader(t testing.TB, s *citest.Server) *ci.Reader {
	t.Helper()
	r, err := ci.NewReader(options(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// everyKind runs a test against each kind of server.
func everyKind(t *testing.T, f func(t *testing.T, s *citest.Server)) {
	t.Helper()
	for _, kind := range citest.Kinds() {
		t.Run(kind, func(t *testing.T) { f(t, citest.New(t, kind)) })
	}
}

func list(t testing.TB, r *ci.Reader) map[int64]ci.Pipeline {
	t.Helper()
	l, err := r.Pipelines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]ci.Pipeline{}
	for i, p := range l.Pipelines {
		if i > 0 && l.Pipelines[i-1].ID <= p.ID {
			t.Errorf("%d stands before %d: want the newest first", l.Pipelines[i-1].ID, p.ID)
		}
		out[p.ID] = p
	}
	return out
}

// TestConformance: the same world is the same, whoever tells it.
func TestConformance(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Skew(10 * time.Minute)
		now := s.Now().Truncate(time.Second)
		s.Add(citest.Run{Number: 1, Title: "Tidy up", State: "success"})
		s.Add(citest.Run{Number: 2, Event: "pull_request", Pull: 7, Branch: "fix/login", State: "failure", Head: "abc"})
		s.Add(citest.Run{Number: 3, State: "running", Created: now.Add(-30 * time.Minute), Started: now.Add(-25 * time.Minute)})
		s.Add(citest.Run{Number: 4, State: "pending", Created: now.Add(-40 * time.Minute)})
		s.Add(citest.Run{Number: 5, State: "cancelled"})
		s.Add(citest.Run{Number: 6, State: "blocked"})
		s.Add(citest.Run{Number: 7, State: "success", Word: "perplexed"})
		r := reader(t, s)
		got := list(t, r)
		for n, want := range map[int64]string{1: ci.Success, 2: ci.Failure, 3: ci.Running, 4: ci.Pending, 5: ci.Cancelled, 6: ci.Blocked, 7: ""} {
			p := got[s.ID(n)]
			if p.State != want || p.Event == "" || p.Head == "" || p.URL == "" || want == "" && !strings.HasPrefix(p.Said, "perplexed") {
				t.Errorf("%d is %+v, want %q", n, p, want)
			}
		}
		if p := got[s.ID(1)]; p.Title != "Tidy up" || p.Branch != "main" || p.Pull != 0 || p.IsPull() || p.Open() || p.Ended.IsZero() {
			t.Errorf("1 is %+v", p)
		}
		if p := got[s.ID(2)]; p.Pull != 7 || !p.IsPull() || p.Branch != "fix/login" && s.Kind() != "gitea-actions" && s.Kind() != "gitlab-ci" {
			t.Errorf("2 is %+v", p)
		}
		if p := got[s.ID(3)]; !p.Open() || !p.Started.Equal(now.Add(-25*time.Minute)) {
			t.Errorf("3 began at %v, want %v", p.Started, now.Add(-25*time.Minute))
		}
		if p := got[s.ID(4)]; !p.Created.Equal(now.Add(-40*time.Minute)) || !p.Started.IsZero() {
			t.Errorf("4 is %+v", p)
		}
		l, err := r.Pipelines(t.Context())
		if err != nil || l.Primary != "main" || l.At.Sub(s.Now()).Abs() > 2*time.Minute {
			t.Errorf("primary %q at %v, by its clock %v, %v", l.Primary, l.At, s.Now(), err)
		}
		one, err := r.Pipeline(t.Context(), s.ID(2))
		if err != nil || one.State != ci.Failure || one.Head != "abc" || one.Group() != got[s.ID(2)].Group() {
			t.Errorf("alone it is %+v, %v", one, err)
		}
		if _, err := r.Pipeline(t.Context(), s.ID(99)); !errors.Is(err, ci.ErrGone) {
			t.Errorf("what is not there is %v", err)
		}
	})
}

func TestFailed(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1, State: "failure", Steps: []citest.Step{
			{Job: "lint", Name: "vet", State: "success", Log: "fine"},
			{Job: "build", Name: "push", State: "failure", Exit: 137, Log: strings.Repeat("a line of the log\n", 10000) + "the last words"},
			{Job: "test", Name: "unit", State: "failure", Exit: 1, NoLog: true},
		}})
		got, err := reader(t, s).Failed(t.Context(), ci.Pipeline{ID: s.ID(1), Number: 1})
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		if p := got[0]; p.Name != "build/push" && p.Name != "build" || p.Exit != 137 || !strings.Contains(p.Log, "the last words") || len(p.Log) > 64<<10 || len(p.Log) < 60<<10 || p.Unread != "" {
			t.Errorf("%s: exit %d, %d bytes, unread %q", p.Name, p.Exit, len(p.Log), p.Unread)
		}
		if p := got[1]; p.Log != "" || !strings.Contains(p.Unread, ci.ErrGone.Error()) || strings.Contains(p.Unread, "sig=") {
			t.Errorf("%+v", p)
		}
	})
}

func TestWorkers(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Staff(citest.Worker{Name: "b", Silent: 10 * time.Minute, Offline: true}, citest.Worker{Name: "a"}, citest.Worker{Name: "a", Paused: true})
		got, at, err := reader(t, s).Workers(t.Context())
		if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
			t.Fatalf("%+v, %v", got, err)
		}
		if s.Kind() == "woodpecker" {
			if silent := at.Sub(got[1].Contact); silent < 9*time.Minute || silent > 11*time.Minute {
				t.Errorf("b is silent for %v", silent)
			}
		} else if got[1].Online || !got[0].Online {
			t.Errorf("%+v", got)
		}
		s.Forbid("/agents", 403)
		s.Forbid("/runners", 403)
		if _, _, err := reader(t, s).Workers(t.Context()); !errors.Is(err, ci.ErrForbidden) {
			t.Error(err)
		}
	})
}

func TestAgainAndCancel(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1, State: "failure"})
		s.Add(citest.Run{Number: 2, State: "running"})
		w, err := ci.NewWriter(options(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Again(t.Context(), ci.Pipeline{ID: s.ID(1), Number: 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Cancel(t.Context(), ci.Pipeline{ID: s.ID(2), Number: 2}); err != nil {
			t.Fatal(err)
		}
		got := list(t, reader(t, s))
		if s.Kind() == "woodpecker" {
			if got[1].State != ci.Failure || got[3].State != ci.Pending || got[3].Attempt != 2 || got[1].Attempt != 1 || got[3].Group() != got[1].Group() {
				t.Errorf("%+v", got)
			}
		} else if p := got[s.ID(1)]; p.State != ci.Pending || p.Attempt != 2 && s.Kind() != "forgejo-actions" && s.Kind() != "gitlab-ci" {
			t.Errorf("%+v", p)
		}
		if got[s.ID(2)].State != ci.Cancelled {
			t.Errorf("%+v", got[s.ID(2)])
		}
		if err := w.Cancel(t.Context(), ci.Pipeline{ID: s.ID(2), Number: 2}); err == nil {
			t.Error("what is over was cancelled")
		}
		s.Forbid("/rerun", 404)
		s.Forbid("/pipelines/1", 301) // a proxy sends us elsewhere: nothing was done
		if err := w.Again(t.Context(), ci.Pipeline{ID: s.ID(1), Number: 1}); err == nil || strings.HasSuffix(s.Kind(), "-actions") && !errors.Is(err, ci.ErrLacks) {
			t.Errorf("a server without the call: %v", err)
		}
	})
}

// A pipeline that hangs while two pages of newer ones go by is still seen.
func TestOldOpenOnesAreNotLost(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1, State: "running", Branch: "stuck"})
		r := reader(t, s)
		if list(t, r)[s.ID(1)].State != ci.Running {
			t.Fatal("it is not seen")
		}
		for n := range int64(130) {
			s.Add(citest.Run{Number: n + 2, Branch: fmt.Sprint("b", n)})
		}
		if got := list(t, r); got[s.ID(1)].State != ci.Running || len(got) < 60 || len(got) > 101 {
			t.Errorf("%d pipelines, the old one %+v", len(got), got[s.ID(1)])
		}
		s.Change(1, func(r *citest.Run) { r.State, r.Ended = "success", time.Now() })
		if got := list(t, r); got[s.ID(1)].State != ci.Success {
			t.Errorf("its end was not seen: %+v", got[s.ID(1)])
		}
		if got := list(t, r); got[s.ID(1)].ID != 0 {
			t.Error("it is still asked for")
		}
	})
}

// TestFaults: an error each time, never half a truth; and it says little.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*citest.Server)
		want   string
	}{
		"down":            {func(s *citest.Server) { s.Down(500) }, "500"},
		"gateway":         {func(s *citest.Server) { s.Down(502) }, "502"},
		"unauthorized":    {func(s *citest.Server) { s.Down(401) }, "may not"},
		"limited":         {func(s *citest.Server) { s.Limit(1, time.Minute) }, "4"},
		"half a page":     {func(s *citest.Server) { s.Half(true) }, "broke off"},
		"a web page":      {func(s *citest.Server) { s.Say("<html>token=hunter2") }, "right server"},
		"another shape":   {func(s *citest.Server) { s.Say(`{"id":"x","number":[],"default_branch":7}`) }, "right server"},
		"null":            {func(s *citest.Server) { s.Forbid("/none", 404); s.Say("null") }, ""},
		"a large nothing": {func(s *citest.Server) { s.Say(`[` + strings.Repeat(" ", 9<<20) + `]`) }, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			everyKind(t, func(t *testing.T, s *citest.Server) {
				s.Add(citest.Run{Number: 1})
				c.breaks(s)
				l, err := reader(t, s).Pipelines(t.Context())
				if name == "null" && err == nil && len(l.Pipelines) == 0 {
					return // an empty list is one way to read it
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%+v, %v", l, err)
				}
				for _, never := range []string{citest.Token, "hunter2", s.URL, "<html>"} {
					if strings.Contains(err.Error(), never) {
						t.Errorf("the error shows %q: %v", never, err)
					}
				}
			})
		})
	}
}

func TestSlow(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Slow(true)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := reader(t, s).Pipelines(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A list without an end costs two pages.
func TestEndless(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Endless(true)
		if got := list(t, reader(t, s)); len(got) > 100 {
			t.Errorf("%d pipelines", len(got))
		}
		if asked, _ := s.Requests(); asked > 4 {
			t.Errorf("%d requests", asked)
		}
	})
}

// Whoever is limited is left alone.
func TestLimitIsHeeded(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Limit(1000, time.Hour)
		r := reader(t, s)
		for range 5 {
			if _, err := r.Pipelines(t.Context()); err == nil {
				t.Fatal("no error")
			}
		}
		if asked, _ := s.Requests(); asked != 1 {
			t.Errorf("%d requests to a server that asked to be left alone", asked)
		}
	})
}

// What GitHub says has not changed is not sent again, and the beginning of a run
// is asked for once.
func TestLittleIsAsked(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1})
		s.Add(citest.Run{Number: 2, State: "running"})
		r := reader(t, s)
		list(t, r)
		before, _ := s.Requests()
		list(t, r)
		if after, _ := s.Requests(); after-before != 1 {
			t.Errorf("the second listing took %d requests", after-before)
		}
	})
	s := citest.New(t, "github-actions")
	s.Add(citest.Run{Number: 1})
	r := reader(t, s)
	list(t, r)
	_, before := s.Requests()
	list(t, r)
	if _, after := s.Requests(); after != before {
		t.Errorf("%d answers were sent whole though nothing had changed", after-before)
	}
}

// A project that was added anew has another number.
func TestWoodpeckersNumberOfTheProjectMayChange(t *testing.T) {
	s := citest.New(t, "woodpecker")
	s.Add(citest.Run{Number: 1})
	r := reader(t, s)
	list(t, r)
	s.Move()
	if len(list(t, r)) != 1 {
		t.Error("it is not found again")
	}
}

func TestGroups(t *testing.T) {
	base := ci.Pipeline{Workflow: "ci.yml", Event: "push", Branch: "main"}
	change := func(f func(*ci.Pipeline)) ci.Pipeline { p := base; f(&p); return p }
	for name, c := range map[string]struct {
		p    ci.Pipeline
		same bool
	}{
		"newer":         {change(func(p *ci.Pipeline) { p.ID, p.Head = 9, "x" }), true},
		"by hand":       {change(func(p *ci.Pipeline) { p.Event = "manual" }), true},
		"branch":        {change(func(p *ci.Pipeline) { p.Branch = "other" }), false},
		"workflow":      {change(func(p *ci.Pipeline) { p.Workflow = "x" }), false},
		"pull request":  {change(func(p *ci.Pipeline) { p.Event, p.Pull = "pull_request", 3 }), false},
		"a fork's main": {change(func(p *ci.Pipeline) { p.Event = "pull_request_target" }), false},
		"cron":          {change(func(p *ci.Pipeline) { p.Event = "cron" }), false},
	} {
		if (c.p.Group() == base.Group()) != c.same {
			t.Errorf("%s: %q and %q", name, c.p.Group(), base.Group())
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := ci.Options{Kind: citest.Kind("woodpecker"), URL: "https://ci.example.org", Project: "a/b"}
	for name, change := range map[string]func(*ci.Options){
		"kind":          func(o *ci.Options) { o.Kind = ci.Kind{} },
		"no owner":      func(o *ci.Options) { o.Project = "b" },
		"three parts":   func(o *ci.Options) { o.Project = "a/b/c" },
		"a path":        func(o *ci.Options) { o.Project = "../b" },
		"a query":       func(o *ci.Options) { o.Project = "a/b?x" },
		"no scheme":     func(o *ci.Options) { o.URL = "ci.example.org" },
		"a password":    func(o *ci.Options) { o.URL = "https://me:pw@ci.example.org" },
		"a file":        func(o *ci.Options) { o.URL = "file:///etc/passwd" },
		"a query there": func(o *ci.Options) { o.URL = "https://ci.example.org/?a=b" },
	} {
		o := good
		change(&o)
		if _, err := ci.NewReader(o); err == nil || strings.Contains(err.Error(), "pw@") {
			t.Errorf("%s was taken: %v", name, err)
		}
		if _, err := ci.NewWriter(o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := ci.NewReader(good); err != nil {
		t.Error(err)
	}
	for site, want := range map[string]string{"https://github.com": "https://api.github.com", "https://ghe.example.org/": "https://ghe.example.org/api/v3", "https://api.github.com": "https://api.github.com"} {
		if got, err := citest.Kind("github-actions").API(site); got != want || err != nil {
			t.Errorf("%s: %s, %v", site, got, err)
		}
	}
}

// A page that holds more than was asked for is cut.
func TestMoreThanWasAskedFor(t *testing.T) {
	row := `{"id":%d,"number":%[1]d,"status":"failure","run_number":%[1]d}`
	var rows []string
	for n := range 5000 {
		rows = append(rows, fmt.Sprintf(row, n))
	}
	for _, kind := range citest.Kinds() {
		pages := answers{"/pipelines": "[" + strings.Join(rows, ",") + "]", "/actions/runs": `{"workflow_runs":[` + strings.Join(rows, ",") + "]}",
			"": `{"id":1,"default_branch":"main"}`}
		r, err := ci.NewReader(ci.Options{Kind: citest.Kind(kind), URL: "https://ci.example.org", Project: "a/b", HTTP: &http.Client{Transport: pages}})
		if err != nil {
			t.Fatal(err)
		}
		if l, err := r.Pipelines(t.Context()); err != nil || len(l.Pipelines) > 100 || len(l.Pipelines) < 20 {
			t.Errorf("%s: %d pipelines, %v", kind, len(l.Pipelines), err)
		}
	}
}

// FuzzAnswers: whatever a server says, there is an answer or an error.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`[{"id":1,"number":1,"status":"failure"}]`, `{"workflow_runs":[{"id":1,"status":"x","created_at":"never"}],"default_branch":"m"}`,
		`{"id":1,"number":-1,"workflows":[{"children":[null]}]}`, `{"jobs":null}`, `[[]]`, `"`, "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range citest.Kinds() {
			o := ci.Options{Kind: citest.Kind(kind), URL: "https://ci.example.org", Project: "a/b", HTTP: &http.Client{Transport: says(body)}, Elsewhere: &http.Client{Transport: says(body)}}
			r, err := ci.NewReader(o)
			if err != nil {
				t.Fatal(err)
			}
			if l, err := r.Pipelines(t.Context()); err == nil {
				for _, p := range l.Pipelines {
					_ = p.Group()
				}
			}
			_, _ = r.Failed(t.Context(), ci.Pipeline{ID: 1})
			_, _, _ = r.Workers(t.Context())
		}
	})
}

// A repetition counts, by whichever number its server names what it repeats: of the
// whole server before Woodpecker 2.5, of the project since.
func TestRepetitionsAreCountedByCommit(t *testing.T) {
	for name, old := range map[string]bool{"2.4": true, "2.5": false} {
		t.Run(name, func(t *testing.T) {
			s := citest.New(t, "woodpecker")
			if old {
				s.ParentsByID()
			}
			s.Add(citest.Run{Number: 4, State: "failure", Branch: "other", Head: "def"})
			s.Add(citest.Run{Number: 5, State: "failure", Head: "abc"})
			s.Add(citest.Run{Number: 6, State: "failure", Head: "abc", Parent: 5})
			s.Add(citest.Run{Number: 7, State: "failure", Head: "abc", Parent: 5}) // somebody repeats the first one again
			s.Add(citest.Run{Number: 8, State: "failure", Head: "abc", Parent: 7})
			s.Add(citest.Run{Number: 9, State: "failure", Branch: "old", Head: "fed", Parent: 1}) // which is long gone
			got := list(t, reader(t, s))
			for n, want := range map[int64]int{4: 1, 5: 1, 6: 2, 7: 3, 8: 4, 9: 2} {
				if got[n].Attempt != want {
					t.Errorf("pipeline %d is attempt %d, want %d", n, got[n].Attempt, want)
				}
			}
		})
	}
}

// What Woodpecker warns of in the configuration did not fail.
func TestWarningsAreNoFailure(t *testing.T) {
	s := citest.New(t, "woodpecker")
	s.Add(citest.Run{Number: 1, State: "failure", Warnings: []string{"set a clone depth"}, Steps: []citest.Step{{Job: "build", Name: "push", State: "failure", Exit: 137}}})
	s.Add(citest.Run{Number: 2, State: "failure", Warnings: []string{"set a clone depth"}, Misconfigured: "no such step"})
	r := reader(t, s)
	for n, want := range map[int64]string{1: "build/push", 2: "configuration"} {
		steps, err := r.Failed(t.Context(), list(t, r)[n])
		if err != nil || len(steps) == 0 || steps[0].Name != want || strings.Contains(steps[0].Error, "clone depth") {
			t.Errorf("pipeline %d: %+v, %v", n, steps, err)
		}
	}
}
