package formula

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each file in testdata/cases is a formula, main.toml, with those it builds on,
// and the values given for a run ("vars": name=value). "problems" and "steps"
// say what must come out; UPDATE_CASES=1 writes them, to be read before they
// are kept. A step is written as
//
//	id [who] ← needs | title | description | notes
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := caseOf(a)
			got := map[string]string{"problems": c.problems(), "steps": c.steps()}
			if os.Getenv("UPDATE_CASES") != "" {
				update(t, file, a, got)
			}
			for name, text := range got {
				if d := cmp.Diff(c.file(name), text); d != "" {
					t.Errorf("%s (-want +got):\n%s", name, d)
				}
			}
		})
	}
}

func update(t *testing.T, file string, a *txtar.Archive, got map[string]string) {
	t.Helper()
	var kept []txtar.File
	for _, f := range a.Files {
		if _, ok := got[f.Name]; !ok {
			kept = append(kept, f)
		}
	}
	a.Files = kept
	for _, name := range []string{"problems", "steps"} {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

type oneCase struct {
	a     *txtar.Archive
	found []Problem
	out   Formula
}

func caseOf(a *txtar.Archive) *oneCase {
	c := &oneCase{a: a}
	f, found := Parse("main.toml", []byte(c.file("main.toml")))
	c.add(found)
	if Refused(found) && f.Places["steps"].Line == 0 && len(f.Vars) == 0 {
		return c
	}
	f, found = Resolve(f, c.lookup)
	c.add(found)
	c.add(Check(f, testChecks()))
	c.out, found = Render(f, c.vars())
	c.add(found)
	return c
}

func testChecks() Checks {
	bad := func(text string) error {
		if text == "bad" {
			return errors.New("refused")
		}
		return nil
	}
	return Checks{Uses: []string{"journal", "observe"}, Cron: bad, When: bad, Gate: func(g Gate) error { return bad(g.ID) }}
}

func (c *oneCase) add(found []Problem) { c.found = append(c.found, found...) }

func (c *oneCase) file(name string) string {
	for _, f := range c.a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (c *oneCase) lookup(name string) ([]byte, string, bool) {
	for _, f := range c.a.Files {
		if f.Name == name+".toml" {
			return f.Data, f.Name, true
		}
	}
	return nil, "", false
}

func (c *oneCase) vars() map[string]string {
	vars := map[string]string{}
	for _, line := range strings.Split(c.file("vars"), "\n") {
		if name, v, ok := strings.Cut(line, "="); ok {
			vars[name] = v
		}
	}
	return vars
}

func (c *oneCase) problems() string {
	var b strings.Builder
	for _, p := range problems(c.found).sorted() {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// steps are shown when nothing refuses them.
func (c *oneCase) steps() string {
	if Refused(c.found) {
		return ""
	}
	var b strings.Builder
	for _, s := range c.out.Steps {
		fmt.Fprintf(&b, "%s [%s] ← %s | %s | %s | %s\n", s.ID, by(s), strings.Join(s.Needs, ", "), s.Title, oneLine(s.Description), oneLine(s.Notes))
		if s.Run != nil {
			fmt.Fprintf(&b, "    %q %q %q\n", s.Run.Script, s.Run.Argv, environment(c.out, s))
		}
	}
	if len(c.out.Context.Files) > 0 {
		fmt.Fprintf(&b, "context %q\n", c.out.Context.Files)
	}
	return b.String()
}

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "⏎") }

// environment is what a script of the step finds its variables in: NAME=value,
// sorted.
func environment(f Formula, s Step) []string {
	all := map[string]string{}
	for _, values := range []map[string]string{f.Values, s.Values} {
		for name, v := range values {
			all[EnvName(name)] = v
		}
	}
	var out []string
	for name, v := range all {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}
