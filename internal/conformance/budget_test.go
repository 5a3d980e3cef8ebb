//go:build conformance

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/price"
	"custos/internal/api"
	"custos/internal/fleet"
)

// What the agent of TestBudget may spend, and what it is given on top of that, in millionths
// of a dollar; and how long the model is listened to for what it must not be asked any more.
const (
	budgetOf   = 60_000
	raisedBy   = 30_000
	heldFor    = 5 * time.Second
	holdsLimit = 2 * time.Minute
)

// TestBudget has a real agent call a tool without an end, below a budget: people are told once
// at 80 %, the turn ends with the response that reaches the limit, the model is asked nothing more
// until a person raises it, and then the same process goes on with the same conversation.
func TestBudget(t *testing.T) {
	eachCLI(t, func(t *testing.T, c cli, _ agent.Kind) {
		if c.kind != "claude" {
			t.Skipf("no hook of %s can end its turn", c.kind)
		}
		f := startFleet(t, c, fmt.Sprintf("[budget.loop]\nscope = \"agent\"\nwindow = \"total\"\nusd = %v\n", budgetOf/1e6))
		b := &spending{custos: f}
		defer func() {
			if t.Failed() {
				t.Log(f.tellAll(t))
			}
		}()
		f.home.write(t, ".claude/settings.json", `{"permissions": {"defaultMode": "default", "allow": ["Bash(touch:*)"]}}`)
		f.spawn(t)
		f.say(t, "please "+loopWords)
		b.isHeld(t, budgetOf)
		b.toldOnce(t)
		before := f.show(t)
		f.run(t, nil, "budget", "raise", "loop", fmt.Sprintf("+%vusd", raisedBy/1e6), "--for", "1h")
		b.isHeld(t, budgetOf+raisedBy)
		after := f.show(t)
		if after.Agent.PID != before.Agent.PID || after.Record.Session != before.Record.Session || before.Record.Session == "" {
			t.Errorf("its work was not kept: it was %+v, and is %+v", before.Agent, after.Agent)
		}
	})
}

// spending is a Custos whose agent spends.
type spending struct{ *custos }

// cost is what the model's own account comes to at list prices, response by response, without what
// the CLI asks for itself: Claude Code 2.1.197 writes down neither its title nor its suggestions (TestTokens).
func (b spending) cost(t *testing.T) (sums []int64) {
	t.Helper()
	table, err := price.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, r := range b.home.model.Account() {
		if r.Side {
			continue
		}
		u := price.Of(table, fleet.Usage{Kind: b.cli.kind, Model: r.Model, At: r.At, Tokens: r.Tokens})
		if u.Pricing != fleet.PricedByTable {
			t.Fatalf("model %s has no price", r.Model)
		}
		sum += u.MicroUSD
		sums = append(sums, sum)
	}
	return sums
}

// isHeld: the model is not asked again once the response has come that reaches the limit.
func (b spending) isHeld(t *testing.T, limit int64) {
	t.Helper()
	var sums []int64
	b.until(t, fmt.Sprintf("%d are spent", limit), holdsLimit, func() bool {
		sums = b.cost(t)
		return len(sums) > 0 && sums[len(sums)-1] >= limit
	})
	reached := slices.IndexFunc(sums, func(sum int64) bool { return sum >= limit })
	began := time.Now()
	b.until(t, "the turn has ended", holdsLimit, func() bool {
		if n := len(b.cost(t)); n != len(sums) {
			sums, began = b.cost(t), time.Now()
		}
		return time.Since(began) > heldFor
	})
	if over := len(sums) - 1 - reached; over > 0 {
		t.Errorf("%d of %d micro-dollars were reached by response %d, and %d more came, up to %d", sums[reached], limit, reached+1, over, sums[len(sums)-1])
	}
	b.is(t, "idle")
	var all api.Budgets
	b.run(t, &all, "budget")
	if len(all.Rows) != 1 || all.Rows[0].Used == nil || int64(*all.Rows[0].Used*1e6+0.5) != sums[len(sums)-1] {
		t.Errorf("the model says %d, Custos %+v", sums[len(sums)-1], all.Rows)
	}
}

// toldOnce: of the budget one alert at 80 %, and one when it is used up.
func (b spending) toldOnce(t *testing.T) {
	t.Helper()
	out, err := b.command("feed", "--since", "1h").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, alert := range []string{"P3 budget loop/alpha", "P2 budget loop/alpha"} {
		if n := strings.Count(string(out), alert); n != 1 {
			t.Errorf("%s was told %d times:\n%s", alert, n, out)
		}
	}
}
