package installhooks

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/settings"
)

const (
	hook = "/opt/custos/custos-hook"
	mine = "{\n  \"model\": \"opus\"\n}\n"
)

// builtKinds are the kinds that are built in.
func builtKinds() *agent.Kinds {
	k, err := agent.Parse()
	if err != nil {
		panic(err)
	}
	return k
}

// edit is what the daemon hands the action, for claude.
func edit(kind string, settings []byte) ([]byte, map[string][]byte, bool, error) {
	next, err := builtKinds().InstallHooks(kind, settings, hook, "/run/custos")
	if err != nil {
		return nil, nil, false, err
	}
	state, err := builtKinds().HookStatus(kind, settings)
	return next, nil, len(state.Events) > 0, err
}

// partial are settings from which one of our hooks was lost.
func partial(t *testing.T) string {
	t.Helper()
	whole, err := builtKinds().InstallHooks("claude", []byte(mine), hook, "/run/custos")
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Replace(string(whole), "/custos-hook claude SessionEnd", "/other claude SessionEnd", 1)
	if out == string(whole) {
		t.Fatalf("nothing was lost from %s", whole)
	}
	return out
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func target(t *testing.T, text string) fleet.Action {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, text)
	info, err := files.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	l := fleet.Landmark{Path: fleet.Path(path), What: "hooks of claude", Kind: "claude", Is: "file", Owner: fleet.OwnerCustos,
		File: fleet.FileID(info.Identity), Open: fleet.Known(false), Hooks: fleet.Known("it lacks SessionEnd")}
	return fleet.Action{ID: "1", Do: Do, Subject: fleet.Subject{Kind: fleet.KindLandmark, Name: l.Path}, Target: fleet.Target{Landmark: &l}}
}

func raw(a fleet.Action) string { return fleet.RawPath(a.Target.Landmark.Path) }

func TestConformance(t *testing.T) {
	acttest.Test(t, acttest.Case{
		Action: New(Options{Edit: edit}),
		Setup:  func(t *testing.T) fleet.Action { return target(t, partial(t)) },
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			return acttest.Tree(t, filepath.Dir(raw(a)))
		},
		Gone: func(t *testing.T, a fleet.Action) {
			whole, _, _, err := edit("claude", []byte(partial(t)))
			if err != nil {
				t.Fatal(err)
			}
			put(t, raw(a), string(whole))
		},
		Changed: map[string]func(*testing.T, fleet.Action){
			"written to":    func(t *testing.T, a fleet.Action) { put(t, raw(a), strings.Replace(partial(t), "opus", "sonnet", 1)) },
			"taken out":     func(t *testing.T, a fleet.Action) { put(t, raw(a), mine) },
			"foreign":       func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Owner = fleet.OwnerForeign },
			"hooks unknown": func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Hooks.Blind("x") },
			"nothing wrong": func(_ *testing.T, a fleet.Action) { a.Target.Landmark.Hooks = fleet.Known("") },
		},
	})
}

// What a person had is kept, the oldest of it, and the mode of the file too.
func TestWhatWasIsKept(t *testing.T) {
	a := target(t, partial(t))
	acttest.Do(t, New(Options{Edit: edit}), a)
	if kept, err := os.ReadFile(raw(a) + settings.Kept); err != nil || string(kept) != partial(t) {
		t.Errorf("kept %q, %v", kept, err)
	}
	info, err := os.Stat(raw(a))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if now, err := os.ReadFile(raw(a)); err != nil || !bytes.Contains(now, []byte("custos-hook claude SessionEnd")) {
		t.Errorf("the hook is not there: %s, %v", now, err)
	}
	b := target(t, partial(t))
	put(t, raw(b)+settings.Kept, mine)
	acttest.Do(t, New(Options{Edit: edit}), b)
	if kept, err := os.ReadFile(raw(b) + settings.Kept); err != nil || string(kept) != mine {
		t.Errorf("what was kept before is %q, %v", kept, err)
	}
}

// Somebody who writes the settings between Prepare and Do keeps what was written.
func TestWrittenMeanwhile(t *testing.T) {
	a := target(t, partial(t))
	run, err := New(Options{Edit: edit}).Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	put(t, raw(a), mine)
	if err := run.Do(t.Context()); !errors.Is(err, act.ErrRefused) {
		t.Errorf("Do: %v", err)
	}
	if now, err := os.ReadFile(raw(a)); err != nil || string(now) != mine {
		t.Errorf("it is %q, %v", now, err)
	}
}

// Where no hook of ours stands, a person begins.
func TestNoneOfOurs(t *testing.T) {
	if _, err := New(Options{Edit: edit}).Prepare(t.Context(), target(t, mine)); !errors.Is(err, act.ErrRefused) {
		t.Errorf("Prepare: %v", err)
	}
}
