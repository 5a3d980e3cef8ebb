package preparerun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"custos/internal/act"
	"custos/internal/act/acttest"
	"custos/internal/act/preparerun"
	"custos/internal/fleet"
)

func prepared(t *testing.T) fleet.Run {
	t.Helper()
	dir := t.TempDir()
	work := filepath.Join(dir, "project")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	return fleet.Run{ID: "r-1", Formula: "nightly", Project: "shop", Dir: fleet.Path(filepath.Join(dir, "runs", "r-1")), Work: fleet.Path(work), Vars: map[string]string{"branch": "main\x1b[31m"},
		Session: &fleet.RunSession{Agent: "a", Standing: "Mind the project's own rules."},
		Steps: []fleet.RunStep{
			{ID: "build", Do: fleet.StepRun, Script: "make", State: fleet.StepDone, Note: "all green"},
			{ID: "judge", Do: fleet.StepProse, Text: "Read the report and say what broke.", Needs: []string{"build"}, State: fleet.StepWaiting},
		}}
}

func put(t *testing.T, r fleet.Run, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(fleet.RawPath(r.Work), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func action(r fleet.Run) fleet.Action {
	return fleet.Action{ID: "a", Do: preparerun.Do, Target: fleet.Target{Step: &fleet.StepTarget{Run: r}}}
}

func do(t *testing.T, o preparerun.Options, r fleet.Run) (prompt, effect string) {
	t.Helper()
	x, err := preparerun.New(o)
	if err != nil {
		t.Fatal(err)
	}
	effect = acttest.Do(t, x, action(r))
	text, err := os.ReadFile(r.File(fleet.RunPromptFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), effect
}

func TestSuite(t *testing.T) {
	x, err := preparerun.New(preparerun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	acttest.Test(t, acttest.Case{
		Action: x,
		Setup:  func(t *testing.T) fleet.Action { return action(prepared(t)) },
		Fingerprint: func(t *testing.T, a fleet.Action) string {
			return acttest.Tree(t, filepath.Dir(fleet.RawPath(a.Target.Step.Run.Dir)))
		},
		Changed: map[string]func(*testing.T, fleet.Action){"a link in its place": func(t *testing.T, a fleet.Action) {
			dir := fleet.RawPath(a.Target.Step.Run.Dir)
			if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Symlink(t.TempDir(), dir)); err != nil {
				t.Fatal(err)
			}
		}},
		Gone: func(t *testing.T, a fleet.Action) { acttest.Do(t, x, a) },
	})
}

// The prompt says what is to be done, what was done, and how to tell; nothing in
// it is a secret or a terminal escape.
func TestPrompt(t *testing.T) {
	r := prepared(t)
	put(t, r, "README.md", "# The shop")
	put(t, r, "big.md", strings.Repeat("é", 40<<10))
	if err := os.Symlink("/etc/passwd", filepath.Join(fleet.RawPath(r.Work), "link.md")); err != nil {
		t.Fatal(err)
	}
	r.Session.Context = []string{"README.md", "big.md", "gone.md", "link.md", "../../../../etc/passwd"}
	r.Session.Graph = true
	o := preparerun.Options{ForgeURL: func(string) string { return "https://me:hunter2@forge.example/api/v1?token=hunter2" },
		Graph: func(context.Context, string) (string, error) { return "orphans: none", nil }}
	prompt, effect := do(t, o, r)
	for _, want := range []string{"Mind the project's own rules.", "Read the report", "all green", "custos formula step done r-1", "# The shop", "gone.md", "there is no such file",
		"orphans: none", "https://forge.example/api/v1", "CUSTOS_VAR_branch=main", r.File("phase"), r.File("scratch.md"), "(cut: "} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not say %q", want)
		}
	}
	for _, never := range []string{"hunter2", "root:", "\x1b"} {
		if strings.Contains(prompt, never) {
			t.Errorf("the prompt says %q", never)
		}
	}
	if !utf8.ValidString(prompt) || len(prompt) > 60<<10 || !strings.Contains(effect, "gone.md") {
		t.Errorf("%d bytes; %s", len(prompt), effect)
	}
	info, err := os.Stat(fleet.RawPath(r.Dir))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	if text, err := os.ReadFile(r.File("compact.md")); err != nil || len(text) > 8<<10 || !strings.Contains(string(text), "judge") {
		t.Errorf("compact.md: %q, %v", text, err)
	}
}

func TestContextIsBounded(t *testing.T) {
	r := prepared(t)
	for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
		put(t, r, name, strings.Repeat(name, 40<<10))
		r.Session.Context = append(r.Session.Context, name)
	}
	prompt, effect := do(t, preparerun.Options{}, r)
	if len(prompt) > 140<<10 || !strings.Contains(prompt, "left out") || !strings.Contains(effect, "without 6") {
		t.Errorf("%d bytes, %s", len(prompt), effect)
	}
}

// A graph that fails is left out, and said.
func TestWithoutGraph(t *testing.T) {
	r := prepared(t)
	r.Session.Graph = true
	if _, effect := do(t, preparerun.Options{Graph: func(context.Context, string) (string, error) { return "", errors.New("no documents") }}, r); !strings.Contains(effect, "no documents") {
		t.Error(effect)
	}
}

// What the agent kept is given back to the next session, 8 KiB of it; its own
// files are never touched; and a run that got further is told anew.
func TestAgain(t *testing.T) {
	r := prepared(t)
	do(t, preparerun.Options{}, r)
	kept := "I looked at the report.\n" + strings.Repeat("x", 20<<10)
	for name, text := range map[string]string{"scratch.md": kept, "phase": "PHASE:awaiting_ci\n"} {
		if err := os.WriteFile(r.File(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.Session.Recovered = 1
	prompt, _ := do(t, preparerun.Options{}, r)
	if !strings.Contains(prompt, "I looked at the report.") || strings.Count(prompt, "x") > 9<<10 || !strings.Contains(prompt, "interrupted") {
		t.Errorf("%d bytes: %.300s", len(prompt), prompt)
	}
	if text, err := os.ReadFile(r.File("scratch.md")); err != nil || string(text) != kept {
		t.Errorf("scratch.md was changed, %v", err)
	}
	x, _ := preparerun.New(preparerun.Options{})
	if _, err := x.Prepare(t.Context(), action(r)); !errors.Is(err, act.ErrUnneeded) {
		t.Errorf("a third time: %v", err)
	}
}
