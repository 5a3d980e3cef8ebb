package agents

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A limit does not end with the process that met it: until its reset whoever is
// started again would only meet it again. One that has been reset, or that another
// turn has come after, is none.
func TestALimitOutlivesItsAgent(t *testing.T) {
	for name, c := range map[string]struct {
		told []fleet.HookName
		in   time.Duration
		want bool
	}{
		"it ended its turn":      {[]fleet.HookName{fleet.HookPrompt, fleet.HookFailure}, time.Hour, true},
		"it is reset":            {[]fleet.HookName{fleet.HookPrompt, fleet.HookFailure}, -time.Second, false},
		"a turn came after it":   {[]fleet.HookName{fleet.HookFailure, fleet.HookPrompt}, time.Hour, false},
		"it met no limit at all": {[]fleet.HookName{fleet.HookPrompt}, time.Hour, false},
	} {
		w, b := newWorld(), newLedger()
		w.proc(10, 1, "claude")
		b.reg("one", 10)
		for i, event := range c.told {
			e := hook(w, "i-one", time.Minute-time.Duration(i)*time.Second, event, "", "")
			if event == fleet.HookFailure {
				e.Text, e.Until = "rate_limit", w.now.Add(c.in)
			}
			b.events = append(b.events, e)
		}
		p := w.probe(t, b.options)
		before := agentsOf(t, p)
		exit := *killed(9)
		exit.Process, exit.At = id(10), w.now
		overlaid := WithDeath(before, exit, w.now)[0]
		p.Died(exit)
		w.pass(time.Second)
		next := see(t, p)["one"]
		for when, a := range map[string]fleet.Agent{"by the overlay": overlaid, "by the next look": next} {
			if a.Process.PID != 0 || !a.RateLimitedUntil.IsZero() != c.want || !a.RateLimitedAt.IsZero() != c.want {
				t.Errorf("%s, %s: it is limited until %v, as was told at %v", name, when, a.RateLimitedUntil, a.RateLimitedAt)
			}
		}
	}
}
