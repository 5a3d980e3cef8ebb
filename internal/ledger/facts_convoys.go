package ledger

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// lately is how long a convoy that is done is still told of.
const lately = 24 * time.Hour

// convoys are those that are open, or were done within a day.
func (f facts) convoys(list *workList) (out []fleet.ConvoyFacts) {
	out = slices.Grow(out, len(f.past.Records.Convoys))
	for i := range f.past.Records.Convoys {
		v := &f.past.Records.Convoys[i]
		if v.State == fleet.ConvoyClosed || v.State == fleet.ConvoyDone && f.snap.At.Since(v.Since) > lately {
			continue
		}
		out = append(out, f.convoy(v, list))
	}
	return out
}

func (f facts) convoy(v *fleet.Convoy, list *workList) fleet.ConvoyFacts {
	x := fleet.ConvoyFacts{ID: v.ID, Title: v.Title, State: v.State, Members: len(v.Members), Age: f.age(v.At), Overdue: f.late(v.Due)}
	last := v.At
	var ready, taken tally
	for _, m := range v.Members {
		if last.Before(m.SeenAt) {
			last = m.SeenAt
		}
		seen := f.trackers.Seen(m.Ref)
		switch {
		case seen.Blind:
			ready.lack(seen.Why)
			taken.lack(seen.Why)
			fallthrough
		case seen.Why != "":
			x.Unseen++
			if m.State == fleet.WorkClosed {
				x.Closed++
			}
		case seen.IsClosed():
			x.Closed++
		default:
			w := list.of(m.Ref, seen)
			gone := w.State.Or("") == fleet.WorkTaken && !w.Alive.Or(true)
			ready.count(either(w.Ready, gone))
			taken.count(both(w.State.Or("") == fleet.WorkTaken, w.Alive))
		}
	}
	x.Still, x.Ready, x.Taken = f.age(last), ready.leaf(), taken.leaf()
	if v.State != fleet.ConvoyOpen {
		x.Overdue = 0
	}
	return x
}

// tally counts what is true, unless something of it is not known.
type tally struct {
	n   int
	why string
}

func (t *tally) lack(why string) { t.why = why }

func (t *tally) count(l fleet.Leaf[bool]) {
	switch yes, known := l.Get(); {
	case !known:
		t.why = l.Why()
	case yes:
		t.n++
	}
}

func (t *tally) leaf() fleet.Leaf[int] {
	if t.why != "" {
		return fleet.Unknown[int](t.why)
	}
	return fleet.Known(t.n)
}

func either(l fleet.Leaf[bool], or bool) fleet.Leaf[bool] {
	if or {
		return fleet.Known(true)
	}
	return l
}

func both(first bool, l fleet.Leaf[bool]) fleet.Leaf[bool] {
	if !first {
		return fleet.Known(false)
	}
	return l
}
