package observe

import "custos/internal/fleet"

// overlay is news that came by event, laid over what probes saw before it.
type overlay struct {
	part  fleet.PartName
	put   Put
	after map[*entry]int // looks numbered above this began after the news
}

// Overlay lays news over a part, for what an event tells exactly and a look
// would only find later. put is applied to every snapshot from now on, after
// what the probes of the part saw, until each of them has ended a good look that
// began after this call: that look has seen the news by itself. How well the
// part is seen does not change by it, and a part that is not usable stays empty.
// It wakes with the reason.
//
// put may be applied many times, to facts that hold the news already, and must
// not change the slices it finds.
func (b *Board) Overlay(part fleet.PartName, put Put, reason string) {
	o := &overlay{part: part, put: put, after: map[*entry]int{}}
	for _, e := range b.entries {
		if e.spec.Part == part {
			o.after[e] = e.begunLooks()
		}
	}
	b.mu.Lock()
	b.overlays = append(b.overlays, o)
	b.mu.Unlock()
	b.wake(reason)
}

// current returns the overlays of a part that its probes have not seen by
// themselves yet, oldest first, and forgets the others.
func (b *Board) current(part fleet.PartName) []*overlay {
	b.mu.Lock()
	defer b.mu.Unlock()
	var mine []*overlay
	kept := b.overlays[:0]
	for _, o := range b.overlays {
		if o.part != part {
			kept = append(kept, o)
			continue
		}
		if !o.seen() {
			kept, mine = append(kept, o), append(mine, o)
		}
	}
	clear(b.overlays[len(kept):])
	b.overlays = kept
	return mine
}

// seen says whether every probe of the part has looked well since.
func (o *overlay) seen() bool {
	for e, n := range o.after {
		if e.goodLook() <= n {
			return false
		}
	}
	return len(o.after) > 0
}

// begunLooks is the number of the newest look that began; from 1.
func (e *entry) begunLooks() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.begun
}

// goodLook is the number of the newest look that ended well.
func (e *entry) goodLook() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.goodOf
}
