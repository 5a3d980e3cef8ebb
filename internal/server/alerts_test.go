package server

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/view"
)

// TestAlertsThatCannotBeWrittenDownAreTold: while passes cannot be finished (a full disk),
// what is written down is old: what a look finds is told instead, and that it is so.
func TestAlertsThatCannotBeWrittenDownAreTold(t *testing.T) {
	full := fleet.AlertKey{Rule: "disk-full", Subject: fleet.Subject{Kind: fleet.KindMount, Name: "/"}}
	ended := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/tmp/old.lock"}}
	for _, c := range []struct {
		trouble string
		want    int
	}{{"the disk is full", 1}, {"", 0}} {
		w := newWorld()
		w.alerts = nil
		w.pass.Assessment.Alerts = []fleet.Alert{
			{AlertKey: full, Status: fleet.AlertFiring, Priority: fleet.P1, Summary: "it is full", Since: instant(-time.Minute)},
			{AlertKey: ended, Status: fleet.AlertResolved, Priority: fleet.P2, Since: instant(-time.Hour)},
		}
		w.vitals = view.Vitals{Daemon: true, Trouble: c.trouble}
		got, err := client(w).Alerts(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Alerts) != c.want || got.Trouble != c.trouble {
			t.Errorf("trouble %q: %d alerts, trouble %q", c.trouble, len(got.Alerts), got.Trouble)
		}
	}
}
