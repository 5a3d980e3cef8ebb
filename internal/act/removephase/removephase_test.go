package removephase

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

// closed is a forge on which every issue is closed.
func closed(context.Context, string, int) (bool, error) { return true, nil }

const text = "PHASE:escalate no way out\n"

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func setup(t *testing.T) fleet.Action {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dev-session-shop-42.phase")
	put(t, path, text)
	info, err := files.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	ph := fleet.Phase{
		Path: fleet.Path(path), Owner: fleet.OwnerConfigured, File: fleet.FileID(info.Identity),
		Phase: fleet.Known("escalate"), Issue: fleet.Known(42), Closed: fleet.Known(true),
	}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindPhase, Name: ph.Path}, Target: fleet.Target{Phase: &ph}}
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Phase.Path) }

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: New(Options{Closed: closed}), Setup: setup,
		Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, filepath.Dir(raw(a))) },
		Gone: func(t *testing.T, a fleet.Action) {
			if err := os.Remove(raw(a)); err != nil {
				t.Fatal(err)
			}
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"another phase": func(t *testing.T, a fleet.Action) { put(t, raw(a), "PHASE:awaiting_ci\n") },
			"the same anew": func(t *testing.T, a fleet.Action) { put(t, raw(a), text) },
			"a folder": func(t *testing.T, a fleet.Action) {
				if err := os.Remove(raw(a)); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(raw(a), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			"open":            func(_ *testing.T, a fleet.Action) { a.Target.Phase.Closed = fleet.Known(false) },
			"closed unknown":  func(_ *testing.T, a fleet.Action) { a.Target.Phase.Closed.Blind("no forge configured") },
			"phase unknown":   func(_ *testing.T, a fleet.Action) { a.Target.Phase.Phase.Blind("x") },
			"phase not as it": func(_ *testing.T, a fleet.Action) { a.Target.Phase.Phase = fleet.Known("done") },
			"foreign":         func(_ *testing.T, a fleet.Action) { a.Target.Phase.Owner = fleet.OwnerForeign },
		},
	})
}

// TestTheForgeIsAskedAnew: opened again, or a forge that does not answer.
func TestTheForgeIsAskedAnew(t *testing.T) {
	for name, ask := range map[string]func(context.Context, string, int) (bool, error){
		"open again": func(context.Context, string, int) (bool, error) { return false, nil },
		"down":       func(context.Context, string, int) (bool, error) { return true, errors.New("down") },
		"nobody":     nil,
	} {
		a := setup(t)
		if _, err := New(Options{Closed: ask}).Prepare(t.Context(), a); err == nil || errors.Is(err, act.ErrRefused) == (name == "down") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := setup(t)
	a.Target.Phase.Project = "shop"
	asked := ""
	run, err := New(Options{Closed: func(_ context.Context, project string, issue int) (bool, error) {
		asked = fleet.IssueName(project, issue)
		return true, nil
	}}).Prepare(t.Context(), a)
	if err != nil || asked != "shop#42" {
		t.Fatalf("asked after %q, %v", asked, err)
	}
	run.Close()
}

func TestAPhaseWrittenAfterPrepareIsKept(t *testing.T) {
	a := setup(t)
	run, err := New(Options{Closed: closed}).Prepare(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	put(t, raw(a), "PHASE:awaiting_ci\n")
	if err := run.Do(context.Background()); err == nil {
		t.Error("Do succeeded")
	}
	if got, err := os.ReadFile(raw(a)); err != nil || string(got) != "PHASE:awaiting_ci\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestNothingIsDeleted(t *testing.T) {
	a := setup(t)
	effect := acttest.Do(t, New(Options{Closed: closed}), a)
	aside, err := filepath.Glob(filepath.Dir(raw(a)) + "/.custos-removed-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("%v, %v", aside, err)
	}
	if got, err := os.ReadFile(aside[0]); err != nil || string(got) != text || !strings.Contains(effect, aside[0]) {
		t.Errorf("set aside %q, %v; effect %q", got, err, effect)
	}
}

// A session that ended and was about no issue: its file may go without a forge. One
// that still waits, or whose name says nothing, may not.
func TestFinishedWithoutAnIssue(t *testing.T) {
	for name, c := range map[string]struct {
		word       string
		unnumbered bool
		ok         bool
	}{"done": {"done", true, true}, "failed": {"failed", true, true}, "escalate": {"escalate", true, false}, "an odd name": {"done", false, false}} {
		a := setup(t)
		put(t, raw(a), "PHASE:"+c.word+"\n")
		info, err := files.Lstat(raw(a))
		if err != nil {
			t.Fatal(err)
		}
		ph := a.Target.Phase
		ph.File, ph.Phase, ph.Unnumbered = fleet.FileID(info.Identity), fleet.Known(c.word), c.unnumbered
		ph.Issue, ph.Closed = fleet.Unknown[int]("none"), fleet.Unknown[bool]("none")
		run, err := New(Options{}).Prepare(t.Context(), a)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			run.Close()
		}
	}
}
