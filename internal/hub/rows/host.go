package rows

import (
	"maps"
	"time"
)

// Host is what one host tells, as a value: its rows are not to be changed.
type Host struct {
	Name string
	Run  string        // of the daemon that told last; "" before a head has come
	Said time.Time     // when it told that, by its own clock: for show
	Age  time.Duration // how long ago a head came last; 0 before one has come
	// Missed is for how much of that the hub was telling: what is missed while it does not is no silence of a host.
	Missed time.Duration
	Rows   map[string][]byte // by KIND.ID
	Cut    []byte            // which rows are not told, a Cut as JSON; nil: all are told
	// Silent: no head has come for 15 s, or none at all.
	Silent bool
	// Heard: a head has come since it is listened to, within 15 s. Of one that is neither heard nor silent it is not known
	// yet: what the hub has of it may be of a host that is gone.
	Heard bool
	// Doubled: two daemons tell under this name at once, as of a machine that was cloned.
	Doubled bool
	// Odd is how many heads and rows came that are none, or are more than a host may have; they were set aside.
	Odd int
}

// hostState is what a board keeps of a host.
type hostState struct {
	rows   map[string][]byte
	size   int  // bytes of the values of rows
	lent   bool // rows were handed out, and are not changed any more
	cut    []byte
	head   head
	hasRun bool
	heard  time.Duration // when a head came last, by the board's clock
	runs   map[string]time.Duration
	twice  time.Duration // when it was last seen that there are two
	isTwo  bool          // and whether it ever was
	odd    int
	was    [3]bool // silent, doubled and heard, as was said last
}

func newHost() *hostState {
	return &hostState{rows: map[string][]byte{}, runs: map[string]time.Duration{}}
}

// put takes a row; beyond the limits of a host it is set aside.
func (h *hostState) put(key string, value []byte) {
	switch {
	case key == cutKey && len(value) <= mostRow:
		h.cut = value
		return
	case !isRow(key) || len(value) > mostRow, h.rows[key] == nil && len(h.rows) >= mostRows, h.size-len(h.rows[key])+len(value) > mostAll:
		h.odd++
		return
	case value == nil:
		value = []byte{}
	}
	h.own()
	h.size += len(value) - len(h.rows[key])
	h.rows[key] = value
}

func (h *hostState) remove(key string) {
	switch key {
	case cutKey:
		h.cut = nil
	case headKey:
		h.head, h.hasRun = head{}, false
	default:
		h.own()
		h.size -= len(h.rows[key])
		delete(h.rows, key)
	}
}

// own makes rows ones that may be changed.
func (h *hostState) own() {
	if h.lent {
		h.rows, h.lent = maps.Clone(h.rows), false
	}
}

// beats takes a head that came at a moment of the board's clock.
func (h *hostState) beats(value []byte, at time.Duration) {
	next, err := readHead(value)
	if err != nil {
		h.odd++
		return
	}
	if h.hasRun && h.isAnother(next, at) {
		h.twice, h.isTwo = at, true
	}
	if !h.hasRun || at > h.heard {
		h.heard = at
	}
	h.head, h.hasRun = next, true
	h.runs[next.Run] = at
	for run, last := range h.runs {
		if at-last >= silent {
			delete(h.runs, run)
		}
	}
}

// isAnother says whether a head cannot be of the daemon that told last nor of one that took its place:
// one that was heard lately tells again after another one, or tells the same number again, as two do
// that are copies of one.
func (h *hostState) isAnother(next head, at time.Duration) bool {
	if next.Run == h.head.Run {
		return next.Seq <= h.head.Seq
	}
	last, is := h.runs[next.Run]
	return is && at-last < silent
}

func (h *hostState) isEmpty() bool { return !h.hasRun && len(h.rows) == 0 && h.cut == nil }

// isSilent says whether no head has come for too long, of the time since which the hub tells.
func (h *hostState) isSilent(now, since time.Duration) bool {
	return !h.hasRun || now-max(h.heard, since) >= silent
}

// isHeard says whether a head has come lately, and since which the hub tells.
func (h *hostState) isHeard(now, since time.Duration) bool {
	return h.hasRun && h.heard > since && now-h.heard < silent
}

// IsLate says whether the newest head of a host is three heads late, by the hub's clock, whether or not the hub was there all the time.
func (h Host) IsLate() bool { return h.Age >= silent }

func (h *hostState) isDoubled(now time.Duration) bool { return h.isTwo && now-h.twice < silent }

// value is what is known now.
func (h *hostState) value(name string, now, since time.Duration) Host {
	h.lent = true
	out := Host{Name: name, Rows: h.rows, Cut: h.cut, Silent: h.isSilent(now, since), Doubled: h.isDoubled(now), Heard: h.isHeard(now, since), Odd: h.odd}
	if h.hasRun {
		out.Run, out.Said, out.Age = h.head.Run, h.head.At, max(0, now-h.heard)
		out.Missed = max(0, now-max(h.heard, since))
	}
	return out
}
