package assess

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestSessionsOfTwoServersAreTwo: each terminal server has sessions of its own, whatever
// they are called: what is wrong with one is not the other's alert, and who acknowledged
// the one has not seen the other.
func TestSessionsOfTwoServersAreTwo(t *testing.T) {
	set := parse(t, "[rule.dead]\npriority='P3'\nover='session'\nexpr='session.dead'\n")
	look := func(later time.Duration, dead ...bool) fleet.Snapshot {
		s := healthy(start().Add(later))
		s.Sessions.Value = nil
		for i, socket := range []string{"/tmp/one", "/tmp/two"} {
			s.Sessions.Value = append(s.Sessions.Value, fleet.Pane{ID: fleet.PaneID{Socket: socket, Pane: "%1"}, Session: "main", Dead: dead[i]})
		}
		return s
	}
	past := after(fleet.Past{}, Assess(set, look(0, true, true), fleet.Past{}))
	if len(past.Alerts) != 2 || past.Alerts[0].Subject == past.Alerts[1].Subject {
		t.Fatalf("two dead sessions of one name are told as %+v", past.Alerts)
	}
	past.Alerts[0].AckedBy, past.Alerts[0].AckedAt = "ann", past.StartedAt
	got := Assess(set, look(time.Minute, true, false), past)
	one, two := got.Alerts[0], got.Alerts[1]
	if one.Status != fleet.AlertFiring || one.AckedBy != "ann" || two.Status != fleet.AlertResolved || two.AckedBy != "" {
		t.Errorf("the first fires on, as acknowledged, and the second has ended: %+v", got.Alerts)
	}
}
