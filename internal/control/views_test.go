package control

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/library"
)

// TestListsTellOfShadows: which formula is run under a name that a project has too is said
// where formulas and schedules are listed, with what grants the other.
func TestListsTellOfShadows(t *testing.T) {
	for more, granted := range map[string]bool{"": false, "[formulas.shadows]\napp = [\"patrol\"]\n": true} {
		app, lib := trustedPatrol(t, more)
		rows, err := OnDisk{Library: lib}.Formulas(t.Context())
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
	cfg, err := config.Load(config.Options{Sections: library.Sections(), ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
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

// The next times are those at which the ledger has it due.
func TestNextTimes(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	night := fleet.Schedule{Name: "night", Cron: "0 3 * * *", Enabled: true, Run: fleet.Run{Formula: "n", Mode: fleet.RunSteps, Parallel: 1, Dir: "/runs", Work: "/work", Steps: []fleet.RunStep{{ID: "a", Do: fleet.StepRun, Argv: []string{"true"}}}}}
	next := nextTimes(night, fleet.Past{StartedAt: at.Add(-time.Minute)}, at)
	if len(next) != 3 || !next[0].Equal(at.Wall.Add(18*time.Hour)) || !next[2].Equal(at.Wall.Add(66*time.Hour)) {
		t.Errorf("next: %v", next)
	}
}
