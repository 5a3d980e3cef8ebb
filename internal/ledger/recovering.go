package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// Recovering returns the agents of a snapshot without the ends of what a recovery that
// goes on has itself started: it may start another, and says how it ended when it is
// over. Until then its agent has died once, and is being started.
func Recovering(past fleet.Past, seen fleet.Snapshot) []fleet.Agent {
	out, own := seen.Agents.Value, false
	for i := range out {
		if !isOwnTry(past, seen.Agents.Value[i]) {
			continue
		}
		if !own {
			out, own = slices.Clone(out), true // others share them
		}
		out[i] = beingStarted(out[i])
	}
	return out
}

// isOwnTry says whether what has ended of an agent was started by its recovery, which
// goes on.
func isOwnTry(past fleet.Past, a fleet.Agent) bool {
	return a.Registered && a.Exit != nil && a.Exit.Asked == "" && slices.ContainsFunc(past.Actions, func(x fleet.ActionRecord) bool {
		was := x.Target.Registration
		return x.Open() && x.Stage == fleet.StageStarted && x.Do == fleet.OrderRecover.Action() &&
			x.Subject.Kind == fleet.KindAgent && x.Subject.Name == a.Name && was != nil && was.Instance != a.Instance
	})
}

// Starting returns the names of the agents that an action is starting, in the order in
// which those were planned: what it has begun is on record only a moment later.
func Starting(past fleet.Past) (names []string) {
	for _, x := range past.Actions {
		if x.Stage == fleet.StageStarted && x.Subject.Kind == fleet.KindAgent && (x.Do == fleet.OrderSpawn.Action() || x.Do == fleet.OrderRecover.Action()) {
			names = append(names, x.Subject.Name)
		}
	}
	return names
}

func beingStarted(a fleet.Agent) fleet.Agent {
	const why = "its recovery goes on"
	if a.Exit.Failed() && !a.Exit.Rebooted() {
		a.Deaths--
	}
	a.State, a.Source, a.Reason = fleet.StateStarting, "record", why+", and what it has started "+a.Reason
	a.Exit, a.ExitStatus, a.ExitSignal = nil, fleet.Unknown[int](why), fleet.Unknown[int](why)
	return a
}
