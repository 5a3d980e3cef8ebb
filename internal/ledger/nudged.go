package ledger

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// nudgedWithin is for how long a nudge counts: as long as the attempts of the rules
// that nudge.
const nudgedWithin = 6 * time.Hour

// Nudged returns the agents of a snapshot with how often each was nudged lately by a
// rule, as far as the ledger goes back. What a person or an agent had it told is no
// nudge, and neither is one that was held back before it began.
func Nudged(past fleet.Past, seen fleet.Snapshot) []fleet.Agent {
	count := map[string]int{}
	for i := range past.Actions {
		a := &past.Actions[i]
		if a.Do != fleet.OrderNudge.Action() || a.Order != "" || a.Result == nil || a.Result.Unbegun || a.Result.Status == fleet.ResultRefused {
			continue
		}
		if seen.At.Since(a.Result.Ended) < nudgedWithin {
			count[a.Subject.Name]++
		}
	}
	if len(count) == 0 {
		return seen.Agents.Value
	}
	agents := slices.Clone(seen.Agents.Value) // others share them
	for i := range agents {
		agents[i].Nudges = max(agents[i].Nudges, count[agents[i].Name]) // a story may say more
	}
	return agents
}
