package formula

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custos/formulas"
)

func none(string) ([]byte, string, bool) { return nil, "", false }

// whole takes a formula all the way and fails on any problem.
func whole(t *testing.T, file string, text []byte, c Checks) Formula {
	t.Helper()
	f, found := Parse(file, text)
	wantNone(t, found)
	f, found = Resolve(f, none)
	wantNone(t, found)
	wantNone(t, Check(f, c))
	f, found = Render(f, nil)
	wantNone(t, found)
	return f
}

func wantNone(t *testing.T, found []Problem) {
	t.Helper()
	for _, p := range found {
		t.Error(p)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// needsOf writes the steps as "id ← needs".
func needsOf(f Formula) (out []string) {
	for _, s := range f.Steps {
		out = append(out, strings.TrimSpace(s.ID+" ← "+strings.Join(s.Needs, " ")))
	}
	return out
}

func supervisorSteps() []string {
	return []string{"preflight ←", "health-assessment ← preflight", "decide-actions ← health-assessment", "report ← decide-actions", "journal ← report"}
}

func deaconSteps() []string {
	return []string{
		"inbox-check ←", "trigger-pending-spawns ← inbox-check", "gate-evaluation ← inbox-check", "check-convoy-completion ← inbox-check",
		"resolve-external-deps ← check-convoy-completion", "fire-notifications ← resolve-external-deps",
		"health-scan ← trigger-pending-spawns gate-evaluation fire-notifications", "plugin-run ← health-scan", "orphan-check ← health-scan",
		"session-gc ← orphan-check", "context-check ← session-gc", "loop-or-exit ← context-check",
	}
}

func TestSeedSupervisor(t *testing.T) {
	f := whole(t, "seed", read(t, "testdata/seed-supervisor.toml"), Checks{})
	if d := cmp.Diff(supervisorSteps(), needsOf(f)); d != "" {
		t.Error(d)
	}
	if f.Name != "run-supervisor" || f.Version != "1" || f.Model != "sonnet" || f.Type != workflow || !slices.Equal(f.Context.Files, []string{"AGENTS.md"}) {
		t.Errorf("%+v", f)
	}
	want := "cat date pgrep xargs sync tee docker du cut truncate git tmux grep head matrix_send"
	if got := names(Commands(f)); got != want {
		t.Errorf("commands\n got %s\nwant %s", got, want)
	}
}

func TestSeedDeacon(t *testing.T) {
	f := whole(t, "seed", read(t, "testdata/seed-deacon.toml"), Checks{})
	if d := cmp.Diff(deaconSteps(), needsOf(f)); d != "" {
		t.Error(d)
	}
	want := []string{"inbox-check", "trigger-pending-spawns gate-evaluation check-convoy-completion", "resolve-external-deps", "fire-notifications",
		"health-scan", "plugin-run orphan-check", "session-gc", "context-check", "loop-or-exit"}
	if d := cmp.Diff(want, waveIDs(f)); d != "" {
		t.Error(d)
	}
	if got := names(Commands(f)); got != "gt gt bd bd gt grep bd gt gt" {
		t.Errorf("commands %s", got)
	}
	if text := Text(f); !strings.Contains(text, "├─ plugin-run  Run plugins  [agent]  ← health-scan  (leaf)") {
		t.Error(text)
	}
	if dot := DOT(f); !strings.Contains(dot, `"health-scan" -> "plugin-run";`) {
		t.Error(dot)
	}
}

func names(all []Command) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Name)
	}
	return strings.Join(out, " ")
}

func waveIDs(f Formula) (out []string) {
	for _, w := range Waves(f) {
		out = append(out, strings.Join(idsOf(w), " "))
	}
	return out
}

// TestShipped: the formulas that come with Custos do the steps of the seeds, by
// the parts of a pass there are.
func TestShipped(t *testing.T) {
	uses := strings.Fields("patrol observe assess act report journal mail gates convoys dependencies plugins health orphans gc spawns costs handoff")
	want := map[string][]string{"supervisor": supervisorSteps(), "patrol": deaconSteps()}
	for _, name := range formulas.Names() {
		text, file, ok := formulas.Lookup(name)
		if !ok {
			t.Fatalf("cannot read %s", name)
		}
		f := whole(t, file, text, Checks{Uses: uses})
		if d := cmp.Diff(want[name], needsOf(f)); d != "" || f.Name != name {
			t.Errorf("%s: %s", f.Name, d)
		}
		for _, s := range f.Steps {
			if s.Uses == "" || !s.Safe() || s.Timeout == 0 {
				t.Errorf("%s, step %s: %+v", name, s.ID, s)
			}
		}
		if len(f.Schedules) != 1 || f.Schedules[0].Every.Minutes() != 20 || !f.SingleFlight || f.MemoryGuard != 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(formulas.Names()) != len(want) {
		t.Errorf("shipped: %q", formulas.Names())
	}
}
