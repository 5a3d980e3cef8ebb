package removephase

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act/acttest"
	"custos/internal/fleet"
	"custos/internal/sys/files"
)

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
		Action: New(Options{}), Setup: setup,
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

func TestAPhaseWrittenAfterPrepareIsKept(t *testing.T) {
	a := setup(t)
	run, err := New(Options{}).Prepare(context.Background(), a)
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
	effect := acttest.Do(t, New(Options{}), a)
	aside, err := filepath.Glob(filepath.Dir(raw(a)) + "/.custos-removed-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("%v, %v", aside, err)
	}
	if got, err := os.ReadFile(aside[0]); err != nil || string(got) != text || !strings.Contains(effect, aside[0]) {
		t.Errorf("set aside %q, %v; effect %q", got, err, effect)
	}
}
