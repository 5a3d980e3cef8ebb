package control

import (
	"context"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/view"
)

// port is what knownAlerts has besides.
type port = Alerts

// knownAlerts are alerts in memory.
type knownAlerts struct {
	port
	list []fleet.Alert
}

func (k knownAlerts) Alerts(context.Context, bool) ([]fleet.Alert, error) { return k.list, nil }

// Of what is over, those are listed that people could have been told of: what was true for
// less than its rule wants was no alert.
func TestWhatNeverFiredWasNoAlert(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	alert := func(rule string, s fleet.AlertStatus, fired fleet.Instant) fleet.Alert {
		return fleet.Alert{AlertKey: fleet.AlertKey{Rule: rule}, Status: s, Since: at, FiredAt: fired, EndedAt: at}
	}
	c := &Control{Now: func() fleet.Instant { return at }, Vitals: func(context.Context) view.Vitals { return view.Vitals{} },
		Alerts: knownAlerts{list: []fleet.Alert{alert("over", fleet.AlertResolved, at), alert("a-moment", fleet.AlertResolved, fleet.Instant{}), alert("begins", fleet.AlertPending, fleet.Instant{})}}}
	got, err := c.alertList(t.Context(), Call{Ask: func(string) string { return "true" }})
	if err != nil || len(got.Alerts) != 2 || got.Alerts[0].Rule != "begins" || got.Alerts[1].Rule != "over" {
		t.Errorf("%+v, %v", got.Alerts, err)
	}
}
