package runstep_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"custos/internal/fleet"
)

// What the report of a step says is a fact once the step has ended, whatever its end; of a report that
// is not there, is not its own, or leads elsewhere, it is said why nothing is known.
func TestReportsOfSteps(t *testing.T) {
	const one = `<testsuite><testcase name="a"/><testcase classname="c" name="b"><failure/></testcase></testsuite>`
	write := "printf '%s' '" + one + "'"
	g := newGround(t,
		fleet.RunStep{ID: "fails", Report: "sub/r.xml", Script: "mkdir sub; " + write + " > sub/r.xml; exit 1"},
		fleet.RunStep{ID: "passes", Report: "r2.xml", Script: write + " > r2.xml"},
		fleet.RunStep{ID: "prints", Report: fleet.ReportOutput, Script: "echo words first; " + write},
		fleet.RunStep{ID: "none", Script: write + " > r3.xml"},
		fleet.RunStep{ID: "missing", Report: "r4.xml", Script: "exit 1"},
		fleet.RunStep{ID: "cut", Report: "r5.xml", Script: write + " | head -c 90 > r5.xml"},
		fleet.RunStep{ID: "old", Report: "old.xml", Script: "exit 1"},
		fleet.RunStep{ID: "out", Report: "out.xml", Script: "ln -s " + t.TempDir() + "/secret.xml out.xml"},
		fleet.RunStep{ID: "pipe", Report: "pipe", Script: "exit 1"},
		fleet.RunStep{ID: "secret", Report: "r6.xml", Script: `printf '<testsuite><testcase name="password=hunter2hunter2 \033[2J"><failure/></testcase></testsuite>' | tr -d '\033' > r6.xml`})
	old := filepath.Join(g.dir, "old.xml")
	before := time.Now().Add(-time.Hour)
	err := os.WriteFile(old, []byte(one), 0o600)
	if err == nil {
		err = os.Chtimes(old, before, before)
	}
	if err == nil {
		err = syscall.Mkfifo(filepath.Join(g.dir, "pipe"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := fleet.TestReport{Ran: 2, Failed: []string{"c b"}}
	for id, want := range map[string]fleet.TestReport{
		"fails": found, "passes": found, "prints": found, "none": {},
		"missing": {Why: "cannot read its report r4.xml: it is not there"},
		"old":     {Why: "cannot read its report old.xml: it was there before the step began"},
		"pipe":    {Why: "cannot read its report pipe: not a regular file"},
	} {
		g.begin(id)
		if f := g.await(id, fleet.ProcEnded); !reflect.DeepEqual(f.Tests, want) {
			t.Errorf("%s: %+v, want %+v", id, f.Tests, want)
		}
	}
	for id, why := range map[string]string{"cut": "it ends in its middle", "out": "cannot read its report out.xml: "} {
		g.begin(id)
		if f := g.await(id, fleet.ProcEnded); !strings.Contains(f.Tests.Why, why) || len(f.Tests.Failed) > 1 {
			t.Errorf("%s: %+v", id, f.Tests)
		}
	}
	g.begin("secret")
	if f := g.await("secret", fleet.ProcEnded); len(f.Tests.Failed) != 1 || slices.ContainsFunc(f.Tests.Failed, func(s string) bool { return strings.Contains(s, "hunter2") }) {
		t.Errorf("%+v", f.Tests)
	}
}
