package daemon

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/library"
)

import ()

func TestRunID(t *testing.T) {
	for _, c := range [][3]string{{"nightly", "3f2a91c0", "nightly-3f2a91c0"}, {"a b/../c", "x", "a-b-..-c-x"}, {"-x-", "../y", "x-y"}, {strings.Repeat("é", 100), "z", "z"}} {
		if got := runID(c[0], c[1]); got != c[2] {
			t.Errorf("%q, %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if a, b := runID("n", ""), runID("n", ""); a == b || len(a) != 10 {
		t.Errorf("%q and %q", a, b)
	}
}

// What runs by itself is said alike by custos formula list and by custos schedule list:
// what custos.toml schedules, what a formula of one's own does, and what is there no more.
func TestFormulasAndSchedulesAgree(t *testing.T) {
	dir := t.TempDir()
	own := "name = \"own\"\n[[schedule]]\nevery = \"1h\"\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\n"
	for name, text := range map[string]string{"own.toml": own, "idle.toml": strings.Replace(strings.Replace(own, "[[schedule]]\nevery = \"1h\"\n", "", 1), "own", "idle", 1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := watching(t, "[formulas]\ndirs = [\""+dir+"\"]\n[schedule.often]\nformula = \"patrol\"\nevery = \"20m\"\n[schedule.nightly]\nformula = \"patrol\"\ncron = \"0 3 * * *\"\n"+
		"[schedule.lost]\nformula = \"gone\"\nevery = \"2h\"\n")
	rows, err := s.scheduleRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := formulaDesk{s}.Formulas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scheduled, listed := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		scheduled[r.Formula] = append(scheduled[r.Formula], r.When)
	}
	for _, f := range list {
		if len(f.Schedules) > 0 {
			listed[f.Name] = append(listed[f.Name], f.Schedules...)
		}
	}
	if diff := cmp.Diff(scheduled, listed); diff != "" || len(scheduled["own"]) != 1 || len(scheduled["patrol"]) != 2 || len(scheduled["gone"]) != 1 {
		t.Errorf("schedules %v, formulas %v", scheduled, listed)
	}
}

// TestListsTellOfShadows: which formula is run under a name that a project has too is said
// where formulas and schedules are listed, with what grants the other.
func TestListsTellOfShadows(t *testing.T) {
	for more, granted := range map[string]bool{"": false, "[formulas.shadows]\napp = [\"patrol\"]\n": true} {
		app, lib := trustedPatrol(t, more)
		rows, err := formulaDesk{&system{library: lib}}.Formulas(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runs, said := "", ""
		for _, r := range rows {
			if r.Name == "patrol" && len(r.Schedules) > 0 {
				runs = r.Source
			}
			if r.Name == "patrol" && r.Project == "app" {
				said = r.Broken
			}
		}
		of := app + "/.custos/formulas/patrol.toml"
		if granted && (runs != of || said != "") {
			t.Errorf("granted: the schedule runs %q; said of it: %q", runs, said)
		}
		if !granted && (runs != "formulas/patrol.toml" || !strings.Contains(said, "not run: formulas/patrol.toml is") || !strings.Contains(said, `shadows = { app = ["patrol"] }`)) {
			t.Errorf("not granted: the schedule runs %q; said of it: %q", runs, said)
		}
	}
}

// trustedPatrol is a project with a formula patrol that a person trusts, and a schedule of it.
func trustedPatrol(t *testing.T, more string) (app string, lib *library.Library) {
	t.Helper()
	app = t.TempDir()
	text := "[formulas]\nprojects = { app = \"" + app + "\" }\n" + more + "[schedule.nightly]\nformula = \"patrol\"\nproject = \"app\"\nevery = \"24h\"\n"
	cfg, err := config.Load(config.Options{Sections: Sections(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		t.Fatal(err)
	}
	formulas := filepath.Join(app, ".custos", "formulas")
	if err := os.MkdirAll(formulas, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(formulas, "patrol.toml"), []byte("name = \"patrol\"\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q -b main", "add .", "commit -q -m x"} {
		cmd := exec.Command("git", append([]string{"-C", app, "-c", "user.name=a", "-c", "user.email=a@b"}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	var pinned []fleet.Pins
	lib, err = library.New(cfg, library.Options{Kinds: []string{"claude"}, Pins: func(context.Context) ([]fleet.Pins, error) { return pinned, nil }, Warn: func(string, ...any) {}})
	if err != nil {
		t.Fatal(err)
	}
	lib.Formulas.OfProject("app") // which has its folder looked at
	p, err := lib.Code.Offered(filepath.Join(app, ".custos"), lib.Code.All()[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	pinned = []fleet.Pins{p}
	lib.Code.Again()
	return app, lib
}

// Only what failed counts, up to the newest that went well.
func TestFailuresInARow(t *testing.T) {
	const d, f, s, c, o = fleet.RunDone, fleet.RunFailed, fleet.RunSkipped, fleet.RunCancelled, fleet.RunOpen
	for want, runs := range map[int][]fleet.RunState{0: {f, d, s}, 1: {d, f, o}, 2: {f, d, f, s, c, f}, 3: {f, f, f}} {
		var list []fleet.Run
		for _, state := range runs {
			list = append(list, fleet.Run{State: state, Why: "no"})
		}
		if got := failuresInARow(list); got != want {
			t.Errorf("%v: %d, want %d", runs, got, want)
		}
	}
}

// The next times are those at which the ledger has it due.
func TestNextTimes(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	night := fleet.Schedule{Name: "night", Cron: "0 3 * * *", Enabled: true, Run: fleet.Run{Formula: "n", Mode: fleet.RunSteps, Parallel: 1, Dir: "/runs", Work: "/work", Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}}}}}
	next := nextTimes(night, fleet.Past{StartedAt: at.Add(-time.Minute)}, at)
	if len(next) != 3 || !next[0].Equal(at.Wall.Add(18*time.Hour)) || !next[2].Equal(at.Wall.Add(66*time.Hour)) {
		t.Errorf("next: %v", next)
	}
}
