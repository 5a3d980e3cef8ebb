package restartcontainer_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/restartcontainer"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
	"custos/internal/sys/enginetest"
)

const id = "4d23b0c1"

// sick is a container of ours that ended with status 3.
func sick(f *enginetest.Fake) enginetest.Container {
	return enginetest.Container{ID: id, Name: "web", State: "exited", Exit: 3, Policy: "no",
		Started: f.Clock().Add(-time.Hour), Finished: f.Clock().Add(-time.Minute)}
}

func action(t *testing.T, f *enginetest.Fake) *restartcontainer.Action {
	t.Helper()
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	a, err := restartcontainer.New(restartcontainer.Options{Engine: w, Settle: 20 * time.Millisecond, Look: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wish asks for the restart of the container as it is now.
func wish(c enginetest.Container) fleet.Action {
	seen := fleet.Container{ID: c.ID, Name: c.Name, Owner: fleet.OwnerConfigured, Run: c.Started.UTC().Format(time.RFC3339Nano),
		State: fleet.Known(c.State), Health: fleet.Known(c.Health)}
	return fleet.Action{ID: "1", Do: restartcontainer.Do, Subject: fleet.Subject{Kind: fleet.KindContainer, Name: c.Name}, Target: fleet.Target{Container: &seen}}
}

func TestConformance(t *testing.T) {
	f := enginetest.New(t)
	change := func(how func(*enginetest.Container)) func(*testing.T, fleet.Action) {
		return func(*testing.T, fleet.Action) { f.Change("web", how) }
	}
	acttest.Test(t, acttest.Case{
		Action:      action(t, f),
		Setup:       func(*testing.T) fleet.Action { f.Set(sick(f)); return wish(f.Get("web")) },
		Fingerprint: func(*testing.T, fleet.Action) string { return f.Fingerprint() },
		Gone:        change(func(c *enginetest.Container) { c.State, c.Started, c.Exit = "running", f.Clock(), 0 }),
		Changed: map[string]func(*testing.T, fleet.Action){
			"started anew, and down again": change(func(c *enginetest.Container) { c.Started = f.Clock() }),
			"made anew":                    change(func(c *enginetest.Container) { c.ID = "another" }),
			"removed":                      func(*testing.T, fleet.Action) { f.Remove("web") },
			"dead by now":                  change(func(c *enginetest.Container) { c.State = "dead" }),
			"paused":                       change(func(c *enginetest.Container) { c.State = "paused" }),
			"the engine starts it":         change(func(c *enginetest.Container) { c.State = "restarting" }),
		},
	})
}

// A sick container that somebody stopped meanwhile is not started again.
func TestStoppedMeanwhile(t *testing.T) {
	f := enginetest.New(t)
	c := sick(f)
	c.State, c.Health, c.Exit = "running", "unhealthy", 0
	f.Set(c)
	a := wish(c)
	f.Change("web", func(c *enginetest.Container) { c.State, c.Exit = "exited", 137 })
	if _, err := action(t, f).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("a container that was stopped meanwhile gave %v", err)
	}
}

// Another rule may ask for the restart of a container that runs: what is wrong is
// in it. Somebody's restart meanwhile makes that unneeded; somebody's stop is no
// reason to start it.
func TestAskedByAnotherRule(t *testing.T) {
	f := enginetest.New(t)
	c := sick(f)
	c.State, c.Health, c.Exit = "running", "healthy", 0
	f.Set(c)
	f.OnRestart(func(c *enginetest.Container) { c.Started = f.Clock() })
	a := wish(c)
	if effect := acttest.Do(t, action(t, f), a); !strings.Contains(effect, "running and healthy; it was healthy") {
		t.Errorf("the effect is %q", effect)
	}
	if _, err := action(t, f).Prepare(t.Context(), a); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a second time gave %v", err)
	}
	a = wish(f.Get("web"))
	f.Change("web", func(c *enginetest.Container) { c.State = "exited" })
	if _, err := action(t, f).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("a container that was stopped meanwhile gave %v", err)
	}
}

func TestNotOurs(t *testing.T) {
	f := enginetest.New(t)
	f.Set(sick(f))
	a := wish(f.Get("web"))
	a.Target.Container.Owner = fleet.OwnerForeign
	if _, err := action(t, f).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("somebody else's container gave %v", err)
	}
	a = wish(f.Get("web"))
	a.Target.Container.ID = ""
	if _, err := action(t, f).Prepare(t.Context(), a); !errors.Is(err, act.ErrRefused) {
		t.Errorf("a container that there is none of gave %v", err)
	}
	own, err := restartcontainer.New(restartcontainer.Options{Engine: mustWriter(t, f), Inside: func(string) (bool, error) { return true, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Prepare(t.Context(), wish(f.Get("web"))); !errors.Is(err, act.ErrRefused) || !strings.Contains(err.Error(), "Custos runs in it") {
		t.Errorf("our own container gave %v", err)
	}
}

func mustWriter(t *testing.T, f *enginetest.Fake) *engine.Writer {
	t.Helper()
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What a restart came to is measured, not believed.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name    string
		restart func(f *enginetest.Fake, c *enginetest.Container)
		want    string // in the effect, or in the error
		ok      bool
	}{
		{"up", func(f *enginetest.Fake, c *enginetest.Container) {
			c.State, c.Started, c.Exit = "running", f.Clock(), 0
		}, "web is running; it was exited (status 3)", true},
		{"healthy", func(f *enginetest.Fake, c *enginetest.Container) {
			c.State, c.Started, c.Health, c.Exit = "running", f.Clock(), "healthy", 0
		}, "running and healthy", true},
		{"down again", func(f *enginetest.Fake, c *enginetest.Container) { c.Started, c.Exit = f.Clock(), 4 }, "is exited again (status 4)", false},
		{"out of memory again", func(f *enginetest.Fake, c *enginetest.Container) { c.Started, c.OOM = f.Clock(), true }, "out of memory", false},
		{"unhealthy again", func(f *enginetest.Fake, c *enginetest.Container) {
			c.State, c.Started, c.Health = "running", f.Clock(), "unhealthy"
		}, "unhealthy again", false},
		{"nothing was done", func(_ *enginetest.Fake, c *enginetest.Container) { c.State = "running" }, "the same run", false},
		{"never well", func(f *enginetest.Fake, c *enginetest.Container) {
			c.State, c.Started, c.Health = "running", f.Clock(), "starting"
		}, "its health starting", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := enginetest.New(t)
			f.Set(sick(f))
			f.OnRestart(func(x *enginetest.Container) { c.restart(f, x) })
			run, err := action(t, f).Prepare(t.Context(), wish(f.Get("web")))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if err := run.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			effect, err := run.Verify(ctx)
			if err != nil {
				effect = err.Error()
			}
			if (err == nil) != c.ok || !strings.Contains(effect, c.want) {
				t.Errorf("verified %q, %v; want %q", effect, err, c.want)
			}
		})
	}
}

func TestEngineFails(t *testing.T) {
	f := enginetest.New(t)
	f.Set(sick(f))
	a := wish(f.Get("web"))
	x := action(t, f)
	run, err := x.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			http.Error(w, "no room", http.StatusInternalServerError)
		}
		return r.Method == http.MethodPost
	})
	if err := run.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("an engine that refuses gave %v", err)
	}
	f.Stop()
	if _, err := x.Prepare(t.Context(), a); err == nil || errors.Is(err, act.ErrRefused) || errors.Is(err, act.ErrUnneeded) {
		t.Errorf("an engine that is away gave %v", err)
	}
}

func TestWithoutEngine(t *testing.T) {
	x, err := restartcontainer.New(restartcontainer.Options{})
	if err != nil || x.Ability().Cannot == "" {
		t.Errorf("without an engine it can: %+v, %v", x.Ability(), err)
	}
	if _, err := x.Prepare(t.Context(), wish(enginetest.Container{ID: id, Name: "web"})); err == nil {
		t.Error("without an engine it prepared something")
	}
}
