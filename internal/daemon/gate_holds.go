package daemon

import (
	"context"
	"sync"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/rules"
)

// conditions are the expressions of gates, compiled. Those of gates that are closed
// are forgotten.
type conditions struct {
	mu    sync.Mutex
	known map[string]*rules.Condition // nil: it cannot be compiled any more
}

// of compiles what is new, and returns the expressions of these gates, by source.
func (c *conditions) of(gates []fleet.Gate) map[string]*rules.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]*rules.Condition{}
	for _, g := range gates {
		is, known := c.known[g.When]
		if !known {
			is, _ = rules.CompileCondition(g.When) // checked when the gate was made; the words may be others since
		}
		out[g.When] = is
	}
	c.known = out
	return out
}

// holds says in seen what the expressions of open gates come to. Stale parts are unknown
// there: who waits is let go for good.
func (s *system) holds(past fleet.Past, seen *fleet.Snapshot) {
	var open []fleet.Gate
	for _, g := range past.Records.Gates {
		if !g.Over() && g.When != "" {
			open = append(open, g)
		}
	}
	if len(open) == 0 {
		return
	}
	compiled := s.conditions.of(open)
	now := *seen
	now.Coordination = ledger.Facts(past, now)
	view := rules.NewView(&now, true)
	for _, g := range open {
		seen.Holds = append(seen.Holds, fleet.GateCheck{Gate: g.ID, Holds: answer(compiled[g.When], view), At: seen.At})
	}
}

func answer(c *rules.Condition, v *rules.View) fleet.Leaf[bool] {
	if c == nil {
		return fleet.Unknown[bool]("it is no expression of this Custos")
	}
	truth, why := c.Test(v)
	switch truth {
	case rules.True:
		return fleet.Known(true)
	case rules.False:
		return fleet.Known(false)
	}
	return fleet.Unknown[bool](fleet.Line(why, 300))
}

// gateChecks lists the open gates that wait for a command.
func (s *system) gateChecks(ctx context.Context) (out []fleet.Gate, err error) {
	past, err := s.recall(ctx)
	for _, g := range past.Records.Gates {
		if !g.Over() && len(g.Check) > 0 {
			out = append(out, g)
		}
	}
	return out, err
}
