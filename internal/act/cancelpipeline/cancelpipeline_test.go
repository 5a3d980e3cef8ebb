package cancelpipeline

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
	"custos/internal/sys/httpcache"
)

// systems reaches a fake as [ci.x].
func systems(t *testing.T, s *citest.Server) map[string]System {
	t.Helper()
	api, err := citest.Kind(s.Kind()).API(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: api})
	if err != nil {
		t.Fatal(err)
	}
	to := httpcache.NewTransport(host, citest.Kind(s.Kind()).Scheme, func(context.Context) (string, error) { return citest.Token, nil })
	o := ci.Options{Kind: citest.Kind(s.Kind()), URL: s.URL, Project: citest.Project, Clock: host.Clock, HTTP: to.Client(), Elsewhere: http.DefaultClient}
	r, err := ci.NewReader(o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ci.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]System{"x": {Looker: r, Writer: w, Clock: host.Clock}}
}

// wish asks for the end of pipeline 5, which has run for half an hour.
func wish(s *citest.Server) fleet.Action {
	began := s.Now().Add(-30 * time.Minute)
	s.Add(citest.Run{Number: 5, State: "running", Head: "abc", Created: began.Add(-time.Minute), Started: began})
	p := fleet.Pipeline{Name: "x/widget#5", System: "x", Project: "widget", ID: s.ID(5), Number: 5, Owner: fleet.OwnerConfigured, Branch: "main", Head: "abc",
		State: fleet.Known(ci.Running), Running: fleet.Known(fleet.Duration(30 * time.Minute)), Pending: fleet.Known[fleet.Duration](0), Attempt: 1}
	switch s.Kind() {
	case "woodpecker": // whose pipelines are all workflows
	case "gitlab-ci": // nor are GitLab's
		p.Number = p.ID
	case "github-actions":
		p.Number, p.Workflow = p.ID, ".github/workflows/ci.yml"
	default:
		p.Workflow = "ci.yml"
	}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindPipeline, Name: p.Name}, Target: fleet.Target{Pipeline: &p}}
}

func TestConformance(t *testing.T) {
	for _, kind := range citest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			var s *citest.Server
			x := New(Options{Systems: map[string]System{}, Pause: time.Millisecond, Patience: 20 * time.Second})
			change := func(f func(*citest.Run)) func(*testing.T, fleet.Action) {
				return func(*testing.T, fleet.Action) { s.Change(5, f) }
			}
			acttest.Test(t, acttest.Case{
				Action: x,
				Setup: func(t *testing.T) fleet.Action { // a server of its own: GitHub's client remembers beginnings
					s = citest.New(t, kind)
					x.o.Systems = systems(t, s)
					return wish(s)
				},
				Fingerprint: func(*testing.T, fleet.Action) string { return s.Text() },
				Gone:        change(func(r *citest.Run) { r.State, r.Ended = "success", time.Now() }),
				Changed: map[string]func(*testing.T, fleet.Action){
					"another commit": change(func(r *citest.Run) { r.Head = "def" }),
					"another branch": change(func(r *citest.Run) { r.Branch = "other" }),
					"begun again":    change(func(r *citest.Run) { r.Attempt, r.Started = 2, time.Now() }),
					"it waits now":   change(func(r *citest.Run) { r.State, r.Started = "pending", time.Time{} }),
					"it runs now": func(_ *testing.T, a fleet.Action) {
						a.Target.Pipeline.State, a.Target.Pipeline.Pending = fleet.Known(ci.Pending), fleet.Known(fleet.Duration(20*time.Minute))
					},
					"foreign":         func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Owner = fleet.OwnerForeign },
					"state not known": func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.State.Blind("x") },
					"age not known":   func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Running.Blind("x") },
					"not configured":  func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.System = "y" },
				},
			})
		})
	}
}

func TestDeafAndDown(t *testing.T) {
	for _, kind := range citest.Kinds() {
		s := citest.New(t, kind)
		a, x := wish(s), New(Options{Systems: systems(t, s), Pause: time.Millisecond})
		run, err := x.Prepare(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		s.Deaf(true)
		if err := run.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if effect, err := run.Verify(ctx); err == nil {
			t.Errorf("%s: %s", kind, effect)
		}
		cancel()
		s.Down(502)
		if _, err := x.Prepare(t.Context(), a); err == nil || errors.Is(err, act.ErrUnneeded) || errors.Is(err, act.ErrRefused) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
