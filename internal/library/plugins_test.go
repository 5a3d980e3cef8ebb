package library

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

const byHand = "---\ngate: {type: manual}\nrun: [\"true\"]\n---\n"

func pluginsOf(t *testing.T, files map[string]string) (*Plugins, string) {
	t.Helper()
	b, cfg, home := formulasOf(t, files)
	s, err := newPlugins(cfg, b, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	return s, home
}

// Folders in the order of the configuration, their plugins by name; of two of one
// name the first is run, and the other one names it.
func TestPluginShelf(t *testing.T) {
	s, home := pluginsOf(t, map[string]string{
		".config/custos/custos.toml": "[formulas]\nprojects = { app = \"~/app\", other = \"~/other\" }\n[plugins]\ndirs = [\"~/lib\", \"~/nowhere\"]\nprojects = [\"app\"]\n",
		"lib/b/plugin.md":            byHand, "lib/a/plugin.md": byHand, "lib/.hidden/plugin.md": byHand, "lib/empty/README.md": "", "lib/file.md": "",
		".config/custos/plugins/c/plugin.md": "---\nname: a\ngate: {type: manual}\nrun: [\"true\"]\n---\n",
		"app/.custos/plugins/d/plugin.md":    byHand, "other/.custos/plugins/e/plugin.md": byHand,
	})
	var got []string
	for _, x := range s.All(t.Context()) {
		got = append(got, strings.TrimSpace(x.Name+" "+x.root.project))
	}
	if strings.Join(got, ", ") != "a, b, a, d app" {
		t.Errorf("%q", got)
	}
	twice := s.list[2]
	if want := home + `/.config/custos/plugins/c/plugin.md:2: name "a": ` + home + "/lib/a/plugin.md has the same name, and is the one that is run"; twice.Broken != want {
		t.Errorf("%q, want %q", twice.Broken, want)
	}
	// What lies in a project is not run because it lies there; TestPinnedCodeIsRunAsItWasPinned has the rest.
	if d := s.list[3]; !strings.Contains(d.Broken, home+"/app/.custos is run: ") {
		t.Errorf("%+v", d)
	}
	run := s.list[1].Schedule.Run
	if run.Formula != "plugin:b" || run.Steps[0].Dir != home+"/lib/b" || run.Queue != fleet.QueuePlugins || !run.Steps[0].Moot {
		t.Errorf("%+v", run)
	}
	run.ID, run.By, run.Dir = "x", "me", "/x"
	if _, err := ledger.TakeRun(fleet.Past{}, fleet.RunPolicy{}, run, fleet.Instant{Wall: time.Now()}); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(home+"/lib/b", 0o777); err != nil {
		t.Fatal(err)
	}
	s.checked = time.Time{}
	if x := s.All(t.Context())[1]; !strings.Contains(x.Broken, "anybody may write to "+home+"/lib/b") {
		t.Errorf("%q", x.Broken)
	}
}

// Each gate is a way to be due that the ledger takes.
func TestPluginSchedules(t *testing.T) {
	for gate, want := range map[string]string{
		"type: cooldown\n  duration: 7d":                        "168h0m0s after its end",
		"type: cron\n  schedule: 0 9 * * *\n  zone: Asia/Tokyo": "cron 0 9 * * * Asia/Tokyo",
		"type: cron\n  schedule: 0 9 * * *\n  hosts: one":       "cron 0 9 * * *, on one host",
		"type: cooldown\n  duration: 7d\n  hosts: each":         "168h0m0s after its end",
		"type: condition\n  when: host.cpus > 1":                "when host.cpus > 1",
		"type: condition\n  check: ./ok now":                    "when DIR/ok now ends with 0",
		"type: event\n  on: heartbeat":                          "on patrol",
		"type: event\n  on: startup":                            "on startup",
		"type: event\n  on: alert:disk-pressure":                "on alert:disk-pressure",
		"type: event\n  on: run:nightly:failed":                 "on run:nightly:failed",
		"type: event\n  on: agent.*":                            "on log:agent.*",
		"type: event\n  on: convoy.created":                     "on log:convoy.open",
		"type: event\n  on: stopped":                            `!plugin.md:5: gate.on: there is no event "stopped"`,
		"type: event\n  on: startp":                             `!plugin.md:5: gate.on: there is no event "startp", did you mean "startup"?`,
		"type: event\n  on: agnet.ended":                        `!did you mean "agent"?`,
		"type: event\n  on: run.ended":                          `!plugin.md:5: gate.on: a run brings events "run.ended" about itself`,
		"type: event\n  on: run:plugin:x:done":                  "!it is due when it has run",
		"type: cron\n  schedule: 0 0 31 2 *":                    "!plugin.md:5: gate.schedule: cron \"0 0 31 2 *\" is never due",
		"type: condition\n  when: agnets.size() > 1":            "!plugin.md:5: gate.when: ",
	} {
		s, home := pluginsOf(t, map[string]string{".config/custos/plugins/x/plugin.md": "---\nname: x\ngate:\n  " + gate + "\nrun: [\"true\"]\n---\n"})
		x := s.All(t.Context())[0]
		if bad, is := strings.CutPrefix(want, "!"); is {
			if !strings.Contains(x.Broken, bad) {
				t.Errorf("%s: %q, want %q", gate, x.Broken, bad)
			}
			continue
		}
		want = strings.ReplaceAll(want, "DIR", home+"/.config/custos/plugins/x")
		if got := x.Schedule.Words(); got != want || x.Broken != "" || ledger.CheckSchedule(x.Schedule.Schedule) != nil {
			t.Errorf("%s: %q, %q, %v", gate, got, x.Broken, ledger.CheckSchedule(x.Schedule.Schedule))
		}
	}
}

// A check that was not seen, or is not known, opens nothing; nor does a switched off one.
func TestPluginPolicy(t *testing.T) {
	s, _ := pluginsOf(t, map[string]string{".config/custos/plugins/x/plugin.md": "---\nname: x\ngate: {type: condition, check: ./ok}\nrun: [\"true\"]\n---\n",
		".config/custos/plugins/y/plugin.md": byHand})
	ok, stale := fleet.Sight{Status: fleet.StatusOK}, fleet.Sight{Status: fleet.StatusStale}
	say := func(l fleet.Leaf[bool]) []fleet.GateCheck { return []fleet.GateCheck{{Gate: "plugin:x", Holds: l}} }
	for name, c := range map[string]struct {
		sight fleet.Sight
		said  []fleet.GateCheck
		want  string
	}{"open": {ok, say(fleet.Known(true)), "true"}, "shut": {ok, say(fleet.Known(false)), "false"}, "hung": {ok, say(fleet.Unknown[bool]("hung")), "nil"},
		"stale": {stale, say(fleet.Known(true)), "nil"}, "none": {ok, nil, "nil"}} {
		snap := &fleet.Snapshot{}
		snap.Checks.Sight, snap.Checks.Value = c.sight, c.said
		p := s.Policy(t.Context(), snap)
		got := "nil"
		if h := p.Schedules[0].Holds; h != nil {
			got = map[bool]string{true: "true", false: "false"}[*h]
		}
		if len(p.Schedules) != 1 || got != c.want || !p.Schedules[0].Enabled {
			t.Errorf("%s: %s, %+v", name, got, p.Schedules)
		}
	}
	if err := s.formulas.SwitchTo("plugin:x", false, "me"); err != nil {
		t.Fatal(err)
	}
	p := s.Policy(t.Context(), &fleet.Snapshot{})
	if p.Schedules[0].Enabled || len(p.Disabled) != 1 || len(s.Checks(t.Context())) != 0 {
		t.Errorf("%+v", p)
	}
}

// When another's records say that it ran: beside it, or for all; what is no time, or
// to come, is nothing.
func TestPluginState(t *testing.T) {
	at := "2026-01-02T03:04:05Z"
	for text, want := range map[string]string{`{"last_run":"` + at + `"}`: at, `{"lastRun":"` + at + `"}`: at, `{"last_run":"soon"}`: "", `{"last_run":"2999-01-01T00:00:00Z"}`: "", `[]`: "", `{`: ""} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if is := ranElsewhere(t.TempDir(), dir, "x"); !is.IsZero() {
			got = is.Wall.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "state.json"), []byte(`{"x":"`+at+`","plugins":{"y":{"last_run":"`+at+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"x": true, "y": true, "z": false} {
		if ranElsewhere(root, t.TempDir(), name).IsZero() == want {
			t.Errorf("%s is not as it should be", name)
		}
	}
}
