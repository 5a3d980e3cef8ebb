package dockerprune_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/dockerprune"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
	"custos/internal/sys/enginetest"
)

func action(t *testing.T, socket string) *dockerprune.Action {
	t.Helper()
	w, err := engine.NewWriter(socket)
	if err != nil {
		t.Fatal(err)
	}
	a, err := dockerprune.New(dockerprune.Options{Engine: w, Allowed: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func wish(mount string) fleet.Action {
	return fleet.Action{ID: "1", Do: dockerprune.Do, Subject: fleet.Subject{Kind: fleet.KindMount, Name: mount},
		Target: fleet.Target{Mount: &fleet.Mount{Path: mount}}}
}

func TestConformance(t *testing.T) {
	f := enginetest.New(t)
	acttest.Test(t, acttest.Case{
		Action: action(t, f.Socket),
		Setup: func(*testing.T) fleet.Action {
			f.Set(enginetest.Container{Name: "web", State: "exited", ImageID: "sha256:used"})
			f.SetImages(enginetest.Image{ID: "sha256:used", Size: 9 << 20}, enginetest.Image{ID: "sha256:a", Size: 3 << 20}, enginetest.Image{ID: "sha256:b", Size: 2 << 20, Shared: 1 << 20})
			return wish("/var/lib")
		},
		Fingerprint: func(*testing.T, fleet.Action) string { return f.Fingerprint() },
		Gone:        func(*testing.T, fleet.Action) { f.SetImages(enginetest.Image{ID: "sha256:used", Size: 9 << 20}) },
	})
}

func TestEffect(t *testing.T) {
	f := enginetest.New(t)
	f.SetImages(enginetest.Image{ID: "sha256:a", Size: 3 << 20}, enginetest.Image{ID: "sha256:b", Size: 2 << 20, Shared: 1 << 20})
	effect := acttest.Do(t, action(t, f.Socket), wish("/"))
	if want := "gone: 2 images that nothing named or used; the engine freed 4.0 MiB of at most 4.0 MiB"; effect != want {
		t.Errorf("the effect is %q, want %q", effect, want)
	}
	for _, asked := range f.Asked() {
		if strings.HasPrefix(asked, "POST") && asked != "POST /images/prune" || strings.Contains(asked, "volume") {
			t.Errorf("it asked for %s", asked)
		}
	}
}

// Images that lie on another file system do not go for the sake of this one.
func TestElsewhere(t *testing.T) {
	f := enginetest.New(t)
	f.SetImages(enginetest.Image{ID: "sha256:a", Size: 3 << 20})
	for mount, refused := range map[string]bool{"/": false, "/var": false, "/var/lib/docker": false, "/home": true, "/var/lib/dock": true} {
		run, err := action(t, f.Socket).Prepare(t.Context(), wish(mount))
		if errors.Is(err, act.ErrRefused) != refused || !refused && err != nil {
			t.Errorf("%s: %v, want refused: %t", mount, err, refused)
		}
		if err == nil {
			run.Close()
		}
	}
}

func TestNothingFreed(t *testing.T) {
	f := enginetest.New(t)
	f.SetImages(enginetest.Image{ID: "sha256:a", Size: 3 << 20})
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		_, _ = w.Write([]byte(`{"SpaceReclaimed": 3145728}`))
		return true
	})
	run, err := action(t, f.Socket).Prepare(t.Context(), wish("/"))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if effect, err := run.Verify(t.Context()); err == nil {
		t.Errorf("what the engine said was believed: %q", effect)
	}
}

func TestMayNot(t *testing.T) {
	f := enginetest.New(t)
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]dockerprune.Options{"no container engine": {}, "prune = true": {Engine: w}} {
		x, err := dockerprune.New(o)
		if err != nil || !strings.Contains(x.Ability().Cannot, want) {
			t.Errorf("it can, or says %q, %v; want %q", x.Ability().Cannot, err, want)
		}
	}
}

// On a real engine an image without a name goes; one that has a name, or that a
// container was made of, stays.
func TestReal(t *testing.T) {
	e := enginetest.Real(t)
	e.Run(t, enginetest.Run{Name: "web", Command: []string{"/inside", "exit", "0"}})
	e.Dangle(t, 4<<20)
	w, err := engine.NewWriter(e.Socket)
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.Dangling(t.Context(), nil)
	if err != nil || before.Count != 1 || before.Bytes < 4<<20 {
		t.Fatalf("before: %+v, %v", before, err)
	}
	effect := acttest.Do(t, action(t, e.Socket), wish("/"))
	if !strings.HasPrefix(effect, "gone: 1 image that nothing named or used; the engine freed 4.0 MiB") {
		t.Errorf("the effect is %q", effect)
	}
	if _, err := action(t, e.Socket).Prepare(t.Context(), wish("/")); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a second time gave %v", err)
	}
	if rows, err := w.List(t.Context()); err != nil || len(rows) != 1 || rows[0].Image != "custos/inside:1" {
		t.Errorf("the container is %+v, %v", rows, err)
	}
}
