package agents

import (
	"context"
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// screensEvery is how often a screen is read at most, and screenLines how much
// of it: what is read for is at its end.
const (
	screensEvery = 10 * time.Second
	ownEvery     = 900 * time.Millisecond // of agents of ours, which orders wait for: less than from one glimpse of their windows to the next
	screensLast  = 5 * time.Minute        // a screen is read again by then, even when nothing was written
	screenLines  = 40
)

// shot is a screen as it was read.
type shot struct {
	text  string
	seen  agent.Seen // what text says to the kind that it was read for
	at    fleet.Instant
	used  fleet.Instant // when it was last asked for
	asks  string        // the dialog that it shows, by its hash; "" for none
	asked fleet.Instant // when that was read first
	rest  string        // the newest dialog that was read alike for as long as drawing takes
	since fleet.Instant // of the first look that found a dialog being drawn
}

// isDrawing says whether it shows a dialog that was not read for long: a CLI may be drawing it
// still, and then it is another one a moment later.
func (s shot) isDrawing() bool { return s.asks != s.rest && s.asks != "" }

// holds says whether a screen is as it was when it was read: it was read a
// moment ago, or its window was not written to since. The activity of a window
// is told in whole seconds.
func (s shot) holds(r run, now fleet.Instant) bool {
	if s.isDrawing() {
		return false
	}
	age, every := now.Since(s.at), screensEvery
	if r.reg != nil {
		every = ownEvery
	}
	wrote, ok := r.pane.Activity.Get()
	return age >= 0 && (age < every || ok && age < screensLast && time.Duration(wrote) > age+2*time.Second)
}

// drawn is how long a CLI may take to show what it told of by a hook.
const drawn = 2 * time.Second

// toldSince says whether a run told of something that a screen read at that
// moment need not show yet. Tools come and go too often to count.
func (l *look) toldSince(r run, at fleet.Instant) bool {
	for _, e := range l.eventsOf(r) {
		switch e.Event {
		case fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookStatus, fleet.HookNotice, fleet.HookBeat:
			continue
		}
		if at.Before(e.At.Add(drawn)) {
			return true
		}
	}
	return false
}

// seeScreens reads the screens of panes that hold an agent with an interface.
// Screens that cannot be read are just not there.
func (l *look) seeScreens(ctx context.Context) {
	l.screened = map[fleet.PaneID]string{}
	var ask []run
	wanted := map[fleet.PaneID]bool{}
	for _, r := range l.runs {
		if r.pane == nil || r.OneShot || r.Parent.PID != 0 || wanted[r.pane.ID] {
			continue
		}
		id := r.pane.ID
		wanted[id] = true
		if s, ok := l.Probe.screens[id]; ok && s.holds(r, l.now) && !l.toldSince(r, s.at) {
			l.screened[id] = s.text
			s.seen, s.used = s.seen.Again(r.kind, s.text), l.now
			l.Probe.screens[id] = s
		} else {
			ask = append(ask, r)
		}
	}
	l.read(ctx, ask)
	if ask = slices.DeleteFunc(ask, l.isDrawn); len(ask) > 0 {
		l.o.Pause(ctx, redrawn)
		l.read(ctx, ask)
	}
}

// redrawn is how long a CLI may take from one drawing to the next, and settles how long until
// it has drawn all: with the former alone, one of some forty answers to Qwen Code 0.24.4 was
// refused on a busy machine, because its dialog had become another one. One that goes on drawing is looked at again in redraws, for as long as
// hurries: what moves for longer is no drawing.
const (
	redrawn = 120 * time.Millisecond
	settles = 500 * time.Millisecond
	redraws = 300 * time.Millisecond
	hurries = 5 * time.Second
)

// read reads the screens of runs, and which dialog each of them shows.
func (l *look) read(ctx context.Context, ask []run) {
	if l.o.Screens == nil || len(ask) == 0 {
		return
	}
	var ids []fleet.PaneID
	for _, r := range ask {
		ids = append(ids, r.pane.ID)
	}
	got, _ := l.o.Screens(ctx, ids, screenLines)
	for _, r := range ask {
		if text, ok := got[r.pane.ID]; ok {
			l.screened[r.pane.ID] = text
			l.Probe.screens[r.pane.ID] = l.Probe.screens[r.pane.ID].next(r, text, l.now, l.settles())
		}
	}
}

// settles is how long a dialog has to have been read alike. Who looks for the first time comes to
// one that stands already: two readings in a row are enough.
func (l *look) settles() time.Duration {
	if !l.Probe.looked {
		return 0
	}
	return settles
}

// next is the screen of the same pane, read once more.
func (s shot) next(r run, text string, now fleet.Instant, settles time.Duration) shot {
	after := shot{text: text, seen: s.seen.Again(r.kind, text), at: now, used: now}
	d, ok := agent.ReadDialog(r.kind, text, r.pane.Title)
	if !ok {
		return after
	}
	after.asks, after.asked, after.rest, after.since = d.Hash, now, s.rest, now
	if s.asks == d.Hash {
		after.asked = s.asked
		if now.Since(s.asked) >= settles {
			after.rest = d.Hash
		}
	}
	if s.isDrawing() {
		after.since = s.since
	}
	return after
}

// isDrawn says whether the screen of a run shows no dialog that may still be drawn.
func (l *look) isDrawn(r run) bool {
	_, read := l.screened[r.pane.ID]
	return !read || !l.Probe.screens[r.pane.ID].isDrawing()
}

// redraw is in what time the first dialog that is still drawn may be drawn; 0 where none is.
func (l *look) redraw() time.Duration {
	for id := range l.screened {
		if s := l.Probe.screens[id]; s.isDrawing() && l.now.Since(s.since) < hurries {
			return redraws
		}
	}
	return 0
}
