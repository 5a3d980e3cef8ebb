package follow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// village is a ledger in memory that keeps records as the store does, and the world
// it looks at.
type village struct {
	t      interface{ Fatal(...any) }
	past   fleet.Past
	snap   fleet.Snapshot
	policy fleet.Policy
	now    time.Duration
	next   map[string]int
	mails  []fleet.Mail  // all that were ever written
	ahead  time.Duration // of the wall clock
	boot   string        // another one; "": that of at
}

func newVillage(t interface{ Fatal(...any) }) *village {
	w := &village{t: t, next: map[string]int{}}
	for _, p := range []*fleet.Sight{&w.snap.Forge.Sight, &w.snap.Beads.Sight, &w.snap.Agents.Sight} {
		p.Status = fleet.StatusOK
	}
	return w
}

func (w *village) at() fleet.Instant {
	is := at(w.now)
	is.Wall = is.Wall.Add(w.ahead)
	if w.boot != "" {
		is.Boot, is.Up = w.boot, is.Up-fleet.Duration(time.Hour)
	}
	return is
}

// pass is one pass; it returns the mails that it wrote.
func (w *village) pass() []fleet.Mail {
	w.now += time.Minute
	return w.again()
}

// again is a pass at the same instant.
func (w *village) again() []fleet.Mail {
	w.snap.At, w.snap.Forge.At, w.snap.Beads.At = w.at(), w.at(), w.at()
	before := len(w.mails)
	out := coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy})
	w.keep(out.Records)
	w.snap.Coordination = ledger.Facts(w.past, w.snap)
	return w.mails[before:]
}

// edit is what somebody does between two passes.
func (w *village) edit(do func(fleet.Records) (fleet.Records, error)) {
	out, err := do(w.past.Records)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keep(out)
}

func (w *village) keep(r fleet.Records) {
	have := &w.past.Records
	keepEach(w, "w", &have.Work, r.Work)
	keepEach(w, "d", &have.Dependencies, r.Dependencies)
	keepEach(w, "c", &have.Convoys, r.Convoys)
	keepEach(w, "g", &have.Gates, r.Gates)
	keepEach(w, "t", &have.Triggers, r.Triggers)
	keepEach(w, "m", &w.mails, r.Mails)
}

func keepEach[T any, P interface {
	*T
	Front() *fleet.Head
}](w *village, prefix string, into *[]T, list []T) {
	*into = slices.Clone(*into)
	for _, v := range list {
		head := P(&v).Front()
		same := slices.IndexFunc(*into, func(o T) bool {
			h := P(&o).Front()
			return head.Revision > 0 && h.ID == head.ID || head.Revision == 0 && head.Key != "" && h.Key == head.Key
		})
		switch {
		case same >= 0 && head.Revision == 0: // its key is known
		case same >= 0 && P(&(*into)[same]).Front().Revision == head.Revision:
			head.Revision++
			(*into)[same] = v
		case same < 0 && head.Revision == 0:
			w.next[prefix]++
			head.ID, head.Revision = fmt.Sprint(prefix, w.next[prefix]), 1
			*into = append(*into, v)
		default:
			w.t.Fatal("conflict at", head.ID)
		}
	}
}

func (w *village) add(title string, needs ...fleet.Ref) fleet.Ref {
	w.edit(func(fleet.Records) (fleet.Records, error) {
		v, err := ledger.AddWork(fleet.WorkItem{Title: title, Project: "shop"}, "ann", w.at())
		return fleet.Records{Work: []fleet.WorkItem{v}}, err
	})
	r := w.past.Records.Work[len(w.past.Records.Work)-1].Ref()
	for _, n := range needs {
		w.needs(r, n)
	}
	return r
}

func (w *village) needs(of, needs fleet.Ref) {
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		d, err := ledger.AddDependency(all, of, needs, "ann", w.at())
		return fleet.Records{Dependencies: []fleet.Dependency{d}}, err
	})
}

func (w *village) change(r fleet.Ref, do func(fleet.WorkItem) (fleet.WorkItem, error)) {
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		v, err := do(*ledger.Work(all, r))
		return fleet.Records{Work: []fleet.WorkItem{v}}, err
	})
}

func (w *village) close(r fleet.Ref, outcome string) {
	w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return ledger.CloseWork(v, outcome, "", "ann", w.at()) })
}

func (w *village) reopen(r fleet.Ref) {
	w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return ledger.ReopenWork(v, "", "ann", w.at()) })
}

func (w *village) convoy(v fleet.Convoy, refs ...fleet.Ref) string {
	w.edit(func(all fleet.Records) (fleet.Records, error) {
		v, err := ledger.AddConvoy(all, v, refs, "ann", w.at())
		return fleet.Records{Convoys: []fleet.Convoy{v}}, err
	})
	return w.past.Records.Convoys[len(w.past.Records.Convoys)-1].ID
}

// issue shows an issue; by is what its tracker says that it waits for.
func (w *village) issue(number int, open bool, by ...string) *fleet.Issue {
	i := fleet.Issue{Name: fleet.IssueName("shop", number), Project: "shop", Number: number, Title: fmt.Sprint("issue ", number), Open: fleet.Known(open),
		BlockedBy: fleet.Known(by), Ready: fleet.Known(open && len(by) == 0), Closed: fleet.Known(fleet.Duration(0)), Taken: fleet.Known(false)}
	list := &w.snap.Forge.Value.Issues
	*list = slices.DeleteFunc(slices.Clone(*list), func(o fleet.Issue) bool { return o.Name == i.Name })
	*list = append(*list, i)
	return &(*list)[len(*list)-1]
}

func (w *village) bead(b fleet.Bead) {
	list := &w.snap.Beads.Value
	*list = slices.DeleteFunc(slices.Clone(*list), func(o fleet.Bead) bool { return o.ID == b.ID })
	*list = append(*list, b)
}

// blind has a tracker not seen, with what it showed last.
func (w *village) blind(s *fleet.Sight, is bool) {
	s.Status, s.Why = fleet.StatusOK, ""
	if is {
		s.Status, s.Why = fleet.StatusStale, "it does not answer"
	}
}

func (w *village) register(r fleet.Registration) {
	w.past.Registrations = append(w.past.Registrations, r)
}

func subjects(mails []fleet.Mail) (out []string) {
	for _, m := range mails {
		out = append(out, m.Subject)
	}
	return out
}

func wantMails(t *testing.T, got []fleet.Mail, want ...string) {
	t.Helper()
	if s := subjects(got); !slices.Equal(s, want) {
		t.Errorf("mails %q, want %q", s, want)
	}
}
