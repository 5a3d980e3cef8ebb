package runs

import (
	"errors"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// hold notes that a schedule would begin a run, and what holds it back.
func (d *dues) hold(s *fleet.Schedule, held fleet.HeldMove) {
	held.Record, held.To, held.Held = s.Subject(), "run", fleet.Line(held.Held, 300)
	d.held = append(d.held, held)
}

// isBarred says whether a schedule begins nothing, whatever its time. Of one whose time
// has come it is told why.
func (d *dues) isBarred(s *fleet.Schedule) bool {
	held := d.bar(s)
	if held.Guard == "" {
		return false
	}
	asked := *d // what it would be due at is nothing to wake up for
	if newestOf(d.past.Runs, s.Name, d.at).ID == "" && (!s.Ran.IsZero() || d.marks(s)) {
		return true
	}
	if _, due := asked.slot(s); due {
		d.hold(s, held)
	}
	return true
}

// bar is what keeps a schedule from beginning anything; the zero value: nothing.
func (d *dues) bar(s *fleet.Schedule) fleet.HeldMove {
	project := s.Run.Project
	switch {
	case s.Broken != "":
		return fleet.HeldMove{Guard: fleet.GuardCannot, Held: s.Broken}
	case !s.Enabled && slices.Contains(d.policy.Disabled, s.Run.Formula):
		return fleet.HeldMove{Guard: fleet.GuardPerson, Held: "it is switched off", Hint: "custos formula enable " + s.Run.Formula}
	case !s.Enabled:
		return fleet.HeldMove{Guard: fleet.GuardPerson, Held: switchedOff(s)}
	case d.isPaused(project):
		return fleet.HeldMove{Guard: fleet.GuardPaused, Held: "project " + project + " is paused", Hint: "custos resume --project " + project}
	case d.isClaimed(s):
		return d.idle
	}
	return fleet.HeldMove{}
}

// switchedOff is where it is said that a schedule begins nothing.
func switchedOff(s *fleet.Schedule) string {
	if _, is := fleet.PluginOf(s.Run.Formula); is {
		return "its plugin.md says disabled"
	}
	return "its section says enabled = false"
}

// isTaking tells why the run of a slot that has come is not written down. One that was
// run already is none.
func (d *dues) isTaking(s *fleet.Schedule, err error) {
	i := slices.IndexFunc(d.past.Runs, func(r fleet.Run) bool { return !r.IsOver() && r.Flight() == s.Run.Flight() })
	switch {
	case i >= 0:
		d.hold(s, fleet.HeldMove{Guard: fleet.GuardInFlight, Held: "run " + d.past.Runs[i].ID + " of it " + standing(d.past.Runs[i].State)})
	case !errors.Is(err, ledger.ErrTaken):
		d.hold(s, fleet.HeldMove{Guard: fleet.GuardCannot, Held: err.Error()})
	}
}

func standing(s fleet.RunState) string {
	if s == fleet.RunPerson {
		return string(s)
	}
	return "is " + string(s)
}

// behind tells of those that wait in a queue for another.
func (d *dues) behind(waiting []queued, first, queue string) {
	for _, w := range waiting {
		d.hold(w.s, fleet.HeldMove{Guard: fleet.GuardLimit, Held: first + ", and one of queue " + queue + " runs at a time"})
	}
}

// rests tells of a schedule that would begin a run, were it known whether its condition
// holds, or had it rested.
func (d *dues) rests(s *fleet.Schedule) {
	last := d.lastEnd(s)
	switch {
	case s.Conditional() && s.Holds == nil:
		d.hold(s, fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "it cannot be told whether its condition holds"})
	case s.Rest <= 0 || s.Conditional() && !*s.Holds || last == nil:
	default:
		ago := d.at.Since(last.EndedAt)
		d.hold(s, fleet.HeldMove{Guard: fleet.GuardCooldown, Until: d.at.Add(time.Duration(s.Rest) - ago),
			Held: "run " + last.ID + " of it ended " + fleet.Duration(ago.Round(time.Second)).String() + " ago, and it rests " + s.Rest.String()})
	}
}
