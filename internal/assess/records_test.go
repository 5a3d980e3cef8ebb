package assess

import (
	"time"

	"custos/internal/fleet"
)

// healthyRecords is one record of each kind, of which nothing is to be said.
func healthyRecords(at fleet.Instant) fleet.Part[fleet.Coordination] {
	hour := fleet.Duration(time.Hour)
	return fleet.Part[fleet.Coordination]{Sight: fleet.Sight{Status: fleet.StatusOK, At: at}, Value: fleet.Coordination{
		Work: []fleet.WorkFacts{{Ref: "w1", Tracker: fleet.TrackerOwn, Title: "mend it", Project: "shop", Priority: fleet.P3, Agent: "worker", State: fleet.Known(fleet.WorkTaken),
			Ready: fleet.Known(false), Age: hour, Since: hour, Alive: fleet.Known(true)}},
		Gates: []fleet.GateFacts{{ID: "g1", Type: fleet.GateHuman, Title: "the release is approved", Project: "shop", State: fleet.GateOpen, Waiters: []string{"worker"}, Age: hour}},
		Convoys: []fleet.ConvoyFacts{{ID: "c1", Title: "release 1.2", State: fleet.ConvoyOpen, Members: 3, Closed: 1, Ready: fleet.Known(1), Taken: fleet.Known(1),
			Age: hour, Still: fleet.Duration(time.Minute)}},
		Mails: []fleet.MailFacts{{ID: "m1", From: "agent/worker", Type: fleet.MailQuestion, Priority: fleet.P3, Subject: "which port?", Readers: 1, Unread: 1, Age: fleet.Duration(time.Minute)}},
	}}
}

// record is the one record of a kind, or all of it; nil for another kind.
func record(c *fleet.Coordination, kind string) any {
	switch kind {
	case "work":
		return &c.Work[0]
	case "works":
		return &c.Work
	case "gate":
		return &c.Gates[0]
	case "convoy":
		return &c.Convoys[0]
	case "mail":
		return &c.Mails[0]
	}
	return nil
}

// recordGone takes the record of a kind away; false for a kind that is not known.
func recordGone(c *fleet.Coordination, kind string) bool {
	switch kind {
	case "work":
		c.Work = nil
	case "gate":
		c.Gates = nil
	case "convoy":
		c.Convoys = nil
	case "mail":
		c.Mails = nil
	default:
		return false
	}
	return true
}
