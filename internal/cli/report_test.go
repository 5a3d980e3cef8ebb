package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"custos/internal/api"
)

// The morning page as a person reads it, on terminals of 80 and of 120 columns.
func TestReportPage(t *testing.T) {
	ar, err := txtar.ParseFile("../server/testdata/report/morning.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var r api.Report
	for _, f := range ar.Files {
		if f.Name == "report.json" {
			if err := json.Unmarshal(f.Data, &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(r.Agents) == 0 {
		t.Fatal("there is no page")
	}
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		p := &page{out: &out, width: width}
		writeReport(p, r)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata/report", fmt.Sprintf("%d.txt", width))
		if *update {
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out.String()); d != "" {
			t.Errorf("at %d columns (go test ./internal/cli -run TestReportPage -update):\n%s", width, d)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if runes(line) > width {
				t.Errorf("at %d columns a line has %d: %s", width, runes(line), line)
			}
		}
	}
}

// What programs and people wrote does not steer the terminal.
func TestReportPageIsClean(t *testing.T) {
	evil := "x\x1b[31my\nz"
	n := 1
	var out bytes.Buffer
	p := &page{out: &out, width: 80}
	writeReport(p, api.Report{Agents: []api.ReportAgent{{Name: evil, State: evil, Reason: evil, Failed: evil, Worktree: "/w", Commits: &n, Made: []string{evil},
		Pulls: []api.ReportPull{{Name: evil, Checks: evil, Failed: []string{evil}}}}},
		Did: []api.ReportDeed{{Do: evil, Subject: evil, Result: evil, Text: evil}}, Refused: []api.ReportRefusal{{Do: evil, Subject: evil, Guard: evil, Why: evil, Hint: evil}},
		Alerts: []api.ReportAlert{{Rule: evil, Subject: evil}}, NotSeen: []api.PartSeen{{Part: evil, Why: evil}}, Waits: []api.Need{{Subject: evil, Summary: evil, Command: evil}}})
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("%q", out.String())
	}
}
