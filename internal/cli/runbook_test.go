package cli

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"custos/docs"
)

const sample = "# A page\n\nFirst *line*, and\nthe **second**, with [a page](config.md#budget), [a runbook](runbooks/locks.md), [one that stays](style.md), [the web](https://x.test) and `a command` that go on.\n\n" +
	"## Steps\n\n- one\n- two is long, and goes on in a line of its own below\n\n1. first\n2. second\n\n```sh\ncustos patrol --apply --that is --not broken --whatever the --width is\n```\n\n" +
	"| key | what | note |\n|---|---|---|\n| `a` | is a | – |\n| `b` | is b, by far the longest of the two there are | see [rules](rules.md) |\n\n<br>\n"

// The apostrophes stand for backquotes.
var sampleShown = strings.ReplaceAll(`A page

First line, and the second, with a page ('custos help
config.md'), a runbook ('custos runbook locks'), one
that stays, the web (https://x.test) and 'a command'
that go on.

Steps

- one
- two is long, and goes on in a line of its own below

1. first
2. second

    custos patrol --apply --that is --not broken --whatever the --width is

  'a'
      what: is a
  'b'
      what: is b, by far the longest of the two there
      are
      note: see rules ('custos help rules.md')
`, "'", "`")

func TestAPageIsShownOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := &page{out: &out, width: 56}
	p.markdown(docs.Page{Text: sample}, "")
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if out.String() != sampleShown {
		t.Errorf("it shows\n%s\nwant\n%s", out.String(), sampleShown)
	}
}

// unrendered is Markdown that is neither code nor a command.
var unrendered = regexp.MustCompile("(?m)^ {0,3}[^ `]*(\\]\\(|\\*\\*|```|\\|--)")

func runDocs(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), Env{Args: args, Stdout: &stdout, Stderr: &stderr, Width: 72, Getenv: func(string) string { return "" }})
	return code, stdout.String(), stderr.String()
}

// Every page that there is can be read by the command that the list names, to its end, and
// each of its links leads somewhere.
func TestEveryPageIsReadFromTheBinary(t *testing.T) {
	for folder, pages := range map[string][]docs.Page{"runbooks": docs.Runbooks(), ".": docs.Pages()} {
		if len(pages) < 15 {
			t.Fatalf("%d pages in %s", len(pages), folder)
		}
		for _, pg := range pages {
			command := strings.Fields(pageCommand(path.Join(folder, pg.Name+".md")))
			code, out, said := runDocs(t, command[1:]...)
			if code != exitWell || !strings.HasPrefix(out, pg.Title+"\n") || unrendered.MatchString(out) {
				t.Errorf("%v ended with %d: %s\n%.400s", command, code, said, out)
			}
		}
	}
}

func TestPagesAreFoundByName(t *testing.T) {
	for _, c := range []struct {
		args      string
		code      int
		out, said string
	}{
		{"runbook", exitWell, "A lock whose process is gone", ""},
		{"runbook locks", exitWell, "What Custos does", ""},
		{"runbook locks --json", exitWell, `"title": "A lock whose process is gone"`, ""},
		{"runbook lock", exitUse, "", `there is no runbook "lock", did you mean "locks"?`},
		{"runbook ../config", exitUse, "", "there is no runbook"},
		{"help pages", exitWell, "Adding a kind of agent", ""},
		{"help simulate", exitWell, "Usage:", ""},
		{"help simulate.md", exitWell, "tells stories", ""},
		{"help states", exitWell, "What an agent is doing", ""},
		{"help states --json", exitWell, `"name": "states"`, ""},
		{"help nothing.md", exitUse, "", "there is no such command"},
	} {
		code, out, said := runDocs(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(said, c.said) {
			t.Errorf("custos %s ended with %d: %s\n%.300s", c.args, code, said, out)
		}
	}
}

// What a help names of pages is there: `custos help x.md`, `custos runbook x`.
func TestWhatTheHelpNamesIsThere(t *testing.T) {
	named := regexp.MustCompile(`custos (help [a-z-]+\.md|runbook [a-z-]+)`)
	found := 0
	for _, c := range leaves(testRoot()) {
		for _, m := range named.FindAllStringSubmatch(commandHelp(c), -1) {
			found++
			if code, _, said := runDocs(t, strings.Fields(m[1])...); code != exitWell {
				t.Errorf("the help of %s names %q: %s", c.CommandPath(), m[0], said)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d pages are named", found)
	}
}

// forWhoChanges are what only who changes Custos has: a file of the tree by its path, a test, and
// what builds or tests it.
var forWhoChanges = regexp.MustCompile(`[\w.*-]+(/[\w.*-]+)+|\b\w+_test\.go\b|\b[a-z]+\.Test[A-Z]\w+|\bgo (test|run) \S+|\bmake (build|docs|check|test|conformance|night|evening)\b`)

// ofCheckout is what pages name of the tree for who has a checkout, and say so: what an image is
// made of, and how it is built from source.
var ofCheckout = map[string][]string{
	"edge.md":    {"deploy/edge", "deploy/edge/Dockerfile", "deploy/edge/disinto/.", ".git/info/exclude", "make build"},
	"install.md": {"./cmd/custos", "./cmd/custos-hook"},
	"upgrade.md": {"make build", "bin/custos", "bin/custos-hook", "bin/custos-shim"}, // which are there once it was built
}

// linksOf are where the links of a page lead.
var linksOf = regexp.MustCompile(`\]\(([^)#\s]+)[^)\s]*\)`)

// A page in the binary names nothing that an installed user does not have: no file of the tree,
// no test, and no page that the binary lacks.
func TestPagesNameNothingThatAnInstalledUserLacks(t *testing.T) {
	all, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(all) < 30 {
		t.Fatal(all, err)
	}
	for folder, pages := range map[string][]docs.Page{"runbooks": docs.Runbooks(), ".": docs.Pages()} {
		for _, pg := range pages {
			pg, _ = map[string]func(string) (docs.Page, bool){"runbooks": docs.Runbook, ".": docs.Get}[folder](pg.Name)
			name := path.Join(folder, pg.Name+".md")
			for _, named := range forWhoChanges.FindAllString(pg.Text, -1) {
				found, _ := filepath.Glob("../../" + named)
				if slices.Contains(ofCheckout[name], named) {
					continue
				}
				if len(found) > 0 && named != "formulas/*.toml" || !strings.Contains(named, "/") || strings.HasPrefix(named, "internal/") {
					t.Errorf("%s names %s", name, named)
				}
			}
			for _, link := range linksOf.FindAllStringSubmatch(pg.Text, -1) {
				if !strings.HasPrefix(link[1], "http") && pageCommand(path.Join(folder, link[1])) == "" {
					t.Errorf("%s leads to %s", name, link[1])
				}
			}
			for _, file := range all {
				file = filepath.Base(file)
				if strings.Contains(pg.Text, file) && pageCommand(file) == "" {
					t.Errorf("%s names %s", name, file)
				}
			}
		}
	}
}
