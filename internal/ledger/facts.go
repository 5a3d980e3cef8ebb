package ledger

import "custos/internal/fleet"

// Facts is what the records mean now: the part "coordination" of a snapshot. It is
// unknown while the ledger cannot be read.
func Facts(past fleet.Past, snap fleet.Snapshot) fleet.Part[fleet.Coordination] {
	var p fleet.Part[fleet.Coordination]
	p.Probe = "ledger"
	if past.Blind != "" {
		p.Blind(past.Blind)
		return p
	}
	p.Status, p.At = fleet.StatusOK, snap.At
	f := newFacts(past, snap)
	list := f.sorted()
	p.Value = fleet.Coordination{Work: f.work(list), Gates: f.gates(), Convoys: f.convoys(list), Mails: f.mails(), Merges: f.merges()}
	return p
}

type facts struct {
	past     fleet.Past
	snap     fleet.Snapshot
	trackers Trackers
	lives    map[string]bool      // whether an agent of this name lives; none: no agent is known of it
	origins  map[string]string    // what its own system calls an agent
	tasked   map[fleet.Ref]string // who has a bead as its task
	handed   map[fleet.Ref]bool   // a branch for it is in a merge queue
}

func newFacts(past fleet.Past, snap fleet.Snapshot) facts {
	f := facts{past: past, snap: snap, trackers: NewTrackers(past, snap), handed: handedIn(past.Records)}
	f.know()
	return f
}

// age is how long ago something was.
func (f facts) age(t fleet.Instant) fleet.Duration {
	return fleet.Duration(max(0, f.snap.At.Since(t)))
}

// late is how far past a moment it is; 0 when there is none, or it is to come.
func (f facts) late(t fleet.Instant) fleet.Duration {
	if t.IsZero() {
		return 0
	}
	return f.age(t)
}
