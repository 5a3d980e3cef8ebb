package chromiumtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/cdproto/page"
)

// Axe is axe-core, which finds what keeps people from using a page; "" where it is not here.
// scripts/axe gets it from npm.
func Axe() (script string, err error) {
	path := os.Getenv("CUSTOS_AXE")
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// Audited has the pages that are opened from now on take a script of the test's own, which
// their Content-Security-Policy forbids.
func (c *Tab) Audited() {
	c.T.Helper()
	Call(c, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
}

// fault is a rule of axe-core that the page breaks.
type fault struct {
	ID     string `json:"id"`
	Help   string `json:"help"`
	Impact string `json:"impact"`
	Nodes  []struct {
		HTML string `json:"html"`
		Why  string `json:"failureSummary"`
	} `json:"nodes"`
}

// Faults are what axe-core finds of the page as it is shown now, by WCAG 2.2 A and AA and
// what goes as good practice; kept are the rules that found what they are for, and it well.
func (c *Tab) Faults(axe string) (found string, kept []string) {
	c.T.Helper()
	type answer struct {
		Faults []fault  `json:"faults"`
		Kept   []string `json:"kept"`
	}
	got := Evaluate[json.RawMessage](c, axe+`;
axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
  .then(r => ({kept: r.passes.map(p => p.id), faults: r.violations.map(v => ({id: v.id, help: v.help, impact: v.impact, nodes: v.nodes.slice(0, 5).map(n => ({html: n.html, failureSummary: n.failureSummary}))}))}))`)
	var a answer
	if err := json.Unmarshal(got, &a); err != nil {
		c.T.Fatal(err)
	}
	var b strings.Builder
	for _, f := range a.Faults {
		fmt.Fprintf(&b, "%s (%s): %s\n", f.ID, f.Impact, f.Help)
		for _, n := range f.Nodes {
			fmt.Fprintf(&b, "  %.300s\n    %s\n", n.HTML, strings.ReplaceAll(n.Why, "\n", " "))
		}
	}
	return b.String(), a.Kept
}
