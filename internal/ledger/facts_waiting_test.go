package ledger

import (
	"testing"

	"custos/internal/fleet"
)

// TestWaitingCountsOwnWork: beside issues; a project whose forge is not certain of
// anything is left out.
func TestWaitingCountsOwnWork(t *testing.T) {
	work := func(project string, ready fleet.Leaf[bool], tracker fleet.Tracker) fleet.WorkFacts {
		return fleet.WorkFacts{Project: project, Ready: ready, Tracker: tracker}
	}
	var s fleet.Snapshot
	s.Forge.Status, s.Coordination.Status = fleet.StatusOK, fleet.StatusOK
	s.Forge.Value.Projects = []fleet.Project{{Name: "seen", Ready: fleet.Known(1), Active: fleet.Known(true)}, {Name: "unseen"}}
	s.Forge.Value.Issues = []fleet.Issue{{Project: "seen", Ready: fleet.Known(true)}}
	s.Coordination.Value.Work = []fleet.WorkFacts{
		work("seen", fleet.Known(true), fleet.TrackerOwn), work("unseen", fleet.Known(true), fleet.TrackerOwn), work("own", fleet.Known(true), fleet.TrackerOwn),
		work("own", fleet.Known(false), fleet.TrackerOwn), work("own", fleet.Unknown[bool]("?"), fleet.TrackerOwn), work("seen", fleet.Known(true), fleet.TrackerIssue),
	}
	pools := []fleet.Pool{{Project: "seen"}, {Project: "unseen"}, {Project: "own"}, {Project: "none"}}
	got := Waiting(fleet.Past{}, s, pools)
	if len(got) != 3 || got["seen"].Or(0) != 2 || got["own"].Or(0) != 1 || got["none"] != fleet.Known(0) {
		t.Errorf("waiting %v", got)
	}
	s.Coordination.Status = fleet.StatusUnknown
	if got := Waiting(fleet.Past{}, s, pools); len(got) != 1 || got["seen"].Or(0) != 1 {
		t.Errorf("blind: waiting %v", got)
	}
}

// Beads that may be taken up count like other work.
func TestWaitingCountsBeads(t *testing.T) {
	var s fleet.Snapshot
	s.Forge.Status, s.Coordination.Status, s.Beads.Status = fleet.StatusOK, fleet.StatusOK, fleet.StatusOK
	s.Beads.Value = []fleet.Bead{{ID: "a", Project: "rig", State: fleet.WorkOpen}, {ID: "b", Project: "rig", State: fleet.WorkOpen, Needs: []string{"a"}},
		{ID: "c", Project: "rig", State: fleet.WorkTaken, Assignee: "nux"}, {ID: "d", Project: "rig", State: fleet.WorkOpen, Waits: "deferred"}, {ID: "e", Project: "other", State: fleet.WorkOpen}}
	pools := []fleet.Pool{{Project: "rig"}}
	if got := Waiting(fleet.Past{}, s, pools); got["rig"] != fleet.Known(1) {
		t.Errorf("waiting %v", got)
	}
	past := fleet.Past{}
	past.Records.Dependencies = []fleet.Dependency{{Of: "bd:a", Needs: "w1", State: fleet.DependencyWaits}}
	if got := Waiting(past, s, pools); got["rig"] != fleet.Known(0) {
		t.Errorf("one that waits for other work: waiting %v", got)
	}
	s.Beads.Status = fleet.StatusStale
	if got := Waiting(fleet.Past{}, s, pools); got["rig"] != fleet.Known(0) {
		t.Errorf("not seen: waiting %v", got)
	}
}
