//go:build linux

package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Moments are of CLOCK_BOOTTIME of the machine: one clock for all processes.

// write is one write that the resource has taken.
type write struct {
	N       int           // the how-manieth, from 1
	At      time.Duration // when it came, by the resource
	Sent    time.Duration // when its host sent it, right after its lease was asked for
	Key     string
	Host    string
	Run     string // of the host
	Epoch   uint64
	Action  string
	Message string // what was said; "" for a plain write
}

// The kinds of entry in the journal of a host.
const (
	kindBegan   = "began"   // a run of the host
	kindHolds   = "holds"   // which keys it relies on
	kindPlanned = "planned" // an action was written down
	kindEnded   = "ended"   // an action has a result
	kindRan     = "ran"     // a slot (Key) that is run once was run
	kindLeft    = "left"    // the run has ended in order; Why says what was left open
)

// entry is one line of the journal of a host.
type entry struct {
	At     time.Duration // the moment, or the one before the question was put
	After  time.Duration // of holds: the moment after it was answered
	Host   string
	Run    string
	Kind   string
	Held   map[string]uint64 `json:",omitempty"` // of holds: the epoch, by key
	Key    string            `json:",omitempty"`
	Epoch  uint64            `json:",omitempty"`
	Action string            `json:",omitempty"`
	Status string            `json:",omitempty"`
	Why    string            `json:",omitempty"`
}

// violation is something that must not be.
type violation struct {
	At   time.Duration
	What string
}

// checkWrites: of each key, what is written by a lease of an epoch comes after all that was written
// by a smaller one, and is all of one run.
func checkWrites(all []write) (out []violation) {
	newest, by := map[string]write{}, map[string]write{}
	for _, w := range all {
		last, is := newest[w.Key]
		switch {
		case is && w.Epoch < last.Epoch:
			out = append(out, violation{w.At, fmt.Sprintf("write %d of %s by %s comes after write %d by %s", w.N, w.Key, w.by(), last.N, last.by())})
		case !is || w.Epoch > last.Epoch:
			newest[w.Key] = w
		}
		term := fmt.Sprint(w.Key, " ", w.Epoch)
		if first, is := by[term]; is && first.Run != w.Run {
			out = append(out, violation{w.At, fmt.Sprintf("writes %d and %d of %s, by %s and by %s, are of one epoch", first.N, w.N, w.Key, first.by(), w.by())})
		} else if !is {
			by[term] = w
		}
	}
	return out
}

func (w write) by() string {
	return fmt.Sprintf("%s/%s (epoch %d, sent %v, came %v)", w.Host, w.Run, w.Epoch, w.Sent, w.At)
}

// checkMessages: nothing is said twice.
func checkMessages(all []write) (out []violation) {
	said := map[string]write{}
	for _, w := range all {
		if w.Message == "" {
			continue
		}
		if first, is := said[w.Message]; is {
			out = append(out, violation{w.At, fmt.Sprintf("%s is said twice, by %s and by %s", w.Message, first.by(), w.by())})
			continue
		}
		said[w.Message] = w
	}
	return out
}

// checkSlots: no slot is run twice.
func checkSlots(all []entry) (out []violation) {
	ran := map[string]entry{}
	for _, e := range all {
		if e.Kind != kindRan {
			continue
		}
		if first, is := ran[e.Key]; is {
			out = append(out, violation{e.At, fmt.Sprintf("%s is run by %s/%s, and was by %s/%s", e.Key, e.Host, e.Run, first.Host, first.Run)})
			continue
		}
		ran[e.Key] = e
	}
	return out
}

// term is for how long one run is known to have relied on a key by one epoch.
type term struct {
	Key, Host, Run string
	Epoch          uint64
	From, To       time.Duration
}

func (t term) String() string {
	return fmt.Sprintf("%s/%s (epoch %d, %v to %v)", t.Host, t.Run, t.Epoch, t.From, t.To)
}

// terms are those of all runs, by key and beginning. A term begins after the first answer that the
// lease is held, and ends before the question of the last one: it is never said to be longer than it was.
func terms(all []entry) []term {
	type id struct {
		run, key string
		epoch    uint64
	}
	found := map[id]*term{}
	for _, e := range all {
		for key, epoch := range e.Held {
			at := id{e.Run, key, epoch}
			if t := found[at]; t != nil {
				t.To = max(t.To, e.At)
				continue
			}
			found[at] = &term{key, e.Host, e.Run, epoch, e.After, e.After}
		}
	}
	out := []term{}
	for _, t := range found {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b term) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.From, b.From)) })
	return out
}

// checkTerms: no two runs rely on one key at once.
func checkTerms(sorted []term) (out []violation) {
	last := map[string]term{} // the one that ends last, so far
	for _, t := range sorted {
		before, is := last[t.Key]
		if is && t.From < before.To && before.Run != t.Run {
			out = append(out, violation{t.From, fmt.Sprintf("%s relies on %s while %s does, for %v", t, t.Key, before, min(t.To, before.To)-t.From)})
		}
		if !is || t.To > before.To {
			last[t.Key] = t
		}
	}
	return out
}

// checkEnds: whatever was planned has a result, unless its run was killed; a run that ended in order
// has left nothing open.
func checkEnds(all []entry, killed map[string]bool) (out []violation) {
	open, ended := map[string]entry{}, map[string]bool{}
	for _, e := range all { // an end may be written down before what was planned
		switch {
		case e.Kind == kindPlanned:
			open[e.Action] = e
		case e.Kind == kindEnded:
			ended[e.Action] = true
		case e.Kind == kindLeft && e.Why != "":
			out = append(out, violation{e.At, fmt.Sprintf("%s/%s has ended in order, and left %s", e.Host, e.Run, e.Why)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		if e := open[id]; !ended[id] && !killed[e.Run] {
			out = append(out, violation{e.At, fmt.Sprintf("%s, planned by %s/%s, has no end", id, e.Host, e.Run)})
		}
	}
	return out
}

// span is a stretch of time.
type span struct{ From, To time.Duration }

// checkGaps: while all is well enough, no key is without a holder for longer than a limit. well is when
// it is: stretches in their order.
func checkGaps(sorted []term, keys []string, well []span, limit time.Duration) (out []violation) {
	for _, key := range keys {
		for _, w := range well {
			from := w.From
			for _, t := range sorted {
				if t.Key != key || t.To < w.From || t.From > w.To {
					continue
				}
				out = append(out, tooLong(key, from, t.From, limit)...)
				from = max(from, t.To)
			}
			out = append(out, tooLong(key, from, w.To, limit)...)
		}
	}
	return out
}

func tooLong(key string, from, to, limit time.Duration) []violation {
	if to-from <= limit {
		return nil
	}
	return []violation{{from, fmt.Sprintf("nobody holds %s for %v, from %v on, though some could", key, to-from, from)}}
}

// succession is a term that was cut short by a fault of its host, and when the next one began.
type succession struct {
	Key  string
	At   time.Duration // of the fault
	Took time.Duration // until the next term of another run; 0: there is none
}

// successions are those after a fault of a host, which lasted until a moment. A term that was longer has
// outlived it.
func successions(sorted []term, host string, at, until time.Duration) (out []succession) {
	for i, t := range sorted {
		if t.Host != host || at < t.From || at > t.To+time.Second || t.To > until {
			continue
		}
		s := succession{Key: t.Key, At: at}
		for _, next := range sorted[i+1:] {
			if next.Key == t.Key && next.Run != t.Run && next.From > at {
				s.Took = next.From - at
				break
			}
		}
		out = append(out, s)
	}
	return out
}
