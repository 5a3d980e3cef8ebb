package filereply_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/act/acttest"
	"custos/internal/act/filereply"
	"custos/internal/fleet"
)

// answered is a run whose agent has the second reply of a person.
func answered(t *testing.T) fleet.Action {
	t.Helper()
	dir := t.TempDir()
	r := fleet.Run{ID: "nightly-1", Formula: "nightly", Session: &fleet.RunSession{Agent: "nightly-1-2", Reply: fleet.Path(filepath.Join(dir, fleet.ReplyFile("nightly"))),
		Answers: 2, Answer: fleet.AnswerTold}}
	for _, name := range []string{r.TakenReply(2), r.FiledReply(1), r.ReplyFiles()[0]} {
		if err := os.WriteFile(name, []byte("take main"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fleet.Action{ID: "a", Do: filereply.Do, Target: fleet.Target{Step: &fleet.StepTarget{Run: r}}}
}

func folder(a fleet.Action) string { return filepath.Dir(a.Target.Step.Run.TakenReply(2)) }

func TestSuite(t *testing.T) {
	x, err := filereply.New()
	if err != nil {
		t.Fatal(err)
	}
	acttest.Test(t, acttest.Case{
		Action: x, Setup: answered,
		Fingerprint: func(t *testing.T, a fleet.Action) string { return acttest.Tree(t, folder(a)) },
		Changed: map[string]func(*testing.T, fleet.Action){
			"others may write to it": func(t *testing.T, a fleet.Action) {
				if err := os.Chmod(a.Target.Step.Run.TakenReply(2), 0o666); err != nil {
					t.Fatal(err)
				}
			},
			"a link in its place": func(t *testing.T, a fleet.Action) {
				name := a.Target.Step.Run.TakenReply(2)
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("/etc/passwd", name); err != nil {
					t.Fatal(err)
				}
			}},
		Gone: func(t *testing.T, a fleet.Action) { acttest.Do(t, x, a) },
	})
}

// Only the reply that the agent has is put away; the next one, and the one before,
// stay where they are.
func TestOnlyTheOneItHas(t *testing.T) {
	x, _ := filereply.New()
	a := answered(t)
	acttest.Do(t, x, a)
	entries, err := os.ReadDir(folder(a))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), "nightly-1-escalation-reply"))
	}
	if got := strings.Join(names, " "); got != " .1.done .2.done" {
		t.Errorf("there are %q", got)
	}
}
