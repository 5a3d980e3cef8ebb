package registry

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A pool of several accounts starts each worker with the one in use, with the next when that is
// at its limit, and none where all are, which it says. Who runs keeps the account it has.
func TestAPoolOfSeveralAccounts(t *testing.T) {
	y := newYard(0, 4)
	y.pool.Accounts = []string{"work", "own"}
	starts := func(what, account, held string) {
		t.Helper()
		out := y.pass()
		if len(out.Given) != 1 && account != "" || account != "" && out.Given[0].Spawn.Account != account || account == "" && len(out.Given) > 0 {
			t.Errorf("%s: given %+v; want one with account %q", what, out.Given, account)
		}
		if got := heldNow(out.Held); got != held {
			t.Errorf("%s: held back is %s; want %s", what, got, held)
		}
		y.carryOut()
		y.now += 10 * time.Minute
	}
	limit := func(name string, until time.Duration) {
		a := y.agents[name]
		a.Name, a.Instance, a.State, a.RateLimitedAt, a.RateLimitedUntil = name, y.regs[y.find(name)].Instance, fleet.StateRateLimited, y.at(), y.at().Add(until)
		y.agents[name] = a
	}
	busy := func(n int) { y.wait(n) }
	busy(1)
	starts("the first", "work", "")
	first := y.regs[0].Name
	limit(first, time.Hour)
	busy(1)
	starts("another, as the first is limited", "own", "")
	second := y.regs[1].Name
	limit(second, 30*time.Minute)
	busy(1)
	starts("none, as both are", "", "pool/dev 2 workers > 3 workers (gate: all its accounts are at their limits: work, own until 08:50; custos resume --account work)")
	if y.regs[0].Account != "work" || y.regs[1].Account != "own" {
		t.Errorf("an agent that runs has another account: %+v", y.regs)
	}
	y.now += 25 * time.Minute
	starts("the one that is reset", "own", "")
}
