package runs

import (
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// on is due at the newest event that came after the last one a run stands for.
// Nothing is kept of events but what is on record anyway.
func (d *dues) on(s *fleet.Schedule, last fleet.Run) (slot fleet.Instant, due bool) {
	if strings.HasPrefix(s.On, ledger.OnLog) {
		return d.at, s.Event > last.Event
	}
	since := last.Slot
	if last.ID == "" {
		since = d.past.StartedAt
	}
	for _, event := range d.events(s) {
		first := last.ID == "" && event == since // the start itself is one
		if (first || d.isAfter(event, since)) && (!due || d.isAfter(event, slot)) {
			slot, due = event, true
		}
	}
	if !due {
		return fleet.Instant{}, false
	}
	if _, due = d.jittered(s, slot, 0, slotID(s.Name, slot)); !due {
		return fleet.Instant{}, false
	}
	return slot, true
}

func (d *dues) events(s *fleet.Schedule) (list []fleet.Instant) {
	rule, isAlert := strings.CutPrefix(s.On, ledger.OnAlert)
	run, isRun := strings.CutPrefix(s.On, ledger.OnRun)
	trigger, isTrigger := strings.CutPrefix(s.On, ledger.OnTrigger)
	switch {
	case s.On == ledger.OnStartup:
		list = append(list, d.past.StartedAt)
	case s.On == ledger.OnPatrol && d.patrol > 0:
		list = append(list, d.at)
	case s.On == ledger.OnPatrol:
		list = append(list, d.past.PatrolAt)
	case isAlert:
		for _, a := range d.alerts {
			if a.Rule == rule {
				list = append(list, a.FiredAt)
			}
		}
	case isTrigger:
		for _, t := range d.past.Records.Triggers {
			if t.Name == trigger {
				list = append(list, t.At)
			}
		}
	case isRun:
		formula, state, _ := ledger.CutLast(run, ":")
		for _, r := range d.past.Runs {
			if r.IsOver() && r.Formula == formula && string(r.State) == state && (s.Run.Project == "" || s.Run.Project == r.Project) {
				list = append(list, r.EndedAt)
			}
		}
	}
	return slices.DeleteFunc(list, fleet.Instant.IsZero)
}

func (d *dues) isAfter(e, ref fleet.Instant) bool { return ledger.IsLater(e, ref, d.at) }
