package library

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// shelf is files below a folder of their own; "~" is that folder.
func shelf(t *testing.T, files map[string]string) (config.Config, string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home}
	cfg, err := config.Load(config.Options{Getenv: func(k string) string { return env[k] }, Sections: Sections()})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, home
}

func formulasOf(t *testing.T, files map[string]string) (*Formulas, config.Config, string) {
	t.Helper()
	cfg, home := shelf(t, files)
	b, err := newFormulas(cfg, []string{"claude", "codex"}, newCode(cfg, nothingPinned))
	if err != nil {
		t.Fatal(err)
	}
	return b, cfg, home
}

func nothingPinned(context.Context) ([]fleet.Pins, error) { return nil, nil }

func oneStep(name, more string) string {
	return "name = \"" + name + "\"\n" + more + "\n[[steps]]\nid = \"a\"\nrun = [\"true\"]\n"
}

const settings = `
[formulas]
dirs = ["~/lib"]
projects = { app = "~/app" }
factory = "~/factory"
argv = ["claude", "--dangerously-skip-permissions"]
`

// The folder's formula wins over one's own, and that over one that is shipped; that
// of a project, which is no repository here, is none. A name never leads out of the
// folders.
func TestFormulaLookup(t *testing.T) {
	b, _, home := formulasOf(t, map[string]string{
		".config/custos/custos.toml":          settings,
		".config/custos/formulas/patrol.toml": oneStep("patrol", `description = "mine"`),
		"lib/x.toml":                          oneStep("x", `description = "lib"`),
		"lib/y.formula.toml":                  oneStep("y", ""),
		"lib/secret.txt":                      "",
		"app/.custos/formulas/x.toml":         oneStep("x", `description = "project"`),
		"app/.custos/formulas/p.toml":         oneStep("p", `description = "project"`),
		"file/z.toml":                         oneStep("z", `extends = ["side"]`),
		"file/side.toml":                      oneStep("side", `description = "beside"`),
	})
	for _, c := range []struct {
		q    api.FormulaQuery
		want string // description; "" is not found or refused
	}{
		{api.FormulaQuery{Name: "patrol"}, "mine"}, {api.FormulaQuery{Name: "x"}, "lib"},
		{api.FormulaQuery{Name: "x", Project: "app"}, "lib"}, {api.FormulaQuery{Name: "p", Project: "app"}, ""}, {api.FormulaQuery{Name: "p", Project: home + "/app"}, ""},
		{api.FormulaQuery{Name: "supervisor"}, "Watch the host"}, {api.FormulaQuery{Name: "../file/side"}, ""}, {api.FormulaQuery{Name: "x", Project: "nosuch"}, ""},
		{api.FormulaQuery{Name: "x", Project: "/nosuch"}, ""}, {api.FormulaQuery{Name: "nosuch"}, ""},
		{api.FormulaQuery{File: home + "/file/z.toml", Text: oneStep("z", `extends = ["side"]`)}, "beside"},
	} {
		r, err := b.Read(c.q)
		ok := err == nil && !r.Refused()
		if ok != (c.want != "") || ok && !strings.HasPrefix(r.Formula.Description, c.want) {
			t.Errorf("%+v: %q, %v, %v", c.q, r.Formula.Description, r.Problems, err)
		}
	}
	if got := strings.Join(b.Names(), " "); got != "patrol supervisor x y" {
		t.Errorf("the names are %s", got)
	}
}

// What is too large, broken, or names what is not there, is refused with its place.
func TestFormulaRefused(t *testing.T) {
	b, _, _ := formulasOf(t, map[string]string{
		".config/custos/formulas/big.toml":   strings.Repeat("# 5 MB of nothing\n", 300_000),
		".config/custos/formulas/cron.toml":  oneStep("cron", "[[schedule]]\ncron = \"0 0 31 2 *\""),
		".config/custos/formulas/when.toml":  oneStep("when", "[[schedule]]\nwhen = \"agnets.size() > 1\""),
		".config/custos/formulas/agent.toml": oneStep("agent", `agent = "claud"`),
		".config/custos/formulas/uses.toml":  "name = \"uses\"\n[[steps]]\nid = \"a\"\nuses = \"patrl\"\n",
	})
	for name, want := range map[string]string{"big": "bytes", "cron": ":3:1: error: cron", "when": "agents", "agent": `did you mean "claude"`, "uses": `did you mean "patrol"`} {
		r, err := b.Read(api.FormulaQuery{Name: name})
		if err != nil || !r.Refused() || !strings.Contains(r.Errors(), want) {
			t.Errorf("%s: %v, %v, want %q", name, err, r.Problems, want)
		}
	}
}

// A template holds everything that the run needs, and lawful: the ledger takes it.
func TestRunTemplate(t *testing.T) {
	b, _, home := formulasOf(t, map[string]string{".config/custos/custos.toml": settings, "app/A.md": "x", "lib/n.toml": `
name = "n"
description = "All about {{branch}}."
project = "app"
model = "opus"
context = ["A.md"]
worktree = true
memory_guard = 500
lock = "/tmp/n.lock"
[vars.branch]
required = true
[[steps]]
id = "build"
run = ["make", "{{branch}}"]
timeout = "20m"
retries = 2
repeat = "safe"
[[steps]]
id = "look"
needs = ["build"]
uses = "patrol"
[[steps]]
id = "judge"
needs = ["look"]
description = "Read {{branch}}."
acceptance = "It is read."
`})
	r, err := b.Read(api.FormulaQuery{Name: "n", Vars: map[string]string{"branch": "main"}, Render: true})
	if err != nil || r.Refused() {
		t.Fatal(err, r.Problems)
	}
	run := b.Template(t.Context(), r, r.Dir)
	if run.Project != "app" || run.Work != home+"/app" || run.Lock != "/tmp/n.lock" || run.Vars["branch"] != "main" || run.Mode != fleet.RunInTmux {
		t.Errorf("%+v", run)
	}
	s := run.Session
	if s == nil || strings.Join(s.Argv, " ") != "claude --dangerously-skip-permissions --model opus" || s.Repo != home+"/app" || s.Memory != 500<<20 ||
		s.Context[0] != home+"/app/A.md" || s.Standing != "All about main." || s.Recover != 1 || s.IdleLooks != 3 || strings.Join(s.Set, " ") != "FACTORY_ROOT="+home+"/factory" {
		t.Errorf("%+v", s)
	}
	build, judge := run.Steps[0], run.Steps[2]
	if build.Argv[1] != "main" || build.Retries != 2 || !build.Safe || judge.Do != fleet.StepProse || !strings.Contains(judge.Text, "Read main.") || !strings.Contains(judge.Text, "It is done when: It is read.") {
		t.Errorf("%+v, %+v", build, judge)
	}
	run.ID, run.By = "n-1", "me"
	if _, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, run, fleet.Instant{Wall: time.Now()}); err != nil {
		t.Error(err)
	}
}

// The switch is a file: it holds for whoever comes next, and what cannot be told
// does not run.
func TestFormulaSwitch(t *testing.T) {
	b, cfg, home := formulasOf(t, map[string]string{".config/custos/custos.toml": "[formulas]\nactive = \"~/state\"\n", "state/.a-active": "", "state/.b-active": ""})
	if err := b.SwitchTo("a", false, "me\nrm"); err != nil {
		t.Fatal(err)
	}
	again, err := newFormulas(cfg, b.kinds, b.code)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "disabled by me rm", "b": "", "run-b": "", "c": "the factory has no " + home + "/state/.c-active"} {
		if got := again.Disabled(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", ".", ".."} {
		if b.SwitchTo(name, false, "me") == nil {
			t.Errorf("%q was switched", name)
		}
	}
	if err := b.SwitchTo("../../x", false, "me"); err != nil || b.Disabled("../../x") == "" {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(cfg.StateDir, "../../x")); err == nil {
		t.Error("a name led out of the folder")
	}
	if err := os.Mkdir(b.switchFile("odd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if b.Active = ""; !strings.Contains(b.Disabled("odd"), "cannot be told") {
		t.Errorf("what cannot be told: %q", b.Disabled("odd"))
	}
	for range 2 {
		if err := b.SwitchTo("a", true, "me"); err != nil || b.Disabled("a") != "" {
			t.Error(err, b.Disabled("a"))
		}
	}
}

const timed = `
[schedule.night]
formula = "n"
cron = "0 3 * * *"
[schedule.own]
formula = "own"
[schedule.gone]
formula = "nosuch"
every = "1h"
[schedule.full]
formula = "n"
when = "mounts.exists(m, m.used_percent > 90.0)"
enabled = false
[schedule.shipped]
formula = "supervisor"
`

func TestTimetable(t *testing.T) {
	b, cfg, home := formulasOf(t, map[string]string{
		".config/custos/custos.toml":         timed,
		".config/custos/formulas/n.toml":     oneStep("n", ""),
		".config/custos/formulas/own.toml":   oneStep("own", "[[schedule]]\nevery = \"1h\"\n[[schedule]]\non = \"startup\""),
		".config/custos/formulas/auto.toml":  oneStep("auto", "[[schedule]]\nevery = \"2h\""),
		".config/custos/formulas/plain.toml": oneStep("plain", ""),
	})
	var said []string
	tt, err := newSchedules(cfg, b, func(m string, args ...any) { said = append(said, m) })
	if err != nil {
		t.Fatal(err)
	}
	snap := &fleet.Snapshot{}
	got := map[string]fleet.Schedule{}
	for _, s := range tt.Policy(t.Context(), snap).Schedules {
		got[s.Name] = s
	}
	for name, want := range map[string]string{"night": "cron 0 3 * * *", "own": "every 1h0m0s", "own-2": "on startup", "gone": "every 1h0m0s",
		"full": "when mounts.exists(m, m.used_percent > 90.0)", "shipped": "every 20m0s, up to 30s later", "auto": "every 2h0m0s"} {
		s, ok := got[name]
		if !ok || s.Words() != want || (s.Broken != "") != (name == "gone") || s.Enabled != (name != "full") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if len(got) != 7 || len(said) != 1 || got["full"].Holds != nil {
		t.Errorf("%d schedules, said %v, holds %v", len(got), said, got["full"].Holds)
	}
	if what := tt.Broken(t.Context()); !strings.HasPrefix(what, "gone: cannot find formula") || strings.Contains(what, ";") {
		t.Errorf("broken are %q", what)
	}
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	past := fleet.Past{StartedAt: at.Add(-time.Minute)}
	due, _ := runs.Due(fleet.RunPolicy{Schedules: []fleet.Schedule{got["auto"]}}, past, fleet.Snapshot{At: at}, fleet.Assessment{})
	if len(due) != 1 || due[0].Dir != filepath.Join(cfg.StateDir, "runs", due[0].ID) || due[0].Work != mustHome(t) {
		t.Errorf("%+v", due)
	}
	// A disabled formula is not due, and a changed file is read again.
	if err := b.SwitchTo("n", false, "me"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config/custos/formulas/auto.toml"), []byte(oneStep("auto", "[[schedule]]\nevery = \"3h\"")+"# more"), 0o600); err != nil {
		t.Fatal(err)
	}
	tt.checked = time.Now().Add(-time.Hour)
	p := tt.Policy(context.Background(), snap)
	for _, s := range p.Schedules {
		if s.Run.Formula == "n" && s.Enabled || s.Name == "auto" && time.Duration(s.Every) != 3*time.Hour {
			t.Errorf("%+v", s)
		}
	}
	if len(p.Disabled) != 1 || p.Disabled[0] != "n" {
		t.Errorf("disabled: %v", p.Disabled)
	}
}

func mustHome(t *testing.T) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// A schedule that can never be due, or makes no sense, is refused at load.
func TestTimetableRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[schedule.x]\nformula = \"n\"\ncron = \"0 0 31 2 *\"\n":                     "custos.toml:4: [schedule.x]: cannot use schedule",
		"[schedule.x]\nformula = \"n\"\nevery = \"1h\"\ncron = \"0 3 * * *\"\n":      "exactly one of",
		"[schedule.x]\nformula = \"n\"\nevery = \"soon\"\n":                          "every",
		"[schedule.x]\nformula = \"n\"\nwhen = \"agnets.size() > 1\"\n":              "agents",
		"[schedule.x]\nformula = \"../n\"\nevery = \"1h\"\n":                         "no name of a formula",
		"[schedule.x]\nformula = \"n\"\nevery = \"1h\"\nproject = \"nosuch\"\n":      "no project",
		"[schedule.x]\nformula = \"n\"\nevry = \"1h\"\n":                             `did you mean "every"`,
		"[schedule.x]\nformula = \"n\"\ncron = \"0 3 * * *\"\nzone = \"Mars/Sea\"\n": "zone",
	} {
		b, cfg, _ := formulasOf(t, map[string]string{".config/custos/custos.toml": "\n" + text})
		if _, err := newSchedules(cfg, b, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The two formulas of the seeds say that what was measured stands in their prompt: it
// does, unless they say otherwise; any other asks for it.
func TestLooksOfFormulas(t *testing.T) {
	prose := func(name, more string) string {
		return "name = \"" + name + "\"\n" + more + "\n[[steps]]\nid = \"a\"\ndescription = \"x\"\n"
	}
	b, _, _ := formulasOf(t, map[string]string{
		".config/custos/formulas/run-supervisor.toml":    prose("run-supervisor", "[context]\nfiles = [\"A.md\"]"),
		".config/custos/formulas/mol-deacon-patrol.toml": prose("mol-deacon-patrol", ""),
		".config/custos/formulas/supervisor.toml":        prose("supervisor", "[context]\nrun = []"),
		".config/custos/formulas/asks.toml":              prose("asks", "[context]\nrun = [\"findings\"]"),
		".config/custos/formulas/other.toml":             prose("other", ""),
		".config/custos/formulas/wrong.toml":             prose("wrong", "[context]\nrun = [\"rm -rf /\"]"),
	})
	for name, want := range map[string]string{"run-supervisor": "preflight findings", "mol-deacon-patrol": "preflight findings", "supervisor": "", "asks": "findings", "other": "", "wrong": "!"} {
		r, err := b.Read(api.FormulaQuery{Name: name, Render: true})
		if err != nil || r.Refused() {
			if want != "!" || !strings.Contains(r.Errors(), "preflight, findings") {
				t.Errorf("%s: %v, %v", name, err, r.Problems)
			}
			continue
		}
		if got := strings.Join(b.Template(t.Context(), r, "/w").Session.Shown, " "); got != want {
			t.Errorf("%s looks at %q, want %q", name, got, want)
		}
	}
}
