package dockerprune_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/dockerprune"
	"custos/internal/fleet"
	"custos/internal/sys/engine"
	"custos/internal/sys/enginetest"
)

func cacheAction(t *testing.T, f *enginetest.Fake) *dockerprune.Action {
	t.Helper()
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	a, err := dockerprune.NewCache(dockerprune.Options{Engine: w, Allowed: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func cacheWish(mount string) fleet.Action {
	return fleet.Action{ID: "1", Do: dockerprune.DoCache, Subject: fleet.Subject{Kind: fleet.KindMount, Name: mount},
		Target: fleet.Target{Mount: &fleet.Mount{Path: mount}}}
}

// stays are records that nobody removes for want of space: a build uses them now, an
// image shares them, BuildKit needs them, or a build used them an hour ago.
func stays(f *enginetest.Fake) []enginetest.Record {
	old := f.Clock().Add(-72 * time.Hour)
	return []enginetest.Record{{ID: "now", Type: "regular", Size: 1 << 30, InUse: true, Used: old}, {ID: "image", Type: "regular", Size: 1 << 30, Shared: true, Used: old},
		{ID: "own", Type: "internal", Size: 1 << 30, Used: old}, {ID: "front", Type: "frontend", Size: 1 << 30, Used: old},
		{ID: "fresh", Type: "exec.cachemount", Size: 1 << 30, Used: f.Clock().Add(-time.Hour)}}
}

func goes(f *enginetest.Fake) []enginetest.Record {
	return []enginetest.Record{{ID: "layer", Type: "regular", Size: 3 << 20, Used: f.Clock().Add(-48 * time.Hour)}, {ID: "never", Type: "source.local", Size: 1 << 20}}
}

func TestCacheConformance(t *testing.T) {
	f := enginetest.New(t)
	acttest.Test(t, acttest.Case{Action: cacheAction(t, f),
		Setup: func(*testing.T) fleet.Action {
			f.SetCache(append(stays(f), goes(f)...)...)
			return cacheWish("/var/lib")
		},
		Fingerprint: func(*testing.T, fleet.Action) string { return f.Fingerprint() },
		Gone:        func(*testing.T, fleet.Action) { f.SetCache(stays(f)...) },
	})
}

// One of a thing is one, not "1 records".
func TestOneIsTold(t *testing.T) {
	f := enginetest.New(t)
	f.SetCache(append(stays(f), goes(f)[:1]...)...)
	if got := acttest.Do(t, cacheAction(t, f), cacheWish("/")); !strings.HasPrefix(got, "1 record of build cache that no build used for a day is gone;") {
		t.Errorf("it says %q", got)
	}
}

// The old API and the new one tell of the records in different places.
func TestCacheEffect(t *testing.T) {
	for _, version := range []string{enginetest.Version, "1.52"} {
		t.Run(version, func(t *testing.T) {
			f := enginetest.New(t)
			f.Speak(version)
			f.SetCache(append(stays(f), goes(f)...)...)
			f.SetImages(enginetest.Image{ID: "sha256:a", Size: 3 << 20})
			effect := acttest.Do(t, cacheAction(t, f), cacheWish("/"))
			if want := "2 records of build cache that no build used for a day are gone; the engine freed 4.0 MiB of at most 4.0 MiB"; effect != want {
				t.Errorf("the effect is %q, want %q", effect, want)
			}
			for _, asked := range f.Asked() {
				if strings.HasPrefix(asked, "POST") && asked != "POST /build/prune" || strings.Contains(asked, "volume") {
					t.Errorf("it asked for %s", asked)
				}
			}
			for _, c := range stays(f) {
				if !strings.Contains(f.Fingerprint(), "{ID:"+c.ID+" ") {
					t.Errorf("%s is gone: %s", c.ID, f.Fingerprint())
				}
			}
		})
	}
}

// TestWhatIsStoodOn: a layer that no build has used for days stays while one stands on
// it that was used today, and so does what that layer stands on. None of it is promised.
func TestWhatIsStoodOn(t *testing.T) {
	for _, version := range []string{enginetest.Version, "1.52"} {
		f := enginetest.New(t)
		f.Speak(version)
		old := f.Clock().Add(-72 * time.Hour)
		f.SetCache(enginetest.Record{ID: "base", Size: 1 << 30, Used: old}, enginetest.Record{ID: "deps", Size: 1 << 30, Used: old, Parents: []string{"base"}},
			enginetest.Record{ID: "today", Size: 1 << 20, Used: f.Clock().Add(-time.Hour), Parents: []string{"deps"}},
			enginetest.Record{ID: "below", Size: 1 << 20, Used: old}, enginetest.Record{ID: "above", Size: 3 << 20, Used: old, Parents: []string{"below"}})
		effect := acttest.Do(t, cacheAction(t, f), cacheWish("/"))
		if want := "2 records of build cache that no build used for a day are gone; the engine freed 4.0 MiB of at most 4.0 MiB"; effect != want {
			t.Errorf("%s: the effect is %q, want %q", version, effect, want)
		}
	}
}

// A cache that lies on another file system does not go for the sake of this one.
func TestCacheElsewhere(t *testing.T) {
	f := enginetest.New(t)
	f.SetCache(goes(f)...)
	for mount, refused := range map[string]bool{"/": false, "/var/lib/docker": false, "/home": true, "/var/lib/dock": true} {
		run, err := cacheAction(t, f).Prepare(t.Context(), cacheWish(mount))
		if errors.Is(err, act.ErrRefused) != refused || !refused && err != nil {
			t.Errorf("%s: %v, want refused: %t", mount, err, refused)
		}
		if err == nil {
			run.Close()
		}
	}
}

func TestCacheNothingFreed(t *testing.T) {
	f := enginetest.New(t)
	f.SetCache(goes(f)...)
	f.Break(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		_, _ = w.Write([]byte(`{"CachesDeleted":["layer"],"SpaceReclaimed":3145728}`))
		return true
	})
	run, err := cacheAction(t, f).Prepare(t.Context(), cacheWish("/"))
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

func TestCacheMayNot(t *testing.T) {
	f := enginetest.New(t)
	w, err := engine.NewWriter(f.Socket)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]dockerprune.Options{"no container engine": {}, "prune_cache = true": {Engine: w}} {
		x, err := dockerprune.NewCache(o)
		if err != nil || !strings.Contains(x.Ability().Cannot, want) {
			t.Errorf("it can, or says %q, %v; want %q", x.Ability().Cannot, err, want)
		}
	}
}
