package cli

import (
	"bytes"
	"strings"
	"testing"

	"custos/internal/api"
)

// In 80 columns the names of rules and of agents stand whole, so that they can be
// typed; words and paths give way.
func TestAlertsKeepNames(t *testing.T) {
	words := strings.Repeat("it asks whether it may go on ", 4)
	list := []api.Alert{
		{Number: 1012, Priority: "P2", Rule: "agent-waiting-permission", Subject: "agent/reviewer-of-the-shop-12", For: "3h12m0s", Status: "firing", Summary: words, AckedBy: "somebody-with-a-name"},
		{Number: 3, Priority: "P3", Rule: "worktree-stale", Subject: "worktree//home/me/" + strings.Repeat("deep/", 12) + "end", For: "3h0m0s", Status: "firing", Summary: words},
	}
	var out bytes.Buffer
	p := &page{out: &out, width: 80}
	writeAlertTable(p, list)
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []string{"#1012", "agent-waiting-permission", "agent reviewer-of-the-shop-12", "worktree-stale", "end", "it asks"} {
		if !strings.Contains(out.String(), whole) {
			t.Errorf("%q is not whole in\n%s", whole, out.String())
		}
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if runes(line) > 80 {
			t.Errorf("%d columns: %s", runes(line), line)
		}
	}
}

// What an agent shows keeps to the terminal, and is whole where there is none.
func TestPeekFits(t *testing.T) {
	text := strings.Repeat("x", 150) + "\nshort"
	for terminal, longest := range map[bool]int{true: 80, false: 150} {
		var out bytes.Buffer
		p := &page{out: &out, width: 80}
		writeScreen(p, api.Screen{Text: text}, terminal)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 3 || runes(lines[0]) != longest || lines[1] != "short" || lines[2] != "" {
			t.Errorf("terminal %v: %q", terminal, lines)
		}
	}
}

// What is spent and what may be, in 80 columns, whatever the names and the sums are: what tells most
// stands whole, and a command that is wider goes on as a shell reads it.
func TestMoneyFits(t *testing.T) {
	long, used, percent := strings.Repeat("reviewer-of-the-shop-", 4), 123456.0, 99.0
	budget := api.Budget{Name: "each/" + long, Budget: "each", Scope: "agent", Window: "session", Stage: "hold", Metric: "tokens", Used: &used, Percent: &percent,
		Says: "123456.78 M of 123456.78 M tokens used", TimeToLimit: "23h59m", Raised: strings.Repeat("+500ktokens by somebody ", 4), Hint: "custos budget raise day-of-the-shop +500ktokens --for 2h --why 'the release of it all'"}
	cost := api.CostRow{Key: long, Calls: 1234567, Tokens: 123456789012, Cached: 123456789012, Told: 123456.78, Table: 123456.78, Unpriced: 123456}
	kind := api.Kind{Name: "cursor-agent", From: []string{"/home/me/.config/custos/kinds/cursor-agent.toml"}, Proven: []string{"2.1.330", "2.1.331"}, Path: "/usr/bin/x", Version: "2026.11.24-abcdef0", Outgrown: "2.1.331",
		Never: []string{strings.Repeat("what its helpers do ", 8)}}
	agent := api.AgentRow{Name: long, Kind: "cursor-agent", State: "context_high", Owner: "configured", Reason: strings.Repeat("its registry file says busy ", 4), Outgrown: "1"}
	for name, c := range map[string]struct {
		write func(*page)
		whole []string
	}{
		"budget":      {func(p *page) { writeBudgets(p, api.Budgets{Rows: []api.Budget{budget}}) }, []string{"99 %", "budget raise day-of-the-shop", "--why 'the release of it all'", " \\\n"}},
		"budget show": {func(p *page) { writeBudget(p, budget) }, []string{"each/" + long, "--why 'the release of it all'"}},
		"cost":        {func(p *page) { writeCosts(p, api.Costs{By: "project", Rows: []api.CostRow{cost}, Total: cost}) }, []string{"1234567", "123456"}},
		"kinds":       {func(p *page) { writeKinds(p, api.Kinds{Kinds: []api.Kind{kind}}) }, []string{"cursor-agent", "2026.11.24-abcdef0*"}},
		"ps":          {func(p *page) { writeAgents(p, api.Agents{Agents: []api.AgentRow{agent}}) }, []string{"context_high"}},
	} {
		var out bytes.Buffer
		p := &page{out: &out, width: 80, flags: " --config /home/me/x.toml"}
		c.write(p)
		if err := p.flush(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if runes(line) > 80 && !strings.Contains(line, long) {
				t.Errorf("%s: %d columns: %s", name, runes(line), line)
			}
		}
		for _, whole := range c.whole {
			if !strings.Contains(out.String(), whole) {
				t.Errorf("%s: %q is not whole in\n%s", name, whole, out.String())
			}
		}
	}
}
