package agents

import (
	"context"
	"time"

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
	text string
	at   fleet.Instant
	used fleet.Instant // when it was last asked for
}

// holds says whether a screen is as it was when it was read: it was read a
// moment ago, or its window was not written to since. The activity of a window
// is told in whole seconds.
func (s shot) holds(r run, now fleet.Instant) bool {
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
	var ask []fleet.PaneID
	wanted := map[fleet.PaneID]bool{}
	for _, r := range l.runs {
		if r.pane == nil || r.OneShot || r.Parent.PID != 0 || wanted[r.pane.ID] {
			continue
		}
		id := r.pane.ID
		wanted[id] = true
		if s, ok := l.Probe.screens[id]; ok && s.holds(r, l.now) && !l.toldSince(r, s.at) {
			l.screened[id] = s.text
			s.used = l.now
			l.Probe.screens[id] = s
		} else {
			ask = append(ask, id)
		}
	}
	if l.o.Screens == nil || len(ask) == 0 {
		return
	}
	got, _ := l.o.Screens(ctx, ask, screenLines)
	for id, text := range got {
		l.screened[id] = text
		l.Probe.screens[id] = shot{text, l.now, l.now}
	}
}
