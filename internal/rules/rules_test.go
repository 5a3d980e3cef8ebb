package rules

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/docs"
	"custos/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite docs/rules.md")

func builtinSet(t testing.TB) *Set {
	t.Helper()
	s, err := (Checker{}).Parse("rules.toml", Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDocumentIsUpToDate(t *testing.T) {
	const page = "../../docs/rules.md"
	want := Document(builtinSet(t))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/rules.md is out of date: run go test ./internal/rules -run Document -update")
	}
}

// TestBuiltinRulesKeepTheHouse checks what every rule of ours must have.
func TestBuiltinRulesKeepTheHouse(t *testing.T) {
	known := []string{"stop-tree", "rotate-log", "remove-lock", "abort-rebase", "checkout-primary", "remove-worktree", "clear-build-output", "remove-phase", "notify-terminal",
		"nudge", "triage", "stop", "recover", "checkpoint", "retrigger", "cancel-pipeline", "restart-container", "docker-prune", "docker-cache-prune", "comment", "label", "assign", "close-landmark", "install-hooks", "trust-code", "approve-vault-item"}
	worded := []string{"nudge", "comment", "label", "assign"}
	for _, r := range builtinSet(t).Rules() {
		if r.What == "" || strings.Contains(r.Summary, "details") {
			t.Errorf("rule %s says nothing to people", r.Name)
		}
		if r.Runbook != "" {
			if _, ok := docs.Runbook(strings.TrimPrefix(r.Runbook, "custos runbook ")); !ok {
				t.Errorf("rule %s: %s shows nothing", r.Name, r.Runbook)
			}
		} else if r.Priority <= fleet.P2 {
			t.Errorf("rule %s has no runbook", r.Name)
		}
		for _, a := range r.Actions {
			if !slices.Contains(known, a.Do) {
				t.Errorf("rule %s asks for %s, which there is not", r.Name, a.Do)
			}
			if slices.Contains(worded, a.Do) != (a.Text != "" && a.Do != "stop") {
				t.Errorf("rule %s does %s with the words %q", r.Name, a.Do, a.Text)
			}
			if (a.Do == "stop-tree" || a.Do == "checkout-primary") && r.Mode != fleet.ModeAsk {
				t.Errorf("rule %s does %s without asking", r.Name, a.Do)
			}
			if r.Attempts.Max == 0 || r.Cooldown == 0 {
				t.Errorf("rule %s tries %s without bounds", r.Name, a.Do)
			}
		}
	}
}

// What the built-in table asks for and is not there on this machine is for decide
// to refuse; what a person asks for and is not there is a mistake.
func TestOnlyOverlaysAreHeldToTheActionsThereAre(t *testing.T) {
	some := Checker{Actions: []string{"remove-lock"}}
	if _, err := some.Parse("rules.toml", Builtin()); err != nil {
		t.Error(err)
	}
	if _, err := some.Parse("rules.toml", Builtin(), Source{"custos.toml", []byte("[rule.agent-stuck]\nactions = [{ do = 'nudge', text = 'x' }]")}); err == nil {
		t.Error("an action that there is not was taken")
	}
}

func TestCanonicalTableIsAFixedPoint(t *testing.T) {
	s, err := (Checker{}).Parse("rules.toml", Builtin(), Source{"custos.toml", []byte(`
[rule.log-large]
enabled = false
what = "quotes \" and 'both' \\ and ü"
[rule.mine]
priority = "P0"
over = "host"
expr = '''
host.cpus > 1 &&
host.name != "a'b\\c"'''
for = "90m"
tell_after = 4
attempts = "2 in 2d"
spacing = "even"
actions = [{ do = "x", targets = "log", where = "log.bytes > 1", order = "log.bytes desc", limit = 2 }]
`)})
	if err != nil {
		t.Fatal(err)
	}
	again, err := (Checker{}).Parse("canonical", []byte(s.TOML()))
	if err != nil {
		t.Fatal(err)
	}
	if again.TOML() != s.TOML() {
		t.Errorf("%s\nbecame\n%s", s.TOML(), again.TOML())
	}
	for _, r := range s.Rules() {
		if a, b := plainRule(*r), plainRule(*again.Rule(r.Name)); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v\nbecame\n%+v", a, b)
		}
	}
}

// plainRule is a rule without what was compiled from it.
func plainRule(r Rule) Rule {
	r.expr, r.summary, r.leaves = nil, nil, nil
	r.Actions = append([]Action(nil), r.Actions...)
	for i := range r.Actions {
		r.Actions[i].where, r.Actions[i].order = nil, nil
	}
	if len(r.CausedBy) == 0 {
		r.CausedBy = nil
	}
	return r
}

func TestOverlay(t *testing.T) {
	s, err := (Checker{}).Parse("rules.toml", Builtin(), Source{"custos.toml", []byte(`
mode = "auto"
[git]
roots = ["/x"]
[rule.disk-pressure]
priority = "P2"
[rule.log-large]
enabled = false
[rule.mine]
priority = "P3"
over = "agent"
expr = "agent.rss > gib(8)"
`)})
	if err != nil {
		t.Fatal(err)
	}
	base := builtinSet(t)
	if r := s.Rule("disk-pressure"); r.Priority != fleet.P2 || r.Expr != base.Rule("disk-pressure").Expr || r.Mode != fleet.ModeAuto {
		t.Errorf("disk-pressure is %+v", r)
	}
	if s.Rule("log-large").Enabled || !s.Rule("disk-rising").Enabled {
		t.Error("the wrong rules are switched off")
	}
	if r := s.Rule("mine"); r.Mode != fleet.ModeObserve || len(r.Parts()) != 1 {
		t.Errorf("a new rule is %+v", r)
	}
}

// TestMistakes: every mistake is told, with its file and line and the name that
// was meant.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown key":     {"[rule.log-large]\npriorty = 'P1'", []string{`cannot read custos.toml:2: unknown key "priorty", did you mean "priority"?`}},
		"wrong field":     {"[rule.log-large]\n\nexpr = 'log.byte > 3'", []string{`custos.toml:3: rule "log-large", expr: undefined field 'byte', did you mean "bytes"?`}},
		"nested field":    {"[rule.oom-kill]\nexpr = 'host.memroy.available < 3'", []string{`undefined field 'memroy', did you mean "memory"?`}},
		"wrong variable":  {"[rule.oom-kill]\nexpr = 'hosst.cpus < 3'", []string{`undeclared reference to 'hosst', did you mean "host"?`}},
		"wrong function":  {"[rule.oom-kill]\nexpr = 'host.memory.total < mb(3)'", []string{`undeclared reference to 'mb', did you mean "mib"?`}},
		"other's subject": {"[rule.oom-kill]\nexpr = 'agent.rss > 3'", []string{`undeclared reference to 'agent', did you mean "agents"?`}},
		"has":             {"[rule.oom-kill]\nexpr = 'has(host.memory)'", []string{"nothing has to ask"}},
		"syntax":          {"[rule.oom-kill]\nexpr = 'host.cpus >'", []string{"custos.toml:2: rule \"oom-kill\", expr: Syntax error"}},
		"not bool":        {"[rule.oom-kill]\nexpr = 'host.cpus'", []string{"it gives a int, want a bool"}},
		"wrong type":      {"[rule.oom-kill]\nexpr = 'host.name > 3'", []string{"no matching overload"}},
		"many, acted on":  {"[rule.convoy-empty]\nactions = [{ do = 'remove-lock', targets = 'lock' }]\nlists = 'custos convoy list'", []string{`custos.toml:3: rule "convoy-empty", lists: only a rule over convoy, gate, mail, merge, vault, work, without actions, makes one finding of many`}},
		"many agents":     {"[rule.agent-zombie]\nactions = []\nlists = 'custos ps'", []string{`custos.toml:3: rule "agent-zombie", lists: only`}},
		"unknown cause":   {"[rule.oom-kill]\ncaused_by = ['memory-crises']", []string{`there is no rule "memory-crises", did you mean "memory-crisis"?`}},
		"unknown action":  {"[rule.log-large]\nactions = [{ do = 'rotat-log' }]", []string{`custos.toml:2: rule "log-large", actions: there is no action "rotat-log", did you mean "rotate-log"?`}},
		"no target":       {"[rule.oom-kill]\nactions = [{ do = 'rotate-log' }]", []string{"rotate-log needs targets: nothing can be done to a host itself"}},
		"a route's key":   {"[rule.log-large]\nescalate = '1h'", []string{`cannot read custos.toml:2: unknown key "escalate"`}},
		"action key":      {"[rule.log-large]\nactions = [{ do = 'rotate-log', wher = 'true' }]", []string{`unknown key "wher", did you mean "where"?`}},
		"where":           {"[rule.log-large]\nactions = [{ do = 'rotate-log', where = 'log.sice > 1' }]", []string{`undefined field 'sice'`}},
		"order":           {"[rule.log-large]\nactions = [{ do = 'rotate-log', order = 'log.tail desc' }]", []string{"cannot be put in order"}},
		"cost":            {"[rule.agent-zombie]\nexpr = 'agents.exists(a, agents.exists(b, a.rss == b.rss))'", []string{"it costs too much"}},
		"pairs cost":      {"[rule.agent-zombie]\nexpr = 'agents.exists(a, a.name == agent.name && a.rss > 3)'", []string{"it costs too much"}},
		"duplicate":       {"[rule.a]\nover='host'\n[rule.a]\nover='host'", []string{"custos.toml:3: "}},
		"broken TOML":     {"[rule.a]\nover = ", []string{"cannot read custos.toml:2:"}},
		"duration":        {"[rule.oom-kill]\nfor = '5 minutes'", []string{`"5 minutes" is no duration: write it like "90s"`}},
		"negative":        {"[rule.oom-kill]\nfor = '-5m'", []string{"is no duration"}},
		"attempts":        {"[rule.oom-kill]\nattempts = 'thrice'", []string{"want something like 3 in 1h"}},
		"no attempts":     {"[rule.oom-kill]\nattempts = '0 in 1h'", []string{"at least one try"}},
		"spacing":         {"[rule.oom-kill]\nspacing = 'odd'", []string{`cannot read spacing "odd": want growing or even`}},
		"kind":            {"[rule.oom-kill]\nover = 'agnet'", []string{`cannot use "agnet", did you mean "agent"?`}},
		"type":            {"[rule.oom-kill]\nfor = 5", []string{"it is the number 5, want a text"}},
		"mode":            {"[rule.oom-kill]\nmode = 'yolo'", []string{`cannot read mode "yolo"`}},
		"name":            {"[rule.'My Rule']\nover = 'host'", []string{`rule name "My Rule" cannot be used`}},
		"reserved":        {"[rule.rule-broken]\nover = 'host'", []string{"cannot be used"}},
		"missing":         {"[rule.mine]\nover = 'host'", []string{`custos.toml:1: rule "mine" has no priority`, `rule "mine" has no expr`}},
		"not a table":     {"rule = 3", []string{"custos.toml:1: rule is the number 3"}},
		"dotted":          {"x = 1\nrule.mine.prioriti = 'P1'", []string{"custos.toml:2: unknown key \"prioriti\""}},
		"inline":          {"x = 1\nrule = { mine = { prioriti = 'P1' } }", []string{"custos.toml:2: unknown key \"prioriti\""}},
		"all at once":     {"[rule.oom-kill]\nfor = 'x'\nmode = 'y'\n[rule.log-large]\nexpr = 'z'", []string{":2: ", ":3: ", ":5: "}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Checker{Actions: []string{"rotate-log", "remove-lock", "stop-tree", "clear-build-output", "abort-rebase", "checkout-primary", "remove-worktree", "remove-phase", "notify-terminal"}}.
				Parse("rules.toml", Builtin(), Source{"custos.toml", []byte(c.text)})
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is\n%v\nwant in it\n%s", err, want)
				}
			}
		})
	}
}

// truthOf answers an expression over a snapshot, as the rule of a host.
func truthOf(t testing.TB, expr string, snap *fleet.Snapshot) (Truth, string) {
	t.Helper()
	s, err := (Checker{}).Parse("test", []byte(fmt.Sprintf("[rule.x]\npriority='P3'\nover='host'\nexpr=%q", expr)))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(snap, false)
	v.Subject(fleet.KindHost, &snap.Host.Value)
	return s.Rule("x").Test(v)
}

func TestUnknownIsNeitherTrueNorFalse(t *testing.T) {
	ok := fleet.Sight{Status: fleet.StatusOK}
	snap := &fleet.Snapshot{Host: fleet.Part[fleet.Host]{Sight: ok}, Agents: fleet.Part[[]fleet.Agent]{Sight: ok}}
	h := &snap.Host.Value
	h.Swap.Used = fleet.Known(int64(5))
	h.Memory.Available = fleet.Unknown[int64]("no /proc")
	h.Mounts = []fleet.Mount{{Path: "/", UsedPercent: fleet.Known(95.0)}, {Path: "/dead", UsedPercent: fleet.Unknown[float64]("hung")}}
	snap.Agents.Value = []fleet.Agent{{Name: "a", State: fleet.StateUnknown}, {Name: "b", State: fleet.StateIdle}}
	for expr, want := range map[string]Truth{
		`host.memory.available < 500`:                              Unknown,
		`!(host.memory.available < 500)`:                           Unknown,
		`host.memory.available < 500 || host.swap.used == 5`:       True,
		`host.swap.used == 5 || host.memory.available < 500`:       True,
		`host.memory.available < 500 && host.swap.used == 6`:       False,
		`host.memory.available < 500 && host.swap.used == 5`:       Unknown,
		`host.memory.available == host.memory.available`:           Unknown,
		`host.memory.available < 500 ? true : true`:                Unknown,
		`host.memory.available in [1, 2]`:                          Unknown,
		`mib(host.memory.available) > 0`:                           Unknown,
		`mounts.exists(m, m.used_percent > 80)`:                    True,
		`mounts.exists(m, m.used_percent > 99)`:                    Unknown,
		`mounts.all(m, m.used_percent > 99)`:                       False,
		`mounts.all(m, m.used_percent > 80)`:                       Unknown,
		`mounts.filter(m, m.used_percent > 80).size() > 0`:         Unknown,
		`mounts.exists_one(m, m.used_percent > 80)`:                Unknown,
		`mounts.map(m, m.used_percent).exists(u, u > 80)`:          Unknown,
		`agents.exists(a, a.state == 'idle')`:                      True,
		`agents.exists(a, a.state == 'stuck')`:                     Unknown,
		`agents.exists(a, size(a.pane) > 0)`:                       False,
		`agents.exists(a, size(a.tool) == 0)`:                      True,
		`agents.exists(a, a.tool[0].age > duration('1s'))`:         Broken,
		`agents.exists(a, a.context_percent > 3)`:                  Unknown,
		`size(locks) > 0`:                                          Unknown, // the part was not looked at
		`self.amnesia`:                                             Unknown,
		`dyn(host.memory).available < 3`:                           Broken,
		`1 / (host.swap.used - 5) > 0`:                             Broken,
		`1 / (host.swap.used - 5) > 0 || host.swap.used == 5`:      True,
		`host.oom_kills > 0 && host.memory.available < mib(500)`:   Unknown,
		`now > timestamp('2020-01-01T00:00:00Z') && host.cpus > 0`: False,
	} {
		if got, why := truthOf(t, expr, snap); got != want {
			t.Errorf("%s gives %d (%s), want %d", expr, got, why, want)
		}
	}
	if _, why := truthOf(t, `host.memory.available < 500`, snap); why != "memory.available is not known: no /proc" {
		t.Errorf("why = %q", why)
	}
}

func TestExtraNamesThatWereNotReportedAreUnknown(t *testing.T) {
	e := &fleet.Extra{Name: "gpu", Numbers: map[string]fleet.Leaf[float64]{"temp": fleet.Known(90.0), "fan": fleet.Unknown[float64]("no sensor")}}
	snap := &fleet.Snapshot{Extra: fleet.Part[[]fleet.Extra]{Sight: fleet.Sight{Status: fleet.StatusOK}}}
	for expr, want := range map[string]Truth{
		`extra.numbers['temp'] > 80`:                       True,
		`extra.numbers.temp > 80`:                          True,
		`extra.numbers['fan'] > 80`:                        Unknown,
		`extra.numbers['watts'] > 80`:                      Unknown,
		`extra.numbers['watts'] > 80 || extra.name == 'x'`: Unknown,
		`'watts' in extra.numbers`:                         False,
		`extra.texts['x'] == ''`:                           Unknown,
	} {
		s, err := (Checker{}).Parse("test", []byte(fmt.Sprintf("[rule.x]\npriority='P3'\nover='extra'\nexpr=%q", expr)))
		if err != nil {
			t.Fatal(err)
		}
		v := NewView(snap, false)
		v.Subject(fleet.KindExtra, e)
		if got, why := s.Rule("x").Test(v); got != want {
			t.Errorf("%s gives %d (%s), want %d", expr, got, why, want)
		}
	}
}

func TestStalePartsAreUnknownInAFreshView(t *testing.T) {
	snap := &fleet.Snapshot{Host: fleet.Part[fleet.Host]{Sight: fleet.Sight{Status: fleet.StatusStale, Why: "3m old"}, Value: fleet.Host{CPUs: 4}}}
	s, err := (Checker{}).Parse("test", []byte("[rule.x]\npriority='P3'\nover='host'\nexpr='host.cpus == 4'"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Rule("x").Test(NewView(snap, false)); got != True {
		t.Errorf("as it is: %d", got)
	}
	if got, why := s.Rule("x").Test(NewView(snap, true)); got != Unknown || why != "host is not known: stale (3m old)" {
		t.Errorf("fresh: %d, %s", got, why)
	}
}

func TestTextsForPeople(t *testing.T) {
	for _, c := range [][2]string{
		{bytesText(0), "0 B"}, {bytesText(1023), "1023 B"}, {bytesText(1 << 10), "1 KiB"}, {bytesText(1610612736), "1.5 GiB"}, {bytesText(340 << 20), "340 MiB"}, {bytesText(-2048), "-2 KiB"},
		{durationText(0), "0s"}, {durationText(90 * time.Second), "1m30s"}, {durationText(2 * time.Hour), "2h"}, {durationText(49 * time.Hour), "2d1h"},
		{durationText(3*time.Hour + 20*time.Minute + 5*time.Second), "3h20m"}, {durationText(-time.Minute), "-1m"}, {durationText(12 * time.Millisecond), "12ms"},
		{percentText(82.6), "83 %"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// FuzzParse: no text makes the parser panic, and what it accepts has a
// canonical form that stands.
func FuzzParse(f *testing.F) {
	f.Add(string(Builtin()))
	f.Add("[rule.a]\npriority='P1'\nover='log'\nexpr='log.bytes > 3'\nactions=[{do='x',order='log.bytes desc'}]")
	f.Add("rule = { a = { over = 3 } }\n[[rule.b]]\nx = [1, {y = 2}]")
	f.Add("[rule.a]\nexpr = '''\nhas(x)'''\nfor = '1d'")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := (Checker{}).Parse("fuzz", []byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), "cannot read fuzz:") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		again, err := (Checker{}).Parse("canonical", []byte(s.TOML()))
		if err != nil || again.TOML() != s.TOML() {
			t.Fatalf("canonical form does not stand: %v\n%s", err, s.TOML())
		}
	})
}

func TestDurationsSurviveTheCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := fleet.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "d"))
		if got, err := parseDuration(spanText(d)); err != nil || got != d {
			t.Fatalf("%v became %q and came back as %v, %v", d, spanText(d), got, err)
		}
	})
}

// BenchmarkParse is what every start of Custos pays.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := (Checker{}).Parse("rules.toml", Builtin()); err != nil {
			b.Fatal(err)
		}
	}
}

// Agents that do not run though they should, and terminals that nobody sees, are checks:
// doctor says no less than health does.
func TestAgentsAndTerminalsThatAreDownAreChecks(t *testing.T) {
	want := map[string]string{"agent-crashed": "agents", "terminal-server-gone": "sessions", "terminal-server-stopped": "sessions"}
	for _, r := range builtinSet(t).Rules() {
		if c, is := want[r.Name]; is && r.Category != c {
			t.Errorf("%s is of category %q, want %q", r.Name, r.Category, c)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("there is no rule of %v", want)
	}
}

// The page on doctor names, in the row of its category, every rule that is a check.
func TestThePageOnDoctorNamesTheRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range builtinSet(t).Rules() {
		named := slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			head, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			return strings.Contains(head, "`"+r.Category+"`") && strings.Contains(line, "`"+r.Name+"`")
		})
		if r.Category != "" && !named {
			t.Errorf("docs/doctor.md does not name %s in the row of %s", r.Name, r.Category)
		}
	}
}
