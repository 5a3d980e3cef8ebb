package runs

import (
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// first writes down that a schedule without a run was seen first now, or when it
// ran elsewhere: as a run that is over, of which nothing was ever begun here. It
// says whether that is what this pass does about the schedule.
func (d *dues) first(s *fleet.Schedule) bool {
	if newestOf(d.past.Runs, s.Name, d.at).ID != "" {
		return false
	}
	switch {
	case !s.Ran.IsZero():
		return d.noted(s, s.Ran, fleet.RunDone, "it ran before Custos knew of it")
	case d.marks(s):
		return d.noted(s, d.at, fleet.RunSkipped, "seen first: what happens from now on counts")
	}
	return false
}

// marks says whether events count only from when the schedule was first seen. The
// start of Custos is one at once.
func (d *dues) marks(s *fleet.Schedule) bool {
	isLog := strings.HasPrefix(s.On, ledger.OnLog)
	return isLog || s.Mark && (strings.HasPrefix(s.On, ledger.OnAlert) || strings.HasPrefix(s.On, ledger.OnRun) || strings.HasPrefix(s.On, ledger.OnTrigger))
}

func (d *dues) noted(s *fleet.Schedule, at fleet.Instant, as fleet.RunState, why string) bool {
	run, err := ledger.TakeRun(d.past, fleet.RunPolicy{}, scheduled(s, at), at)
	if err != nil {
		return false
	}
	ledger.SkipRun(&run, why, at)
	run.State = as
	d.add(run)
	return true
}
