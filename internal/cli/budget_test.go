package cli

import (
	"strings"
	"testing"

	"custos/internal/api"
)

// What is words about budgets fits into a terminal of 80 columns; a command stays one line, to be copied.
func TestBudgetsFitIntoATerminal(t *testing.T) {
	long := strings.Repeat("words that go on and on ", 8)
	b := api.Budget{Name: "each/builder-of-the-shop", Budget: "each", Scope: "agent", Window: "session", Says: "at least 1.2M tokens of 1.5M tokens", Stage: "hold", Blind: long, Raised: long, TimeToLimit: "10m",
		Agents: []string{"builder-of-the-shop"}, Hint: "custos budget raise each/builder-of-the-shop +1Mtokens --for 2h"}
	all := api.Budgets{Unknown: long, Rows: []api.Budget{b}}
	for what, write := range map[string]func(*page){
		"list": func(p *page) { writeBudgets(p, all) }, "show": func(p *page) { writeBudget(p, b) },
		"left": func(p *page) { writeLeft(p, api.SpendLeft{Says: []string{long, "short"}}) },
	} {
		p := &page{width: 80}
		write(p)
		for line := range strings.Lines(p.buf.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 && !strings.Contains(line, "→") {
				t.Errorf("%s: %d columns: %s", what, n, line)
			}
		}
		if p.buf.Len() == 0 {
			t.Errorf("%s: nothing", what)
		}
	}
}
