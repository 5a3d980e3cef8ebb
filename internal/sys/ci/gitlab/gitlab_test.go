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

	"custos/internal/sys/ci"
	"custos/internal/sys/ci/gitlab"
	"custos/internal/sys/citest"
)

// options reach a fake without what keeps answers.
func options(s *citest.Server, project string) ci.Options {
	return ci.Options{Kind: gitlab.Kind(), URL: s.URL, Project: project, HTTP: &http.Client{Transport: with(citest.Token)}}
}

// with adds a token to what is asked.
type with string

func (w with) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(strings.TrimSuffix(gitlab.Kind().Scheme, ":"), string(w))
	return http.DefaultTransport.RoundTrip(r)
}

func reader(t *testing.T, o ci.Options) *ci.Reader {
	t.Helper()
	r, err := ci.NewReader(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each of GitLab's words for how a pipeline stands, and one that there is not.
func TestStates(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	words := map[string]string{"created": ci.Pending, "waiting_for_resource": ci.Pending, "preparing": ci.Pending, "waiting_for_callback": ci.Pending, "pending": ci.Pending, "running": ci.Running,
		"canceling": ci.Running, "success": ci.Success, "failed": ci.Failure, "canceled": ci.Cancelled, "skipped": ci.Cancelled, "manual": ci.Blocked, "scheduled": ci.Blocked, "dreaming": ""}
	n := int64(0)
	for word := range words {
		n++
		s.Add(citest.Run{Number: n, State: "running", Word: word})
	}
	l, err := reader(t, options(s, citest.Project)).Pipelines(t.Context())
	if err != nil || len(l.Pipelines) != len(words) {
		t.Fatalf("%+v, %v", l, err)
	}
	for _, p := range l.Pipelines {
		if want := words[p.Said]; p.State != want {
			t.Errorf("%s is %q, want %q", p.Said, p.State, want)
		}
	}
}

// A pipeline that is begun again is the same one, and begins again: it has not run since
// yesterday.
func TestBegunAgain(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	day := s.Now().Add(-24 * time.Hour)
	s.Add(citest.Run{Number: 1, State: "failure", Created: day, Started: day.Add(time.Minute), Ended: day.Add(time.Hour)})
	w, err := ci.NewWriter(options(s, citest.Project))
	if err != nil {
		t.Fatal(err)
	}
	r := reader(t, options(s, citest.Project))
	if err := w.Again(t.Context(), ci.Pipeline{ID: s.ID(1)}); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Pipeline(t.Context(), s.ID(1)); err != nil || p.State != ci.Pending || s.Now().Sub(p.Created) > time.Minute {
		t.Errorf("%+v, %v", p, err)
	}
	s.Change(1, func(r *citest.Run) { r.State = "running" })
	if p, err := r.Pipeline(t.Context(), s.ID(1)); err != nil || p.State != ci.Running || s.Now().Sub(p.Started) > time.Minute {
		t.Errorf("%+v, %v", p, err)
	}
	if err := w.Again(t.Context(), ci.Pipeline{ID: s.ID(1)}); err != nil { // nothing failed: nothing is begun
		t.Error(err)
	}
	if run, _ := s.Run(1); run.Attempt != 2 {
		t.Errorf("%+v", run)
	}
}

// What failed in a pipeline, in the order in which it ran, with GitLab's reason.
func TestFailed(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	s.Add(citest.Run{Number: 1, State: "failure", Steps: []citest.Step{{Job: "build", State: "failure", Exit: 137, Log: "Job failed: exit code 1 says a test"}, {Job: "lint", State: "failure", Optional: true, Exit: 1},
		{Job: "test", State: "failure", Error: "runner_system_failure", NoLog: true}, {Job: "docs", State: "success"}}})
	s.Add(citest.Run{Number: 2, State: "failure", Child: "deploy", Steps: []citest.Step{{Job: "build", State: "success"}}})
	s.Add(citest.Run{Number: 3, State: "failure", Misconfigured: "jobs config should contain at least one visible job"})
	s.Add(citest.Run{Number: 4, State: "failure", Steps: []citest.Step{{Job: "build", State: "success"}}})
	r := reader(t, options(s, citest.Project))
	for n, want := range map[int64]string{1: "build script_failure 137 ; test runner_system_failure -1 there is no such thing, or the token may not see it",
		2: "deploy  -1 it failed in another pipeline", 3: "configuration jobs config should contain at least one visible job -1 ", 4: ""} {
		steps, err := r.Failed(t.Context(), ci.Pipeline{ID: s.ID(n)})
		var told []string
		for _, x := range steps {
			told = append(told, fmt.Sprintf("%s %s %d %s", x.Name, x.Error, x.Exit, x.Unread))
		}
		if got := strings.Join(told, "; "); err != nil || got != want {
			t.Errorf("%d: %q, %v, want %q", n, got, err, want)
		}
	}
}

// Runners that are called alike are one, and those of everybody on gitlab.com are nobody's here.
func TestRunners(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	s.Staff(citest.Worker{Name: "b", Offline: true}, citest.Worker{Name: "docker", Offline: true, Paused: true}, citest.Worker{Name: "docker"}, citest.Worker{Name: "saas", Shared: true}, citest.Worker{})
	o := options(s, citest.Project)
	told := func(o ci.Options) (out []string) {
		list, _, err := reader(t, o).Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			out = append(out, fmt.Sprintf("%s %v %v", w.Name, w.Online, w.Paused))
		}
		return out
	}
	if got := told(o); !slices.Equal(got, []string{"b false false", "docker true false", "runner-5 true false", "saas true false"}) {
		t.Errorf("%q", got)
	}
	o.URL, o.HTTP = "https://gitlab.com", &http.Client{Transport: to{s, citest.Token}}
	if got := told(o); len(got) != 3 {
		t.Errorf("on gitlab.com: %q", got)
	}
}

// to has every request answered by a fake, whoever it is for.
type to struct {
	server *citest.Server
	token  string
}

func (x to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("PRIVATE-TOKEN", x.token)
	answer := httptest.NewRecorder()
	x.server.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// Groups lie within groups, and a GitLab may lie beneath a path of its host.
func TestWhereAProjectLies(t *testing.T) {
	const project = "acme/web.x/shop_1"
	s := citest.At("", "gitlab-ci", project)
	s.Add(citest.Run{Number: 1})
	below := httptest.NewServer(http.StripPrefix("/git/lab", s))
	t.Cleanup(below.Close)
	o := options(s, project)
	o.URL = below.URL + "/git/lab/"
	if l, err := reader(t, o).Pipelines(t.Context()); err != nil || len(l.Pipelines) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, bad := range []string{"shop", "a//b", "a/../b", "a/b c", "/a/b", "a/b/"} {
		o.Project = bad
		if _, err := ci.NewReader(o); err == nil || !strings.Contains(err.Error(), `like "acme/shop" or "acme/web/shop"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Each way to fail is an error, which says little.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"401": {401, `{"message":"401 Unauthorized"}`, ci.ErrForbidden}, "403": {403, `{"error":"insufficient_scope"}`, ci.ErrForbidden}, "private": {404, `{"message":"404 Project Not Found"}`, ci.ErrGone},
		"sign in": {302, "hunter2", nil}, "a page": {200, "<html>hunter2", nil}, "cut": {200, `[{"id":1,"status":"fai`, nil}, "502": {502, "hunter2", nil}, "429": {429, "Retry later", nil},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		o := ci.Options{Kind: gitlab.Kind(), URL: s.URL, Project: "a/b", HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
		for what, ask := range map[string]func(*ci.Reader) error{
			"pipelines": func(r *ci.Reader) error { _, err := r.Pipelines(t.Context()); return err },
			"one":       func(r *ci.Reader) error { _, err := r.Pipeline(t.Context(), 1); return err },
			"failed":    func(r *ci.Reader) error { _, err := r.Failed(t.Context(), ci.Pipeline{ID: 1}); return err },
			"runners":   func(r *ci.Reader) error { _, _, err := r.Workers(t.Context()); return err },
		} {
			if err := ask(reader(t, o)); err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		s.Close()
	}
}

// What was over when it was to be cancelled was not cancelled: GitLab itself would say that all is well.
func TestCancelWhatIsOver(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	s.Add(citest.Run{Number: 1, State: "success"})
	w, err := ci.NewWriter(options(s, citest.Project))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Cancel(context.Background(), ci.Pipeline{ID: s.ID(1)}); err == nil || len(s.Posts()) > 0 {
		t.Errorf("%v, %v", err, s.Posts())
	}
}
