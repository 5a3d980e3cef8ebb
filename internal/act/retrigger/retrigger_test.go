package retrigger

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	return map[string]System{"x": {Looker: r, Writer: w}}
}

// wish asks for pipeline 5 to be run again, which failed 20 minutes ago.
func wish(s *citest.Server) fleet.Action {
	ended := s.Now().Add(-20 * time.Minute)
	s.Add(citest.Run{Number: 5, State: "failure", Head: "abc", Created: ended.Add(-time.Hour), Started: ended.Add(-time.Hour), Ended: ended})
	p := fleet.Pipeline{Name: "x/widget#5", System: "x", Project: "widget", ID: s.ID(5), Number: 5, Owner: fleet.OwnerConfigured, Branch: "main", Head: "abc",
		State: fleet.Known(ci.Failure), Ended: fleet.Known(fleet.Duration(20 * time.Minute)), Attempt: 1, Infra: fleet.Known(true), Newest: true}
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
			s := citest.New(t, kind)
			reset := func(t *testing.T) fleet.Action {
				for n := range int64(20) {
					s.Remove(n)
				}
				return wish(s)
			}
			change := func(f func(*citest.Run)) func(*testing.T, fleet.Action) {
				return func(*testing.T, fleet.Action) { s.Change(5, f) }
			}
			acttest.Test(t, acttest.Case{
				Action: New(Options{Systems: systems(t, s), Pause: time.Millisecond}), Setup: reset,
				Fingerprint: func(*testing.T, fleet.Action) string { return s.Text() },
				Gone:        change(func(r *citest.Run) { r.State, r.Ended = "running", time.Time{} }),
				Changed: map[string]func(*testing.T, fleet.Action){
					"another commit":    change(func(r *citest.Run) { r.Head = "def" }),
					"another branch":    change(func(r *citest.Run) { r.Branch = "other" }),
					"a person stopped":  change(func(r *citest.Run) { r.State = "cancelled" }),
					"failed once more":  change(func(r *citest.Run) { r.Ended = time.Now().Add(-time.Minute) }),
					"it is gone":        func(*testing.T, fleet.Action) { s.Remove(5) },
					"foreign":           func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Owner = fleet.OwnerForeign },
					"the code's":        func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Infra = fleet.Known(false) },
					"not known":         func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Infra.Blind("x") },
					"tried three times": func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.Attempt = 3 },
					"not configured":    func(_ *testing.T, a fleet.Action) { a.Target.Pipeline.System = "y" },
				},
			})
		})
	}
}

// A newer pipeline of the same branch makes it needless, one of another does not.
func TestNewer(t *testing.T) {
	for _, kind := range citest.Kinds() {
		s := citest.New(t, kind)
		a, x := wish(s), New(Options{Systems: systems(t, s), Pause: time.Millisecond})
		s.Add(citest.Run{Number: 6, Branch: "other"})
		s.Add(citest.Run{Number: 7, Event: "pull_request", Pull: 3, Branch: "main"})
		if _, err := x.Prepare(t.Context(), a); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		s.Add(citest.Run{Number: 8, State: "pending"})
		if _, err := x.Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The cap counts over all pipelines that repeat one, though each has a number of
// its own.
func TestTheCapIsOnTheChain(t *testing.T) {
	s := citest.New(t, "woodpecker")
	a, x := wish(s), New(Options{Systems: systems(t, s), Pause: time.Millisecond})
	for attempt := 1; ; attempt++ {
		run, err := x.Prepare(t.Context(), a)
		if attempt == 3 {
			if !errors.Is(err, act.ErrRefused) {
				t.Errorf("attempt %d: %v", attempt, err)
			}
			break
		}
		if err != nil {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
		if err := run.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := int64(5 + attempt)
		s.Change(n, func(r *citest.Run) { r.State, r.Started, r.Ended = "failure", r.Created, r.Created })
		p := *a.Target.Pipeline
		p.ID, p.Number, p.Attempt, p.Ended = n, n, attempt+1, fleet.Known(fleet.Duration(0))
		a.Target.Pipeline = &p
	}
	if n := len(s.Posts()); n != 2 {
		t.Errorf("%d posts", n)
	}
}

// What a server takes and does not do is no success.
func TestDeaf(t *testing.T) {
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
	}
}

// A server that fails is no reason to call it needless or refused.
func TestDown(t *testing.T) {
	s := citest.New(t, "woodpecker")
	a, x := wish(s), New(Options{Systems: systems(t, s)})
	s.Down(500)
	if _, err := x.Prepare(t.Context(), a); err == nil || errors.Is(err, act.ErrUnneeded) || errors.Is(err, act.ErrRefused) {
		t.Error(err)
	}
}
