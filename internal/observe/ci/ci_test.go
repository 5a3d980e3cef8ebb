package ci_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	probe "custos/internal/observe/ci"
	"custos/internal/observe/observetest"
	"custos/internal/sys/ci"
	"custos/internal/sys/citest"
	"custos/internal/sys/httpcache"
)

// system is a section [ci.NAME] for a fake.
func system(t testing.TB, name string, s *citest.Server) probe.System {
	t.Helper()
	api, err := citest.Kind(s.Kind()).API(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, err := httpcache.NewHost(httpcache.HostOptions{URL: api, PerHour: 100000})
	if err != nil {
		t.Fatal(err)
	}
	to := httpcache.NewTransport(host, citest.Kind(s.Kind()).Scheme, func(context.Context) (string, error) { return citest.Token, nil })
	r, err := ci.NewReader(ci.Options{Kind: citest.Kind(s.Kind()), URL: s.URL, Project: citest.Project, Clock: host.Clock, HTTP: to.Client(), Elsewhere: http.DefaultClient})
	if err != nil {
		t.Fatal(err)
	}
	return probe.System{Name: name, Project: "widget", Owner: fleet.OwnerConfigured, Reader: r, TellsWorkers: s.Kind() == "woodpecker"}
}

func newProbe(t testing.TB, systems ...probe.System) *probe.Probe {
	t.Helper()
	p, err := probe.New(probe.Options{Systems: systems})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func look(t testing.TB, p *probe.Probe) fleet.CI {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return facts(put)
}

func facts(put observe.Put) fleet.CI {
	var s fleet.Snapshot
	put(&s)
	return s.CI.Value
}

func everyKind(t *testing.T, f func(t *testing.T, s *citest.Server)) {
	t.Helper()
	for _, kind := range citest.Kinds() {
		t.Run(kind, func(t *testing.T) { f(t, citest.New(t, kind)) })
	}
}

// find returns the pipeline with that number of the fake.
func find(t testing.TB, s *citest.Server, seen fleet.CI, n int64) fleet.Pipeline {
	t.Helper()
	for _, p := range seen.Pipelines {
		if p.ID == s.ID(n) {
			return p
		}
	}
	t.Fatalf("pipeline %d is not seen", n)
	return fleet.Pipeline{}
}

// near says whether an age is what it should be.
func near(l fleet.Leaf[fleet.Duration], want time.Duration) bool {
	d, ok := l.Get()
	return ok && (time.Duration(d)-want).Abs() < 2*time.Minute
}

func TestSuite(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1, Title: "Tidy \x1b[31mup token=hunter2hunter2"})
		s.Add(citest.Run{Number: 2, State: "failure", Branch: "fix", Steps: []citest.Step{{Job: "build", Name: "push", State: "failure", Exit: 137}}})
		s.Add(citest.Run{Number: 3, State: "running"})
		s.Staff(citest.Worker{Name: "a"}, citest.Worker{Name: "b", Silent: time.Hour, Offline: true})
		observetest.Test(t, func() observe.Probe { return newProbe(t, system(t, "x", s)) })
	})
}

// TestADay: every state, on a server whose clock is ten minutes ahead.
func TestADay(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Skew(10 * time.Minute)
		now := s.Now()
		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		s.Add(citest.Run{Number: 1, State: "success", Ended: ago(3 * time.Hour)})
		s.Add(citest.Run{Number: 2, State: "failure", Ended: ago(2 * time.Hour), Steps: []citest.Step{{Job: "test", Name: "unit", State: "failure", Exit: 1, Log: "--- FAIL: TestX"}}})
		s.Add(citest.Run{Number: 3, State: "running", Started: ago(25 * time.Minute)})
		s.Add(citest.Run{Number: 4, State: "pending", Created: ago(40 * time.Minute), Branch: "wait"})
		s.Add(citest.Run{Number: 5, State: "failure", Ended: ago(5 * time.Minute), Event: "pull_request", Pull: 7, Branch: "main",
			Steps: []citest.Step{{Job: "build", Name: "image", State: "failure", Exit: 1, Log: "write /x: no space left on device token=hunter2hunter2"}}})
		s.Add(citest.Run{Number: 6, State: "success", Word: "perplexed", Branch: "odd"})
		seen := look(t, newProbe(t, system(t, "x", s)))
		if len(seen.Pipelines) != 5 {
			t.Errorf("%d pipelines: %+v", len(seen.Pipelines), seen.Pipelines)
		}
		if p := find(t, s, seen, 2); !near(p.Ended, 2*time.Hour) || p.Newest || !p.Primary || p.Infra.Or(true) || p.Cause != "" {
			t.Errorf("2: %+v", p)
		}
		if p := find(t, s, seen, 3); !near(p.Running, 25*time.Minute) || !p.Newest || !p.Primary || p.State.Or("") != ci.Running || p.Ended.Or(1) != 0 {
			t.Errorf("3: %+v", p)
		}
		if p := find(t, s, seen, 4); !near(p.Pending, 40*time.Minute) || p.Primary || p.Running.Or(1) != 0 {
			t.Errorf("4: %+v", p)
		}
		if p := find(t, s, seen, 5); !p.Infra.Or(false) || !strings.Contains(p.Cause, "no space left") || strings.Contains(p.Cause, "hunter2") || p.Primary || p.Pull != 7 {
			t.Errorf("5: %+v", p)
		}
		if p := find(t, s, seen, 6); p.State.IsKnown() || p.Infra.IsKnown() || !strings.Contains(p.State.Why(), "perplexed") {
			t.Errorf("6: %+v", p)
		}
		for _, p := range seen.Pipelines {
			if p.Name != fleet.PipelineName("x", "widget", p.Number) || p.System != "x" || p.Attempt != 1 || p.Owner != fleet.OwnerConfigured {
				t.Errorf("%+v", p)
			}
		}
	})
}

// The logs of a failure are read once, those of a success never.
func TestLogsAreReadOnce(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Add(citest.Run{Number: 1})
		for n := range int64(8) {
			s.Add(citest.Run{Number: n + 2, State: "failure", Branch: fmt.Sprint("b", n), Ended: s.Now().Add(-time.Minute),
				Steps: []citest.Step{{Job: "a", Name: "b", State: "failure", Exit: 137}}})
		}
		s.Add(citest.Run{Number: 20, State: "failure", Branch: "old", Ended: s.Now().Add(-48 * time.Hour)})
		p := newProbe(t, system(t, "x", s))
		unread := func(seen fleet.CI) (n int) {
			for _, p := range seen.Pipelines {
				if !p.Infra.IsKnown() {
					n++
				}
			}
			return n
		}
		if n := unread(look(t, p)); n != 3 {
			t.Errorf("after the first look %d failures are not judged, want 3", n)
		}
		if n := unread(look(t, p)); n != 0 {
			t.Errorf("after the second look %d failures are not judged", n)
		}
		before, _ := s.Requests()
		look(t, p)
		if after, _ := s.Requests(); after-before > 2 {
			t.Errorf("%d requests though nothing changed", after-before)
		}
	})
}

// A log that cannot be read leaves it open; with another attempt it is asked again.
func TestUnreadLogs(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		step := citest.Step{Job: "a", Name: "b", State: "failure", Exit: 1, NoLog: true}
		s.Add(citest.Run{Number: 1, State: "failure", Steps: []citest.Step{step}})
		p := newProbe(t, system(t, "x", s))
		for range 4 {
			if f := find(t, s, look(t, p), 1); f.Infra.IsKnown() || f.Cause != "" {
				t.Errorf("%+v", f)
			}
		}
		before, _ := s.Requests()
		look(t, p)
		if after, _ := s.Requests(); after-before > 2 {
			t.Errorf("it is asked for for ever: %d requests", after-before)
		}
		s.Change(1, func(r *citest.Run) {
			r.Ended = r.Ended.Add(time.Minute)
			r.Steps[0].NoLog, r.Steps[0].Log = false, "all is well"
		})
		if f := find(t, s, look(t, p), 1); !f.Infra.IsKnown() || f.Infra.Or(true) {
			t.Errorf("%+v", f)
		}
	})
}

// What fails leaves the last pipelines, unknown, and the others alone.
func TestFaults(t *testing.T) {
	for name, breaks := range map[string]func(*citest.Server){
		"down":         func(s *citest.Server) { s.Down(500) },
		"unauthorized": func(s *citest.Server) { s.Down(401) },
		"limited":      func(s *citest.Server) { s.Limit(1000, time.Minute) },
		"half": func(s *citest.Server) {
			s.Half(true)
			s.Add(citest.Run{Number: 9, Branch: "new"}) // what has not changed is not sent, and cannot be halved
			s.Staff(citest.Worker{Name: "a"}, citest.Worker{Name: "new"})
		},
		"nonsense": func(s *citest.Server) { s.Say("<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			everyKind(t, func(t *testing.T, s *citest.Server) {
				other := citest.New(t, "woodpecker")
				other.Add(citest.Run{Number: 1})
				other.Staff(citest.Worker{Name: "w"})
				s.Add(citest.Run{Number: 1, State: "running"})
				s.Staff(citest.Worker{Name: "a"})
				p := newProbe(t, system(t, "x", s), system(t, "y", other))
				look(t, p)
				breaks(s)
				seen := look(t, p)
				f := find(t, s, seen, 1)
				if f.State.IsKnown() || f.Running.IsKnown() || f.Infra.IsKnown() || f.State.Why() == "" || strings.Contains(f.State.Why(), citest.Token) {
					t.Errorf("%+v", f)
				}
				for _, w := range seen.Workers {
					if w.Healthy.IsKnown() != (w.Name == "y/w") {
						t.Errorf("%+v", w)
					}
				}
				if f := find(t, other, seen, 1); f.System == "y" && f.State.Or("") != ci.Success {
					t.Errorf("the other is %+v", f)
				}
			})
		})
	}
}

// A server that never answered does not look as if it had nothing to do.
func TestNeverSeen(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		other := citest.New(t, "woodpecker")
		other.Add(citest.Run{Number: 1})
		s.Forbid("/repos", 404)
		s.Forbid("/projects", 404)
		seen := look(t, newProbe(t, system(t, "x", s), system(t, "y", other)))
		text, err := json.Marshal(seen)
		if err != nil || !strings.Contains(string(text), `"x/server"`) {
			t.Errorf("%s, %v", text, err)
		}
		put, err := newProbe(t, system(t, "x", s)).Look(t.Context())
		if err == nil || put == nil || len(facts(put).Workers) != 1 {
			t.Errorf("the only one fails: %v", err)
		}
	})
}

// A slow server holds nobody up past the deadline.
func TestSlow(t *testing.T) {
	s := citest.New(t, "woodpecker")
	s.Slow(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	put, err := newProbe(t, system(t, "x", s)).Look(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || put == nil {
		t.Error(err)
	}
}

func TestWorkers(t *testing.T) {
	everyKind(t, func(t *testing.T, s *citest.Server) {
		s.Staff(citest.Worker{Name: "good"}, citest.Worker{Name: "bad", Silent: 10 * time.Minute, Offline: true},
			citest.Worker{Name: "left", Silent: 48 * time.Hour, Offline: true, Paused: true}, citest.Worker{Name: "named", Silent: 48 * time.Hour, Offline: true})
		sys := system(t, "x", s)
		sys.Workers = map[string]string{"named": "ci-agent", "missing": ""}
		p := newProbe(t, sys)
		got := map[string]fleet.Worker{}
		for _, w := range look(t, p).Workers {
			got[w.Name] = w
		}
		if len(got) != 4 || !got["x/good"].Healthy.Or(false) || got["x/good"].Why != "" {
			t.Errorf("%+v", got)
		}
		for _, n := range []string{"bad", "named", "missing"} {
			if w := got["x/"+n]; w.Healthy.Or(true) || w.Why == "" {
				t.Errorf("%s: %+v", n, w)
			}
		}
		if got["x/named"].Container != "ci-agent" {
			t.Errorf("%+v", got["x/named"])
		}
		if s.Kind() == "woodpecker" && !near(got["x/bad"].Contact, 10*time.Minute) {
			t.Errorf("%+v", got["x/bad"])
		}
	})
}

// A token that may not list workers, and a server that has no call for it, are normal
// where a system need not tell.
func TestWorkersThatAreNotTold(t *testing.T) {
	for _, status := range []int{403, 405} {
		everyKind(t, func(t *testing.T, s *citest.Server) {
			s.Forbid("/agents", status)
			s.Forbid("/runners", status)
			seen := look(t, newProbe(t, system(t, "x", s)))
			if want := map[bool]int{true: 1}[s.Kind() == "woodpecker"]; len(seen.Workers) != want {
				t.Errorf("%d: %+v", status, seen.Workers)
			}
			sys := system(t, "x", s)
			sys.Workers = map[string]string{"named": "c"}
			for _, w := range look(t, newProbe(t, sys)).Workers {
				if w.Name != "x/named" || w.Healthy.IsKnown() || w.Container != "c" {
					t.Errorf("%d: %+v", status, w)
				}
			}
		})
	}
}

func TestNoneIsAbsent(t *testing.T) {
	if _, err := newProbe(t).Look(t.Context()); !errors.Is(err, observe.ErrAbsent) {
		t.Error(err)
	}
}

// It is told of what it looks at, as long as more may be asked of every server.
func TestHear(t *testing.T) {
	s := citest.New(t, "gitlab-ci")
	spare := true
	a, b := system(t, "x", s), system(t, "y", s)
	a.Repo, b.Repo = "acme/shop", "acme/blog"
	b.Spare = func() bool { return spare }
	p := newProbe(t, a, b)
	if !p.Hear("Acme/Shop") || !p.Hear("acme/blog") || p.Hear("acme/other") || p.Hear("") {
		t.Error("it hears of what it does not look at, or not of what it does")
	}
	if spare = false; p.Hear("acme/shop") {
		t.Error("more is asked than must be, though little is left")
	}
}
