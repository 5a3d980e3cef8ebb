package daemon

import (
	"errors"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// An alert that is over is taken up by nobody: at the keyboard that is a slip that is told in
// words, as in a chat, and no fault of Custos.
func TestAnAlertThatIsOverIsNotTakenUp(t *testing.T) {
	s, d := atDesk(t)
	now := s.world.Now()
	a := fleet.Alert{AlertKey: fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/l"}}, Number: 1, Status: fleet.AlertFiring,
		Priority: fleet.P2, Since: now, LastTrue: now}
	for _, status := range []fleet.AlertStatus{fleet.AlertFiring, fleet.AlertResolved} {
		a.Status, a.EndedAt = status, now
		turn := fleet.Plan{At: now}.Turn()
		turn.Assessment = fleet.Assessment{Alerts: []fleet.Alert{a}}
		if err := s.ledger.Commit(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	_, err := api.NewClient(api.InProcess(s.handler(t.Context(), nil))).Acknowledge(t.Context(), 1, api.AckOrder{By: "ann"})
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != api.BadInput || e.Message != "cannot acknowledge alert 1: it is over" {
		t.Errorf("%+v", err)
	}
	if got := take(t, s, d, chat(), annSays("$1", "ack 1")); len(got) != 1 || !strings.Contains(got[0], "over") {
		t.Errorf("%q", got)
	}
}
