package ledger

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// InstanceFolder is what is known of the folder of one instance of an agent.
type InstanceFolder struct {
	Agent, Instance string
	Ended           fleet.Instant // as its shim wrote it down; zero: that is not known
	Ours            bool          // it is marked as one of this very ledger
	Lives           bool          // its shim, its agent or what that left runs, or that is not known
}

// WhyKept says what the folder of an instance is kept for, so long after its end; ""
// when nobody needs it any more. What is not known keeps it.
func WhyKept(past fleet.Past, at fleet.Instant, keep time.Duration, f InstanceFolder) string {
	r := newestIn(past.Registrations, f.Instance)
	switch {
	case past.Blind != "" || past.Amnesia || past.ClockBehind(at):
		return "what was before is not known"
	case f.Ended.IsZero():
		return "its end is not known"
	case !f.Ours:
		return "it is not known to be of this ledger"
	case f.Lives:
		return "something of it runs"
	case at.Since(f.Ended) < keep:
		return "it ended not long ago"
	case r != nil && (r.Exit == nil || r.Desired != fleet.DesiredRetired):
		return "its agent may be started again"
	case isAbout(past, f.Agent):
		return "something is under way for its agent"
	}
	return ""
}

// newestIn finds the registration whose newest instance this is; nil for none.
func newestIn(all []fleet.Registration, instance string) *fleet.Registration {
	return fleet.Find(all, func(r *fleet.Registration) bool { return r.Instance == instance })
}

// isAbout says whether an action or an order for an agent is not over.
func isAbout(past fleet.Past, agent string) bool {
	return slices.ContainsFunc(past.Actions, func(a fleet.ActionRecord) bool {
		return a.Open() && a.Subject == fleet.Subject{Kind: fleet.KindAgent, Name: agent}
	}) || slices.ContainsFunc(past.Orders, func(o fleet.Order) bool { return !o.IsOver() && o.Agent == agent })
}
