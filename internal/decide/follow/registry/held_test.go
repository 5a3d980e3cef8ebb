package registry

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// heldNow is what a pass would follow and does not, in words.
func heldNow(list []fleet.HeldMove) (out string) {
	for _, h := range list {
		until := ""
		if !h.Until.IsZero() {
			until = " until " + h.Until.Wall.Format("15:04")
		}
		if h.Hint != "" {
			until += "; " + h.Hint
		}
		out += fmt.Sprintf("%s %s > %s (%s: %s%s)", h.Record, h.From, h.To, h.Guard, h.Held, until)
	}
	return out
}

// TestHeldPools: a pool that would start workers, and does not, says why.
func TestHeldPools(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*yard)
		begin  int
		held   string
	}{
		"it starts all":        {change: func(y *yard) { y.wait(2) }, begin: 2},
		"nothing waits":        {change: func(*yard) {}},
		"more than the most":   {change: func(y *yard) { y.wait(5) }, begin: 3, held: "pool/dev 0 workers > 5 workers (limit: 3 is the most)"},
		"not seen":             {change: func(y *yard) { y.wait(2); y.blind = true }, held: "pool/dev  > as many workers as there is work (evidence: agents is stale; custos preflight)"},
		"its work is not seen": {change: func(y *yard) { y.deaf = true }, held: "pool/dev 0 workers > as many workers as there is work (evidence: it is not known how much work waits in shop; custos preflight)"},
		"its section":          {change: func(y *yard) { y.wait(2); y.pool.Disabled = true }, held: "pool/dev 0 workers > 2 workers (person-stopped: its section says enabled = false)"},
		"its section, no work": {change: func(y *yard) { y.pool.Disabled = true }},
		"the past is lost":     {change: func(y *yard) { y.wait(2); y.amnesia = true }, held: "pool/dev  > as many workers as there is work (evidence: what was known is lost until a person confirms it; custos alerts)"},
		"the most was lowered": {change: func(y *yard) {
			y.wait(2)
			y.pass()
			y.carryOut()
			y.wait(0)
			y.pool.Max = 1
		}},
		"it has as many as it may": {change: func(y *yard) {
			y.wait(3)
			y.pass()
			y.carryOut()
			y.deaf = true
		}},
		"nobody works there": {change: func(y *yard) { y.dormant = true }},
	} {
		y := newYard(0, 3)
		c.change(y)
		out := y.look()
		if held := heldNow(out.Held); len(out.Given) != c.begin || held != c.held {
			t.Errorf("%s: %d begin, and held back is\n %s\nwant %d, and\n %s", name, len(out.Given), held, c.begin, c.held)
		}
	}
}

// TestHeldHandoffs: each stage of a hand-off says what it waits for, and until when.
func TestHeldHandoffs(t *testing.T) {
	d := newDesk()
	expect := func(what, want string) {
		t.Helper()
		if got := heldNow(d.look().Held); got != want {
			t.Errorf("%s: held back is\n %s\nwant\n %s", what, got, want)
		}
	}
	expect("nothing holds it", "")
	d.agent.State = fleet.StateWorking
	expect("at work", "agent/dev  > hand-off asked (state: its turn is not over)")
	d.agent.State, d.reg.PromptState = fleet.StateIdle, fleet.DeliverySent
	expect("a prompt on its way", "agent/dev  > hand-off asked (in-flight: it was not seen to have its first prompt yet)")
	d.reg.PromptState = fleet.DeliveryAcknowledged
	d.pass()
	expect("asked", "agent/dev hand-off asked > hand-off written (state: it was asked at 2026-11-22 08:00:00Z, and has written nothing yet until 08:10)")
	d.settle("handoff-i1-ask", fleet.ResultDone, "")
	d.write(t, "All but the tests is done.")
	d.pass()
	expect("saving", "agent/dev hand-off saving > hand-off stopping (in-flight: its checkpoint is not made yet)")
	o := d.orders["handoff-i1-save"]
	o.State, o.Guard, o.Why, o.Until = fleet.OrderQueued, fleet.GuardFrozen, "ann: wait", d.at().Add(time.Hour)
	d.orders[o.ID] = o
	expect("saving, frozen", "agent/dev hand-off saving > hand-off stopping (frozen: ann: wait until 09:00)")
	d.settle("handoff-i1-save", fleet.ResultDone, "")
	d.agent.State = fleet.StateWorking
	expect("saved", "agent/dev hand-off saving > hand-off stopping (state: its turn is not over)")
	d.blind = true
	expect("saved, unseen", "agent/dev hand-off saving > hand-off stopping (evidence: it is not seen now)")
	d.blind, d.agent.State, d.reg.Desired = false, fleet.StateIdle, fleet.DesiredPaused
	expect("paused", "agent/dev hand-off saving > hand-off stopping (paused: it is to be paused; custos resume dev)")
	d.reg.Desired = fleet.DesiredRunning
	d.pass()
	expect("stopping", "agent/dev hand-off stopping > hand-off starting (in-flight: it is being ended)")
	d.dies(fleet.ByCustos)
	d.settle("handoff-i1-stop", fleet.ResultDone, "")
	d.pass()
	expect("starting", "agent/dev hand-off starting > hand-off done (in-flight: the fresh one is being started)")
	d.starts("i2")
	d.settle("handoff-i1-start", fleet.ResultDone, "")
	d.pass()
	expect("done", "")
}

// TestAPoolDoesNotOrderTwice: an order that came to nothing is not given again under the
// same name, of which nothing would come; the pool rests until the next ten minutes.
func TestAPoolDoesNotOrderTwice(t *testing.T) {
	y := newYard(1, 3)
	y.pass()
	o := y.orders[0]
	o.State, o.Why = fleet.OrderRefused, "ann took it back"
	y.orders, y.tried = nil, []fleet.Order{o}
	out := y.look()
	want := "pool/dev 0 workers > 1 worker (cooldown: order pool-dev-261122-0800-1 came to nothing: ann took it back until 08:10)"
	if got := heldNow(out.Held); len(out.Given) != 0 || out.Wake || got != want {
		t.Errorf("given %+v, held back is\n %s\nwant\n %s", out.Given, got, want)
	}
	y.now = 10 * time.Minute
	if out := y.pass(); len(out.Given) != 1 || out.Given[0].ID != "pool-dev-261122-0810-1" || len(out.Held) != 0 {
		t.Errorf("in the next ten minutes: %+v", out)
	}
	// The same of the end of one that is not needed.
	y = newYard(0, 3)
	y.wait(1)
	y.pass()
	y.carryOut()
	y.wait(0)
	y.now = time.Hour
	y.set("dev-261122-0800-1", fleet.StateIdle, time.Hour)
	y.pass()
	o = y.orders[0]
	o.State, o.Why = fleet.OrderRefused, "it works"
	y.orders, y.tried = nil, []fleet.Order{o}
	y.regs[0].Desired = fleet.DesiredRunning
	want = "pool/dev 1 worker > 0 workers (cooldown: order pool-dev-261122-0800-1-stop-261122-0900 came to nothing: it works until 09:10)"
	if out := y.look(); len(out.Given) != 0 || heldNow(out.Held) != want {
		t.Errorf("given %+v, held back is\n %s\nwant\n %s", out.Given, heldNow(out.Held), want)
	}
}
