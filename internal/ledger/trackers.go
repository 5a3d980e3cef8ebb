package ledger

import (
	"custos/internal/fleet"
)

// Seen is a piece of work as its tracker shows it now.
type Seen struct {
	Title    string
	Project  string
	Priority fleet.Priority
	State    fleet.WorkState
	Outcome  string // of closed work, where the tracker tells
	Agent    string // who works on it
	Why      string // why it is not seen; "" when it is
}

// trackers answers what any piece of work is like, wherever it is kept.
type trackers struct {
	own    map[fleet.Ref]*fleet.WorkItem
	issues map[fleet.Ref]*fleet.Issue
	pulls  map[fleet.Ref]*fleet.PullRequest
	beads  map[fleet.Ref]*fleet.Bead
	blind  map[fleet.Tracker]string // why what a tracker shows is not to be relied on
}

func newTrackers(past fleet.Past, snap fleet.Snapshot) trackers {
	t := trackers{own: map[fleet.Ref]*fleet.WorkItem{}, issues: map[fleet.Ref]*fleet.Issue{}, pulls: map[fleet.Ref]*fleet.PullRequest{},
		beads: map[fleet.Ref]*fleet.Bead{}, blind: map[fleet.Tracker]string{fleet.TrackerUnknown: "no tracker is known that keeps it"}}
	for i := range past.Records.Work {
		t.own[past.Records.Work[i].Ref()] = &past.Records.Work[i]
	}
	t.look(fleet.TrackerIssue, snap.Forge.Sight)
	t.look(fleet.TrackerPull, snap.Forge.Sight)
	t.look(fleet.TrackerBeads, snap.Beads.Sight)
	for i := range snap.Forge.Value.Issues {
		t.issues[fleet.Ref(snap.Forge.Value.Issues[i].Name)] = &snap.Forge.Value.Issues[i]
	}
	for i := range snap.Forge.Value.Pulls {
		t.pulls[fleet.Ref(snap.Forge.Value.Pulls[i].Name)] = &snap.Forge.Value.Pulls[i]
	}
	for i := range snap.Beads.Value {
		t.beads[fleet.Ref("bd:"+snap.Beads.Value[i].ID)] = &snap.Beads.Value[i]
	}
	return t
}

func (t trackers) look(of fleet.Tracker, s fleet.Sight) {
	switch {
	case s.Status == fleet.StatusAbsent:
		t.blind[of] = "there is no such tracker here"
	case !s.Fresh():
		t.blind[of] = "its tracker is not seen now: " + s.Why
	}
}

// seen returns a piece of work as it is shown now.
func (t trackers) seen(r fleet.Ref) Seen {
	if why := t.blind[r.Tracker()]; why != "" {
		return Seen{Why: why}
	}
	switch r.Tracker() {
	case fleet.TrackerOwn:
		if w := t.own[r]; w != nil {
			return Seen{Title: w.Title, Project: w.Project, Priority: w.Priority, State: w.State, Outcome: w.Outcome, Agent: w.Agent}
		}
	case fleet.TrackerIssue:
		if i := t.issues[r]; i != nil {
			return issueSeen(i)
		}
	case fleet.TrackerPull:
		if p := t.pulls[r]; p != nil {
			return Seen{Title: p.Title, Project: p.Project, State: fleet.WorkTaken, Agent: p.Agent}
		}
	case fleet.TrackerBeads:
		if b := t.beads[r]; b != nil {
			return Seen{Title: b.Title, Priority: b.Priority, State: b.State, Outcome: b.Outcome, Agent: b.Assignee}
		}
	}
	return Seen{Why: "its tracker does not show it"}
}

func issueSeen(i *fleet.Issue) Seen {
	open, known := i.Open.Get()
	s := Seen{Title: i.Title, Project: i.Project, State: fleet.WorkOpen, Agent: i.Agent}
	switch {
	case !known:
		return Seen{Title: i.Title, Project: i.Project, Why: i.Open.Why()}
	case !open:
		s.State = fleet.WorkClosed
	case i.Taken.Or(false) || i.Agent != "":
		s.State = fleet.WorkTaken
	}
	return s
}
