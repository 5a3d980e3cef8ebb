package agent

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// deniedWithin is how long a call that was denied counts.
const deniedWithin = time.Hour

// deny notes that the call which just began was not made: it is in flight no more.
func (h *gathering) deny(e fleet.HookEvent) {
	if !slices.ContainsFunc(h.denied, func(d fleet.HookEvent) bool { return e.CallID != "" && d.CallID == e.CallID }) {
		h.denied = append(h.denied, e) // two hooks may tell of one call
	}
	delete(h.tools, callKey(e))
	if n := len(h.calls); n > 0 {
		h.calls[n-1].ended = true
	}
	if !h.asks.on {
		h.told.Says = "a policy denied its call of " + toolWords(e.Tool)
	}
}

// deniedMost is the rule that denied most calls lately; of several the one that did last.
func (h *gathering) deniedMost(now fleet.Instant) (most *fleet.Denied) {
	count := map[string]*fleet.Denied{}
	for _, e := range h.denied {
		if now.Since(e.At) >= deniedWithin {
			continue
		}
		d := count[e.DeniedBy()]
		if d == nil {
			d = &fleet.Denied{Rule: e.DeniedBy()}
			count[d.Rule] = d
		}
		d.Times, d.Tool, d.Last = d.Times+1, e.Tool, e.At
		if most == nil || d.Times >= most.Times {
			most = d
		}
	}
	return most
}
