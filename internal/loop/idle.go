package loop

import (
	"slices"

	"custos/internal/fleet"
)

// isIdle says whether a pass found nothing that the next patrol must not wait
// for: everything was seen, nothing is done, ordered or run, no alert began,
// ended or waits for patrols to go by, and no agent is counted as unresponsive.
// What cannot be seen is not idle.
func isIdle(p fleet.Pass) bool {
	return seesAll(p.Snapshot) && !isBusy(p) && !hasNews(p.Past.Alerts, p.Assessment.Alerts) &&
		!slices.ContainsFunc(p.Snapshot.Agents.Value, func(a fleet.Agent) bool { return a.Cycles > 0 })
}

func seesAll(s fleet.Snapshot) bool {
	return !slices.ContainsFunc(fleet.PartNames(), func(name fleet.PartName) bool { return !s.Sight(name).Fresh() })
}

// isBusy says whether something is under way, or is to be.
func isBusy(p fleet.Pass) bool {
	return len(p.Plan.Actions) > 0 || len(p.Plan.Orders) > 0 || len(p.Plan.Claims) > 0 ||
		slices.ContainsFunc(p.Past.Actions, fleet.ActionRecord.Open) ||
		slices.ContainsFunc(p.Past.Orders, func(o fleet.Order) bool { return !o.IsOver() }) ||
		slices.ContainsFunc(p.Past.Runs, func(r fleet.Run) bool { return !r.IsOver() })
}

// hasNews says whether an alert is not as it was, or is not what it will be once
// some patrols have gone by.
func hasNews(was, is []fleet.Alert) bool {
	before := make(map[fleet.AlertKey]fleet.AlertStatus, len(was))
	for _, a := range was {
		if a.Status != fleet.AlertResolved { // what ended lately is remembered beside what began anew
			before[a.AlertKey] = a.Status
		}
	}
	return slices.ContainsFunc(is, func(a fleet.Alert) bool {
		return a.Status == fleet.AlertPending || a.Status != before[a.AlertKey] ||
			a.Status == fleet.AlertFiring && a.Patrols < a.TellAfter
	})
}
