package ledger

import (
	"fmt"
	"strings"
	"time"

	"custos/internal/fleet"
)

// Seen is a piece of work as its tracker shows it now.
type Seen struct {
	Title    string
	Project  string
	Priority fleet.Priority
	State    fleet.WorkState
	Outcome  string        // of closed work, where the tracker tells
	Agent    string        // who works on it
	Person   bool          // who works on it is seen to be a person
	ClosedAt fleet.Instant // zero when that is not known
	Free     fleet.Leaf[bool]
	Held     string // why its tracker says that it waits, beside what it names
	Why      string // why it is not seen; "" when it is
	Blind    bool   // its whole tracker is not seen now
}

// IsClosed says whether it is seen to be closed; IsOpen whether it is seen to be
// anything else. Of what is not seen neither is true.
func (s Seen) IsClosed() bool { return s.Why == "" && s.State == fleet.WorkClosed }
func (s Seen) IsOpen() bool   { return s.Why == "" && s.State != fleet.WorkClosed }

// Trackers answers what any piece of work is like, wherever it is kept.
type Trackers struct {
	at     fleet.Instant
	own    map[fleet.Ref]*fleet.WorkItem
	issues map[fleet.Ref]*fleet.Issue
	pulls  map[fleet.Ref]*fleet.PullRequest
	ended  map[fleet.Ref]*fleet.EndedPull
	beads  map[fleet.Ref]*fleet.Bead
	blind  map[fleet.Tracker]string // why what a tracker shows is not to be relied on
}

// NewTrackers returns what all trackers show now.
func NewTrackers(past fleet.Past, snap fleet.Snapshot) Trackers {
	t := Trackers{at: snap.Forge.At, own: make(map[fleet.Ref]*fleet.WorkItem, len(past.Records.Work)), issues: map[fleet.Ref]*fleet.Issue{}, pulls: map[fleet.Ref]*fleet.PullRequest{},
		ended: map[fleet.Ref]*fleet.EndedPull{}, beads: map[fleet.Ref]*fleet.Bead{}, blind: map[fleet.Tracker]string{}}
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
	for i := range snap.Forge.Value.Ended {
		t.ended[fleet.Ref(snap.Forge.Value.Ended[i].Name)] = &snap.Forge.Value.Ended[i]
	}
	for i := range snap.Beads.Value {
		t.beads[fleet.BeadRef(snap.Beads.Value[i].ID)] = &snap.Beads.Value[i]
	}
	return t
}

func (t Trackers) look(of fleet.Tracker, s fleet.Sight) {
	switch {
	case s.Status == fleet.StatusAbsent:
		t.blind[of] = noTracker
	case !s.Fresh():
		t.blind[of] = strings.TrimSuffix("its tracker is not seen now: "+s.Why, ": ")
	}
}

// noTracker is why work of a tracker that is not configured is not seen.
const noTracker = "there is no such tracker here"

// Seen returns a piece of work as it is shown now.
func (t Trackers) Seen(r fleet.Ref) Seen {
	of := r.Tracker()
	if of == fleet.TrackerUnknown {
		return Seen{Why: "no tracker is known that keeps it"}
	}
	if why := t.blind[of]; why != "" {
		return Seen{Why: why, Blind: true}
	}
	switch {
	case t.own[r] != nil:
		return OwnSeen(t.own[r])
	case t.issues[r] != nil:
		return t.issueSeen(t.issues[r])
	case t.beads[r] != nil:
		return beadSeen(t.beads[r])
	case of == fleet.TrackerIssue: // one that waits for a pull request names it by its number alone
		return t.pullSeen(fleet.Ref(strings.Replace(string(r), "#", "!", 1)))
	}
	return t.pullSeen(r)
}

// OwnSeen is a piece of the ledger's own work, as any other is seen.
func OwnSeen(w *fleet.WorkItem) Seen {
	s := Seen{Title: w.Title, Project: w.Project, Priority: w.Priority, State: w.State, Outcome: w.Outcome, Agent: w.Agent, Person: w.Person, Free: fleet.Known(w.State == fleet.WorkOpen)}
	if w.Over() {
		s.ClosedAt = w.Since
	}
	return s
}

func (t Trackers) issueSeen(i *fleet.Issue) Seen {
	s := Seen{Title: i.Title, Project: i.Project, State: fleet.WorkOpen, Agent: i.Agent, Free: i.Ready}
	open, known := i.Open.Get()
	by, told := i.BlockedBy.Get()
	switch {
	case !known:
		return Seen{Title: i.Title, Project: i.Project, Why: i.Open.Why()}
	case !open:
		s.State = fleet.WorkClosed
		if ago, known := i.Closed.Get(); known && !t.at.IsZero() {
			s.ClosedAt = t.at.Add(-time.Duration(ago))
		}
	case i.Taken.Or(false) || i.Agent != "":
		s.State = fleet.WorkTaken
	case i.Marked && told && len(by) == 0:
		s.Held = "it is labelled as one that waits"
	}
	return s
}

// pullSeen is a pull request: while it is open somebody is at it, and it is closed
// when it is merged, or was closed without that.
func (t Trackers) pullSeen(r fleet.Ref) Seen {
	if p := t.pulls[r]; p != nil {
		s := Seen{Title: p.Title, Project: p.Project, State: fleet.WorkTaken, Agent: p.Agent, Free: fleet.Known(false)}
		if !p.Age.IsKnown() {
			s.Why = p.Age.Why()
		}
		return s
	}
	e := t.ended[r]
	if e == nil {
		return Seen{Why: "its tracker does not show it"}
	}
	ago, known := e.Ended.Get()
	s := Seen{Title: e.Title, Project: e.Project, State: fleet.WorkClosed, Outcome: "closed unmerged", Agent: e.Agent, Free: fleet.Known(false)}
	if e.Merged {
		s.Outcome = "merged"
	}
	if !known {
		s.Why = e.Ended.Why()
	} else if !t.at.IsZero() {
		s.ClosedAt = t.at.Add(-time.Duration(ago))
	}
	return s
}

func beadSeen(b *fleet.Bead) Seen {
	s := Seen{Title: b.Title, Project: b.Project, Priority: b.Priority, State: b.State, Outcome: b.Outcome, Agent: b.Assignee, ClosedAt: b.Closed.Or(fleet.Instant{}),
		Free: fleet.Known(b.State == fleet.WorkOpen && b.Assignee == "" && !b.Blocked && b.Waits == "")}
	if b.Blocked && b.State == fleet.WorkOpen {
		s.Held = `its state is "blocked"`
	}
	return s
}

// Needs is what a tracker itself tells that work waits for, and that is not seen
// to be closed; false when it tells nothing, or that is not known.
func (t Trackers) Needs(r fleet.Ref) (list []fleet.Ref, told bool) {
	if t.blind[r.Tracker()] != "" {
		return nil, false
	}
	switch {
	case t.issues[r] != nil:
		names, known := t.issues[r].BlockedBy.Get()
		for _, n := range names {
			if fleet.Ref(n).Tracker() != fleet.TrackerUnknown && !t.Seen(fleet.Ref(n)).IsClosed() { // "…" is no name
				list = append(list, fleet.Ref(n))
			}
		}
		return list, known
	case t.beads[r] != nil:
		for _, id := range t.beads[r].Needs {
			if need := fleet.BeadRef(id); !t.Seen(need).IsClosed() {
				list = append(list, need)
			}
		}
		return list, true
	}
	return nil, false
}

// Everywhere lists the work of trackers other than the ledger, in their order.
func (t Trackers) Everywhere(snap fleet.Snapshot) (out []fleet.Ref) {
	for _, i := range snap.Forge.Value.Issues {
		out = append(out, fleet.Ref(i.Name))
	}
	for _, b := range snap.Beads.Value {
		out = append(out, fleet.BeadRef(b.ID))
	}
	return out
}

// Titled is a reference with the words that people know it by.
func Titled(r fleet.Ref, title string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", r, title), " ()")
}
