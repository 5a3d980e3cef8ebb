package daemon

import (
	"testing"

	"custos/internal/fleet"
)

// TestOtherHostsAreToldWhatIsWrittenDown: the number of an alert that is not may be another one's later; where nothing
// can be written all are told.
func TestOtherHostsAreToldWhatIsWrittenDown(t *testing.T) {
	seen := []fleet.Alert{{Number: 1, Status: fleet.AlertFiring}, {Number: 2, Status: fleet.AlertFiring}, {Number: 3, Status: fleet.AlertResolved}}
	written := []fleet.Alert{{Number: 1}, {Number: 3}}
	if got := toldAlerts(seen, written, false); len(got) != 1 || got[0].Number != 1 {
		t.Errorf("%+v", got)
	}
	if got := toldAlerts(seen, written, true); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}
