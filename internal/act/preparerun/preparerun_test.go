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
	r.Session.Graph, r.Session.Repo = true, r.Work
	o := preparerun.Options{Worktree: func(repo, agent string) string { return "/trees/" + agent },
		ForgeURL: func(string) string { return "https://me:hunter2@forge.example/api/v1?token=hunter2" },
		Graph:    func(context.Context, string) (string, error) { return "orphans: none", nil }}
	prompt, effect := do(t, o, r)
	for _, want := range []string{"Mind the project's own rules.", "Read the report", "all green", "custos formula step done r-1", "# The shop", "gone.md", "there is no such file",
		"orphans: none", "https://forge.example/api/v1", "CUSTOS_VAR_branch=main", "You work in /trees/a, ", r.File("phase"), r.File("scratch.md"), "(cut: "} {
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

// replied is a run whose agent asked something, and to which a person replied in
// this file of the spool.
func replied(t *testing.T, file func(fleet.Run) string, text string) fleet.Run {
	t.Helper()
	r := prepared(t)
	spool := t.TempDir()
	r.Session.Reply = fleet.Path(filepath.Join(spool, fleet.ReplyFile(r.Formula)))
	r.Session.Answers, r.Session.Answer, r.Session.Asks = 1, fleet.AnswerDue, "which branch?"
	if err := os.WriteFile(file(r), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func named(n int) func(fleet.Run) string {
	return func(r fleet.Run) string { return r.ReplyFiles()[n] }
}

// A reply is taken once, said to be a person's, and bare of what a terminal would
// act on; it stays in the spool, taken, until the agent has it.
func TestReply(t *testing.T) {
	for name, file := range map[string]func(fleet.Run) string{"the run's": named(0), "the formula's": named(1)} {
		r := replied(t, file, "Take \x1b[31mmain\x00.\n"+strings.Repeat("x", 20<<10))
		prompt, _ := do(t, preparerun.Options{}, r)
		for _, want := range []string{"asked a person: which branch?", "the person's own words", "Take ", "main", "(cut: 8192 of "} {
			if !strings.Contains(prompt, want) {
				t.Errorf("%s: the prompt does not say %q: %.2000s", name, want, prompt)
			}
		}
		if strings.ContainsAny(prompt, "\x1b\x00") || strings.Count(prompt, "x") > 9<<10 {
			t.Errorf("%s: %d bytes, or an escape", name, len(prompt))
		}
		if _, err := os.Stat(file(r)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is in the spool still: %v", name, err)
		}
		if _, err := os.Stat(r.TakenReply(1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Custos ended between taking the reply and the prompt: the next try tells it, and
// leaves alone what was written since.
func TestReplyAfterACrash(t *testing.T) {
	r := replied(t, named(0), "take main")
	if err := os.Rename(r.ReplyFiles()[0], r.TakenReply(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.ReplyFiles()[0], []byte("no, take next"), 0o600); err != nil {
		t.Fatal(err)
	}
	prompt, _ := do(t, preparerun.Options{}, r)
	if strings.Count(prompt, "take main") != 1 || strings.Contains(prompt, "take next") {
		t.Errorf("the prompt says %s", prompt)
	}
	if text, err := os.ReadFile(r.ReplyFiles()[0]); err != nil || string(text) != "no, take next" {
		t.Errorf("%q, %v", text, err)
	}
	// The next session is told both, once the first one is filed.
	if err := os.Rename(r.TakenReply(1), r.FiledReply(1)); err != nil {
		t.Fatal(err)
	}
	r.Session.Answers, r.Session.Agent = 2, "a-2"
	prompt, _ = do(t, preparerun.Options{}, r)
	if !strings.Contains(prompt, "an earlier question:\n\ntake main") || !strings.Contains(prompt, "own words:\n\nno, take next") {
		t.Errorf("the prompt says %s", prompt)
	}
}

// A prompt that could not be written has told nobody: the reply lies in the spool again, so
// that what the person says next is not taken for one that was told. What lies there by
// then is that, and stays.
func TestAReplyThatWasNotToldIsPutBack(t *testing.T) {
	r := replied(t, named(1), "take main")
	if err := os.MkdirAll(filepath.Join(r.File(fleet.RunCompactFile), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	fails := func() {
		t.Helper()
		x, _ := preparerun.New(preparerun.Options{})
		run, err := x.Prepare(t.Context(), action(r))
		if err == nil {
			err = run.Do(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "cannot write "+fleet.RunCompactFile) {
			t.Fatalf("it ended with %v", err)
		}
	}
	fails()
	_, err := os.Stat(r.TakenReply(1))
	if text, lies := os.ReadFile(r.ReplyFiles()[0]); lies != nil || string(text) != "take main" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in the spool there is %q, %v, and what was taken: %v", text, lies, err)
	}
	if err := errors.Join(os.Rename(r.ReplyFiles()[0], r.TakenReply(1)), os.WriteFile(r.ReplyFiles()[0], []byte("no, take next"), 0o600)); err != nil {
		t.Fatal(err)
	}
	fails()
	if text, err := os.ReadFile(r.ReplyFiles()[0]); err != nil || string(text) != "no, take next" {
		t.Errorf("in the spool there is %q, %v", text, err)
	}
}

// What others may have written is nobody's word, and a reply that is gone is no
// reason to go on without one.
func TestReplyRefused(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"others may write to it": func(file string) error { return os.Chmod(file, 0o666) },
		"a link":                 func(file string) error { return errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)) },
		"gone":                   os.Remove,
	} {
		r := replied(t, named(0), "take main")
		if err := spoil(r.ReplyFiles()[0]); err != nil {
			t.Fatal(err)
		}
		x, _ := preparerun.New(preparerun.Options{})
		run, err := x.Prepare(t.Context(), action(r))
		if err == nil {
			err = run.Do(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "cannot take the reply") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(r.File(fleet.RunPromptFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a prompt: %v", name, err)
		}
	}
}

// What the prose says was collected stands above it, and the footer names the forge and
// the environment; what could not be looked at says so.
func TestPromptHasWhatWasSeen(t *testing.T) {
	r := prepared(t)
	r.Session.Shown = []string{"preflight", "findings"}
	r.Session.Set = []string{"FACTORY_ROOT=/factory", "FORGE_API=https://me:hunter2@forge.example/api/v1", "PRIMARY_BRANCH=main"}
	o := preparerun.Options{Seen: func(_ context.Context, looks []string) (string, error) {
		return "## Memory\n512 MB\x1b[2J of " + strings.Join(looks, "+"), nil
	}}
	prompt, _ := do(t, o, r)
	if at := strings.Index(prompt, "512 MB of preflight+findings"); at < 0 || at > strings.Index(prompt, "Read the report") {
		t.Errorf("it is not above the steps:\n%s", prompt)
	}
	for _, want := range []string{"FACTORY_ROOT=/factory\n", "FORGE_API=https://forge.example/api/v1\n", "PRIMARY_BRANCH=main", "Base URL: https://forge.example/api/v1"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not say %q", want)
		}
	}
	if strings.Contains(prompt, "hunter2") {
		t.Error("it tells a secret")
	}
	r = prepared(t)
	r.Session.Shown = []string{"preflight"}
	o.Seen = func(context.Context, []string) (string, error) { return "", errors.New("the board hangs") }
	if prompt, effect := do(t, o, r); !strings.Contains(prompt, "It could not be seen: the board hangs") || !strings.Contains(effect, "without preflight: the board hangs") {
		t.Errorf("%s\n%s", effect, prompt)
	}
}
