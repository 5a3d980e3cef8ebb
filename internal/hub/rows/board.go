package rows

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What a board can watch.
const (
	Everything = ">"
	Heads      = "*." + headKey
)

// Of is the rows of one kind.
func Of(kind string) string { return "*." + kind + ".*" }

// BoardOptions say what a board stands on.
type BoardOptions struct {
	// Now is how long ago some moment of the past was, by a clock of this machine that nobody sets and that goes on while
	// the machine sleeps (CLOCK_BOOTTIME).
	Now func() time.Duration
	// Changed is called when something is otherwise than before; what changes while it runs or shortly after
	// is one change more. Nil: nobody is told.
	Changed func()
	// Own is a host that tells each beat: while nothing of it comes the hub tells nothing, and nobody is silent. "": there is
	// none, and who is not heard is silent.
	Own string
	Log *slog.Logger // nil: nothing is logged
}

// Board holds what all hosts tell. It is safe for concurrent use.
type Board struct {
	BoardOptions
	js    jetstream.JetStream
	every time.Duration // checkEvery
	news  chan struct{} // has one when something may be otherwise

	mu    sync.Mutex
	hosts map[string]*hostState
	whole bool   // all that is in the bucket has come
	blind string // why nothing is told now
	dirty bool
	told  time.Duration // when something of Own came last
	again time.Duration // and since when it comes without a gap
}

// NewBoard holds nothing yet.
func NewBoard(js jetstream.JetStream, o BoardOptions) (*Board, error) {
	if o.Now == nil {
		return nil, errors.New("cannot hold what hosts tell without a clock")
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Board{BoardOptions: o, js: js, every: checkEvery, news: make(chan struct{}, 1), hosts: map[string]*hostState{}, blind: Unwatched}, nil
}

// Unwatched is why a board is blind that nobody has looked at yet.
const Unwatched = "nobody has looked until now"

// Snapshot is what is known at one moment, as a value.
type Snapshot struct {
	Hosts []Host // by name
	// Whole: all that was in the bucket when the watch began has come.
	Whole bool
	// Blind is why nothing is told now; then all that is here is what was, and the silence of hosts means
	// nothing. "": it is told.
	Blind string
	// For is how long it has been told without a gap; 0 while it is not.
	For time.Duration
}

// Snapshot returns what is known now, at once. What it returns is not to be changed.
func (b *Board) Snapshot() Snapshot {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := Snapshot{Hosts: make([]Host, 0, len(b.hosts)), Whole: b.whole, Blind: b.blind}
	for _, name := range slices.Sorted(maps.Keys(b.hosts)) {
		out.Hosts = append(out.Hosts, b.hosts[name].value(name, now, b.again))
	}
	if out.Blind == "" && b.isDeaf(now) {
		out.Blind = "nothing has come from the hub for " + (now - b.told).Truncate(time.Second).String()
	}
	if out.Blind == "" && out.Whole {
		out.For = now - b.again
	}
	return out
}

// isDeaf says whether the hub tells nothing, as this host's own beats do not come back.
func (b *Board) isDeaf(now time.Duration) bool { return b.Own != "" && now-b.told >= deaf }

// hears notes that something of a host has come.
func (b *Board) hears(name string, now time.Duration) {
	if name != b.Own {
		return
	}
	if b.isDeaf(now) {
		b.again = now
	}
	b.told = now
}

// apply takes one entry into hosts; at is when it was written, by the board's clock.
func apply(hosts map[string]*hostState, e jetstream.KeyValueEntry, at time.Duration) {
	name, key, is := strings.Cut(e.Key(), ".")
	if !is || !hostName.MatchString(name) {
		return // the hub lets no host write it
	}
	h := hosts[name]
	if h == nil {
		h = newHost()
		hosts[name] = h
	}
	switch {
	case e.Operation() != jetstream.KeyValuePut:
		h.remove(key)
	case key == headKey:
		h.beats(e.Value(), at)
	default:
		h.put(key, e.Value())
	}
	if h.isEmpty() && h.odd == 0 {
		delete(hosts, name)
	}
}

// update takes an entry that came now.
func (b *Board) update(e jetstream.KeyValueEntry) {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	name, key, _ := strings.Cut(e.Key(), ".")
	run := b.run(name)
	b.hears(name, now)
	apply(b.hosts, e, now)
	if key != headKey || run != b.run(name) { // that a head came changes nothing by itself
		b.changes()
	}
}

// changes notes that something is otherwise.
func (b *Board) changes() {
	b.dirty = true
	b.wake()
}

// wake has it be looked whether something is otherwise.
func (b *Board) wake() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// run is the one that a host told of last; "" where there is none.
func (b *Board) run(name string) string {
	if h := b.hosts[name]; h != nil && h.hasRun {
		return h.head.Run
	}
	return ""
}

// replace takes what was in the bucket in the place of all that was known.
func (b *Board) replace(hosts map[string]*hostState) {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Own != "" {
		b.told, b.again = now, now // of what was told before it is not known how the hub was then
	}
	b.hosts, b.whole, b.blind = hosts, true, ""
	b.changes()
}

// miss says why nothing is told any more.
func (b *Board) miss(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blind != why {
		b.changes()
	}
	b.blind = why
}

// drop forgets everything.
func (b *Board) drop(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts, b.whole, b.blind, b.dirty = map[string]*hostState{}, false, why, false
}

// hasChanged says whether something is otherwise than when it was asked last: a row, whether a host
// is silent or doubled, or whether anything is told.
func (b *Board) hasChanged() bool {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.hosts {
		if is := [3]bool{h.isSilent(now, b.again), h.isDoubled(now), h.isHeard(now, b.again)}; is != h.was {
			h.was, b.dirty = is, true
		}
	}
	was := b.dirty
	b.dirty = false
	return was
}
