package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checks of a world that knows one event, one expression and one cron.
func checks() Checks {
	only := func(good string) func(string) error {
		return func(got string) error {
			if got != good {
				return errors.New("no " + got)
			}
			return nil
		}
	}
	return Checks{When: only("host.cpus > 1"), On: only("startup"), Cron: func(expr, zone string) error { return only("0 9 * * * UTC")(expr + " " + zone) }}
}

const whole = `+++
name = "backup" # a comment with " and '''
description = """
Three lines
+++
and \""" no end."""
version = 2
run = ["./go.sh", "a b"]
env = ["TOKEN_FILE"]
parallel = true
[gate]
type = "cooldown"
duration = "1w2d12h"
[tracking]
labels = ["plugin:backup", "category:data"]
digest = true
[execution]
type = "script"
timeout = "5m"
notify_on_failure = true
severity = "high"
+++
# Prose
+++
`

func TestWhole(t *testing.T) {
	p, problems := Parse("plugin.md", []byte(whole))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	want := 9*24*time.Hour + 12*time.Hour
	if p.Name != "backup" || !strings.Contains(p.Description, "+++\nand") || p.Version != "2" || p.Gate.Type != Cooldown || p.Gate.Duration != want || !p.Parallel || p.Disabled ||
		strings.Join(p.Run, "|") != "./go.sh|a b" || strings.Join(p.Env, "|") != "TOKEN_FILE" || len(p.Labels) != 2 || !p.Digest || p.How != ByScript || p.Timeout != 5*time.Minute ||
		!p.Notify || p.Severity != "P2" || p.Body != "# Prose\n+++" {
		t.Errorf("%+v", p)
	}
	for key, line := range map[string]int{"name": 2, "gate": 11, "gate.duration": 13, "gate.on": 11, "execution.severity": 21, "nosuch": 1} {
		if p.Line(key) != line {
			t.Errorf("%s is in line %d, want %d", key, p.Line(key), line)
		}
	}
	if _, problems = Check(p, Folder{Name: "x"}, checks()); len(problems) != 1 || problems[0].Severity != Warning || problems[0].Line != 14+2 {
		t.Error(problems)
	}
}

// The same in YAML; a key may be written as one text, and a command of plain words.
func TestYAML(t *testing.T) {
	p, problems := Parse("plugin.md", []byte("\ufeff---\r\nname: b\ndescription: |\n  --- not the end\n  +++\ngate: {type: condition, check: test -e /tmp/flag, timeout: 5s, duration: 1d}\ntracking:\n  labels: one\nexecution: {severity: P0}\n--- \nGo.\n"))
	if len(problems) != 0 || p.Gate.Type != Condition || strings.Join(p.Gate.Check, "|") != "test|-e|/tmp/flag" || p.Gate.Timeout != 5*time.Second || p.Gate.Duration != 24*time.Hour ||
		p.Labels[0] != "one" || p.Severity != "P0" || p.Body != "Go." || !strings.HasPrefix(p.Description, "--- not") {
		t.Errorf("%+v, %v", p, problems)
	}
	if p.Line("gate.check") != 6 || p.Line("tracking.labels") != 8 {
		t.Errorf("lines %d and %d", p.Line("gate.check"), p.Line("tracking.labels"))
	}
}

const manual = "[gate]\ntype = \"manual\"\n"

func inTOML(text string) string { return "+++\n" + text + "+++\n" }

// Every way to be wrong, with its line, and what is said.
func TestRefused(t *testing.T) {
	gate := func(text string) string { return inTOML("[gate]\n" + text) }
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"", 1, "no front matter"},
		{"# Title\n---\n", 1, "no front matter"},
		{"---\nname: x\n", 1, "no end: want a line ---"},
		{"+++\nname = '''x\n+++\n", 1, "is never closed"},
		{"+++\nname = \"x\ny\"\n+++\n", 3 - 1, "a text has no closing quote"},
		{"+++\nname = x\n+++\n", 2, "this is no value: a text stands in quotes"},
		{"---\nname: [x\n---\n", 2, "cannot read YAML"},
		{"---\n- name\n---\n", 2, "want keys and values"},
		{"---\na: &a [x]\nname: *a\n---\n", 3, "is an alias"},
		{"---\nname: a\nname: b\n---\n", 3, "twice"},
		{"---\nname:\ngate: {type: manual}\n---\n", 2, "name has no value"},
		{inTOML("naem = \"x\"\n" + manual), 2, `unknown key "naem", did you mean "name"?`},
		{inTOML("timeout = \"5m\"\n" + manual), 2, `unknown key "timeout"; timeout belongs into gate`},
		{inTOML("severity = \"P1\"\n" + manual), 2, `severity belongs into execution`},
		{inTOML("name = \"x\"\n"), 1, "there is no gate"},
		{inTOML("gate = \"manual\"\n"), 2, "gate is a text, want a table"},
		{inTOML("name = \"../x\"\n" + manual), 2, `name "../x"`},
		{inTOML("name = [1]\n" + manual), 2, "name is a list, want a text"},
		{inTOML("parallel = \"yes\"\n" + manual), 2, "want true or false"},
		{inTOML("env = [\"A=b\"]\n" + manual), 2, "only names stand here"},
		{inTOML("run = \"rm -rf $HOME; x\"\n" + manual), 2, "no shell reads it"},
		{inTOML("run = []\n" + manual), 2, "run names no program"},
		{inTOML("run = [1]\n" + manual), 2, "no text"},
		{inTOML(manual + "[execution]\ntype = \"scirpt\"\n"), 5, `did you mean "script"?`},
		{inTOML(manual + "[execution]\ntype = \"exec-wrapper\"\n"), 5, "no wrapper"},
		{inTOML(manual + "[execution]\nseverity = \"hihg\"\n"), 5, `did you mean "high"?`},
		{inTOML(manual + "[execution]\ntimeout = 300\n"), 5, "is a number, want a duration"},
		{gate("duration = \"1h\"\n"), 2, "the gate has no type"},
		{gate("type = \"cooldwn\"\n"), 3, `did you mean "cooldown"?`},
		{gate("type = \"cooldown\"\n"), 3, "wants a duration"},
		{gate("type = \"cooldown\"\nduration = \"7x\"\n"), 4, "is no duration"},
		{gate("type = \"cooldown\"\nduration = \"0s\"\n"), 4, "more than nothing"},
		{gate("type = \"cooldown\"\nduration = \"10ms\"\n"), 4, "less than a second"},
		{gate("type = \"cooldown\"\nduration = \"9999w\"\n"), 4, "less than ten years"},
		{gate("type = \"cooldown\"\nduration = \"1h\"\non = \"startup\"\n"), 5, "a gate of type cooldown has none; one of type event has"},
		{gate("type = \"cron\"\n"), 3, "wants a schedule"},
		{gate("type = \"cron\"\nschedule = \"0 3 * * *\"\nhosts = \"ech\"\n"), 5, `gate.hosts is "ech", want each or one, did you mean "each"?`},
		{gate("type = \"cooldown\"\nduration = \"1h\"\nhosts = \"one\"\n"), 5, "only the times of one of type cron are the same on all"},
		{gate("type = \"event\"\n"), 3, "wants on"},
		{gate("type = \"condition\"\n"), 3, "either when"},
		{gate("type = \"condition\"\nwhen = \"x\"\ncheck = [\"y\"]\n"), 3, "either when"},
		{gate("type = \"condition\"\ncheck = [\"y\"]\ntimeout = \"2m\"\n"), 5, "at most 1m0s"},
		{gate("type = \"condition\"\nwhen = \"y\"\ntimeout = \"2s\"\n"), 5, "how long check may take"},
	} {
		_, problems := Parse("p.md", []byte(c.text))
		found := false
		for _, p := range problems {
			found = found || p.Severity == Error && p.Line == c.line && strings.Contains(p.Text, c.want)
		}
		if !found {
			t.Errorf("%q: %v, want line %d: %s", c.text, problems, c.line, c.want)
		}
	}
	for _, data := range [][]byte{make([]byte, MaxBytes+1), []byte("---\n\xff\n---\n")} {
		if _, problems := Parse("p.md", data); !Refused(problems) {
			t.Errorf("%d bytes were taken", len(data))
		}
	}
}

// What there is to run is settled with the folder; what the gate names is asked.
func TestCheck(t *testing.T) {
	script := Folder{Name: "dir", Script: true, Executable: true}
	for _, c := range []struct {
		text string
		dir  Folder
		how  How
		want string // "" is good
	}{
		{inTOML(manual), script, ByScript, ""},
		{inTOML(manual) + "Do it.", script, ByScript, ""},
		{inTOML(manual) + "Do it.", Folder{Name: "dir"}, ByAgent, ""},
		{inTOML("run = [\"true\"]\n" + manual), Folder{Name: "dir"}, ByScript, ""},
		{inTOML(manual+"[execution]\ntype = \"agent\"\n") + "Do it.", script, ByAgent, ""},
		{inTOML("[gate]\ntype = \"event\"\non = \"startup\"\n"), script, ByScript, ""},
		{inTOML("[gate]\ntype = \"cron\"\nschedule = \"0 9 * * *\"\nzone = \"UTC\"\n"), script, ByScript, ""},
		{inTOML("[gate]\ntype = \"condition\"\nwhen = \"host.cpus > 1\"\n"), script, ByScript, ""},
		{inTOML(manual), Folder{Name: "dir"}, ByAgent, "p.md:1: error: there is nothing to do"},
		{inTOML(manual), Folder{Name: "dir", Script: true}, ByScript, "run.sh may not be executed: chmod +x it"},
		{inTOML(manual + "[execution]\ntype = \"script\"\n"), Folder{Name: "dir"}, ByScript, "p.md:5: error: there is nothing to run"},
		{inTOML(manual + "[execution]\ntype = \"agent\"\n"), script, ByAgent, "no text for an agent"},
		{inTOML("run = [\"true\"]\n"+manual+"[execution]\ntype = \"agent\"\n") + "x", script, ByAgent, "p.md:2: error: run: a plugin of type agent has none"},
		{inTOML(manual), Folder{Name: "no name", Script: true, Executable: true}, ByScript, "cannot be one"},
		{inTOML("[gate]\ntype = \"event\"\non = \"startp\"\n"), script, ByScript, "p.md:4: error: gate.on: no startp"},
		{inTOML("[gate]\ntype = \"cron\"\nschedule = \"x\"\n"), script, ByScript, "p.md:4: error: gate.schedule: no x"},
		{inTOML("[gate]\ntype = \"condition\"\nwhen = \"x\"\n"), script, ByScript, "p.md:4: error: gate.when: no x"},
	} {
		p, problems := Parse("p.md", []byte(c.text))
		if len(problems) > 0 {
			t.Fatalf("%q: %v", c.text, problems)
		}
		p, problems = Check(p, c.dir, checks())
		if p.How != c.how || (c.want == "") != (len(problems) == 0) || c.want != "" && !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%q: %s, %v, want %s, %q", c.text, p.How, problems, c.how, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "7d": 168 * time.Hour, "2w": 336 * time.Hour, "1d12h": 36 * time.Hour,
		"": 0, "d": 0, "1h2d": 0, "-1h": 0, "+1h": 0, "5": 0, "1d\n1h": 0, "1d-1h": 0} {
		if d, err := duration(text); d != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, %v", text, d, err)
		}
	}
}

// The example of the docs is one that runs.
func TestExample(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "examples", "plugins", "disk-report")
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	p, problems := Parse(File, text)
	info, err := os.Stat(filepath.Join(dir, Script))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if _, problems = Check(p, Folder{Name: filepath.Base(dir), Script: true, Executable: info.Mode()&0o111 != 0}, checks()); len(problems) > 0 {
		t.Error(problems)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "plugins.md"))
	run, errRun := os.ReadFile(filepath.Join(dir, Script))
	if err != nil || errRun != nil || !strings.Contains(string(page), string(text)) || !strings.Contains(string(page), string(run)) {
		t.Errorf("docs/plugins.md shows another one: %v, %v", err, errRun)
	}
}

// FuzzParse: any bytes are read without a panic, every problem has a place in the
// file, and what was taken holds what its gate cannot do without.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{whole, inTOML(manual), "---\nname: b\ngate: {type: condition, check: test -e x}\n---\n", "+++\na='''\n+++\n'''\n+++\n",
		"---\na: &a [*a]\n---\n", "---\n? [x]\n: y\n---\n", "+++\r\ngate = { type = \"cron\", schedule = \"@daily\" }\r\n+++\r\n", "---\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, problems := Parse("p.md", data)
		lines := strings.Count(string(data), "\n") + 2
		for _, x := range problems {
			if x.Line < 1 || x.Line > lines || x.Text == "" {
				t.Errorf("%+v of %d lines", x, lines)
			}
		}
		if Refused(problems) {
			return
		}
		switch g := p.Gate; {
		case g.Type == Cooldown && g.Duration < time.Second, g.Type == Cron && g.Schedule == "", g.Type == Event && g.On == "",
			g.Type == Condition && (g.When == "") == (len(g.Check) == 0), g.Type == "":
			t.Errorf("it was taken: %+v", g)
		}
	})
}
