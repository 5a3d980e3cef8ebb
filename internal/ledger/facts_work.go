package ledger

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// work is every piece of work of the ledger that is not closed, and what of other
// trackers concerns it: beads that somebody has, what waits for something on record,
// or for what nobody sees, and what convoys have. Issues that somebody has are facts
// of their forge.
func (f facts) work(s *workList) []fleet.WorkFacts {
	for _, d := range f.past.Records.Dependencies {
		if d.State != fleet.DependencyDropped {
			s.add(d.Of)
		}
	}
	for _, c := range f.past.Records.Convoys {
		for _, m := range c.Members {
			if c.State == fleet.ConvoyOpen {
				s.add(m.Ref)
			}
		}
	}
	for _, b := range f.snap.Beads.Value {
		if b.State == fleet.WorkTaken { // who has it may be gone
			s.add(fleet.BeadRef(b.ID))
		}
	}
	for _, r := range f.trackers.Everywhere(f.snap) {
		if needs, _ := f.trackers.Needs(r); slices.ContainsFunc(needs, func(n fleet.Ref) bool { return f.trackers.Seen(n).Why != "" }) {
			s.add(r)
		}
	}
	return s.out
}

// everything is all work that is not closed, in whichever tracker.
func (f facts) everything() []fleet.WorkFacts {
	s := f.sorted()
	for _, r := range f.trackers.Everywhere(f.snap) {
		s.add(r)
	}
	for _, d := range f.past.Records.Dependencies {
		if d.State == fleet.DependencyWaits {
			s.add(d.Of)
		}
	}
	return s.out
}

// AllWork is all work that is not closed, in whichever tracker it is kept: what is
// seen of it, and what waits and is not seen.
func AllWork(past fleet.Past, snap fleet.Snapshot) []fleet.WorkFacts {
	return newFacts(past, snap).everything()
}

// WorkOf is what is seen of some pieces of work, closed or not.
func WorkOf(past fleet.Past, snap fleet.Snapshot, refs []fleet.Ref) (out []fleet.WorkFacts) {
	s := newFacts(past, snap).sorted()
	for _, r := range refs {
		out = append(out, s.item(r, s.f.trackers.Seen(r)))
	}
	return out
}

// workList is facts of work, each piece once.
type workList struct {
	f      facts
	waits  map[fleet.Ref][]fleet.Dependency
	freed  map[fleet.Ref]bool // something that it waited for is resolved
	cycles map[fleet.Ref][]fleet.Ref
	parts  map[fleet.Ref][]fleet.Ref // of which it consists
	at     map[fleet.Ref]int         // where each is in out
	out    []fleet.WorkFacts
}

// sorted begins with the ledger's own.
func (f facts) sorted() *workList {
	own := len(f.past.Records.Work)
	s := &workList{f: f, waits: map[fleet.Ref][]fleet.Dependency{}, freed: map[fleet.Ref]bool{}, at: make(map[fleet.Ref]int, own), out: slices.Grow([]fleet.WorkFacts(nil), own)}
	for _, d := range f.past.Records.Dependencies {
		switch d.State {
		case fleet.DependencyWaits:
			s.waits[d.Of] = append(s.waits[d.Of], d)
		case fleet.DependencyResolved:
			s.freed[d.Of] = true
		}
	}
	s.cycles = f.cycles()
	for i := range f.past.Records.Work {
		if w := &f.past.Records.Work[i]; w.Part != "" && w.State != fleet.WorkClosed {
			if s.parts == nil {
				s.parts = map[fleet.Ref][]fleet.Ref{}
			}
			s.parts[w.Part] = append(s.parts[w.Part], w.Ref())
		}
	}
	for i := range f.past.Records.Work {
		s.add(f.past.Records.Work[i].Ref())
	}
	return s
}

// add adds a piece of work that is not seen to be closed. What the ledger itself
// does not have was never there, or is long closed.
func (s *workList) add(r fleet.Ref) {
	if _, has := s.at[r]; has {
		return
	}
	seen := s.f.trackers.Seen(r)
	if seen.IsClosed() || r.Tracker() == fleet.TrackerOwn && seen.Why != "" {
		return
	}
	s.at[r] = len(s.out)
	s.out = append(s.out, s.item(r, seen))
}

// of is what is known of a piece of work, as it is in the list or as it is seen.
func (s *workList) of(r fleet.Ref, seen Seen) fleet.WorkFacts {
	if i, has := s.at[r]; has {
		return s.out[i]
	}
	return s.item(r, seen)
}

func (s *workList) item(r fleet.Ref, seen Seen) fleet.WorkFacts {
	f := s.f
	if seen.Agent == "" && seen.State == fleet.WorkTaken && seen.Why == "" {
		seen.Agent = f.tasked[r]
	}
	w := fleet.WorkFacts{Ref: r, Tracker: r.Tracker(), Title: seen.Title, Project: seen.Project, Priority: seen.Priority, Agent: seen.Agent,
		State: fleet.Known(seen.State), Cycle: s.cycles[r], Alive: f.alive(r, seen)}
	if seen.Why != "" {
		w.State = fleet.Unknown[fleet.WorkState](seen.Why)
	}
	if own := f.trackers.own[r]; own != nil {
		w.Age, w.Since = f.age(own.At), f.age(own.Since)
		f.begun(&w, own)
		for _, part := range s.parts[r] {
			f.block(&w, part)
		}
	}
	for _, d := range s.waits[r] {
		if d.Source != fleet.TrackerIssue { // how long those wait, their forge tells
			w.Waits = max(w.Waits, f.age(d.Since))
		}
		f.block(&w, d.Needs)
	}
	told, _ := f.trackers.Needs(r)
	for _, n := range told {
		f.block(&w, n)
	}
	if len(w.BlockedBy) == 0 && s.freed[r] {
		w.Held = seen.Held
	}
	w.Ready = ready(w, seen)
	return w
}

// block adds something that work waits for, unless that is seen to be closed.
func (f facts) block(w *fleet.WorkFacts, needs fleet.Ref) {
	seen := f.trackers.Seen(needs)
	if seen.IsClosed() || slices.Contains(w.BlockedBy, needs) {
		return
	}
	w.BlockedBy = append(w.BlockedBy, needs)
	if seen.Why != "" {
		w.Unseen = append(w.Unseen, needs)
	}
}

// ready says whether somebody may take work up.
func ready(w fleet.WorkFacts, seen Seen) fleet.Leaf[bool] {
	switch state, known := w.State.Get(); {
	case !known:
		return fleet.Unknown[bool](w.State.Why())
	case state != fleet.WorkOpen || len(w.BlockedBy) > 0:
		return fleet.Known(false)
	}
	return seen.Free
}

// cycles are those of the dependencies of all trackers together. Those among the
// issues of one forge are told as such already.
func (f facts) cycles() map[fleet.Ref][]fleet.Ref {
	g := waitsOf(f.past.Records)
	for _, r := range f.trackers.Everywhere(f.snap) {
		if needs, _ := f.trackers.Needs(r); f.trackers.Seen(r).IsOpen() {
			for _, n := range needs {
				g.add(r, n)
			}
		}
	}
	out := g.cycles()
	for first, cycle := range out {
		if !slices.ContainsFunc(cycle, func(r fleet.Ref) bool { return r.Tracker() != fleet.TrackerIssue }) && f.isTold(cycle) {
			delete(out, first)
		}
	}
	return out
}

// isTold says whether the forge's own facts name a cycle of issues: always when they
// are of one project, also while that is not seen.
func (f facts) isTold(cycle []fleet.Ref) bool {
	project, _, _ := strings.Cut(string(cycle[0]), "#")
	apart := slices.ContainsFunc(cycle, func(r fleet.Ref) bool { return !strings.HasPrefix(string(r), project+"#") })
	return !apart || slices.ContainsFunc(cycle, func(r fleet.Ref) bool { i := f.trackers.issues[r]; return i != nil && len(i.Cycle) > 0 })
}
