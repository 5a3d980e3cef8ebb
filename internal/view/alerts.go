package view

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Alerts shows alerts worst first, then oldest first. Those that are over
// come last.
func Alerts(list []fleet.Alert, at fleet.Instant) []api.Alert {
	out := make([]api.Alert, 0, len(list))
	for _, a := range SortedAlerts(list) {
		out = append(out, Alert(a, at))
	}
	return out
}

// SortedAlerts is worst first, then oldest first; what is over comes last.
func SortedAlerts(list []fleet.Alert) []fleet.Alert {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b fleet.Alert) int {
		return cmp.Or(
			cmp.Compare(over(a), over(b)),
			cmp.Compare(a.Priority, b.Priority),
			a.Since.Wall.Compare(b.Since.Wall),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Subject.String(), b.Subject.String()))
	})
	return list
}

// over ranks firing before pending before resolved.
func over(a fleet.Alert) int {
	return slices.Index([]fleet.AlertStatus{fleet.AlertFiring, fleet.AlertPending, fleet.AlertResolved}, a.Status)
}

// AlertID tells an alert from another one of the same number: no two machines find something at
// the same nanosecond.
func AlertID(a fleet.Alert) string { return a.Since.Wall.UTC().Format(time.RFC3339Nano) }

// Alert shows one alert.
func Alert(a fleet.Alert, at fleet.Instant) api.Alert {
	if a.Status == fleet.AlertResolved && !a.EndedAt.IsZero() {
		at = a.EndedAt
	}
	return api.Alert{
		Number: a.Number, ID: AlertID(a), Rule: a.Rule, Subject: a.Subject.String(), Priority: string(a.Priority),
		Status: string(a.Status), Summary: a.Summary, Since: a.Since.Wall.UTC(), For: Since(at, a.Since),
		EndedAt: Moment(a.EndedAt), Patrols: a.Patrols, Blind: a.Blind,
		Evidence: evidence(a.Evidence), CausedBy: keyTexts(a.CausedBy), ToldBy: a.ToldBy, Flapping: a.Flapping,
		AckedBy: a.AckedBy, SilencedUntil: SilencedUntil(a, at), SilencedBy: a.SilencedBy, Runbook: a.Runbook,
	}
}

// SilencedUntil is until when no person is notified of an alert; nil when they are.
func SilencedUntil(a fleet.Alert, at fleet.Instant) *time.Time {
	if a.SilencedUntil.IsZero() || !at.Before(a.SilencedUntil) {
		return nil
	}
	return Moment(a.SilencedUntil)
}

func evidence(list []fleet.Evidence) []api.Evidence {
	out := make([]api.Evidence, 0, len(list))
	for _, e := range list {
		out = append(out, api.Evidence{Expr: e.Expr, Value: e.Value})
	}
	return out
}

// ByStatus parts the alerts that fire from those that ended.
func ByStatus(list []fleet.Alert) (firing, ended []fleet.Alert) {
	for _, a := range list {
		switch a.Status {
		case fleet.AlertFiring:
			firing = append(firing, a)
		case fleet.AlertResolved:
			ended = append(ended, a)
		}
	}
	return firing, ended
}

func keyTexts(keys []fleet.AlertKey) []string {
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// Merged joins the alerts of the pass with those only the book knows.
func Merged(now, written []fleet.Alert) []fleet.Alert {
	out := slices.Clone(now)
	for _, w := range written {
		if !slices.ContainsFunc(now, func(a fleet.Alert) bool { return a.AlertKey == w.AlertKey }) {
			out = append(out, w)
		}
	}
	return out
}
