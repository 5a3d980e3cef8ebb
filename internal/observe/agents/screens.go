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
	screensLast  = 5 * time.Minute // a screen is read again by then, even when nothing was written
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
func (s shot) holds(pane *fleet.Pane, now fleet.Instant) bool {
	age := now.Since(s.at)
	wrote, ok := pane.Activity.Get()
	return age >= 0 && (age < screensEvery || ok && age < screensLast && time.Duration(wrote) > age+2*time.Second)
}

// drawn is how long a dialog may take to be on the screen after its hook was
// called.
const drawn = 2 * time.Second

// askedSince says whether a run told of a dialog that a screen read at that
// moment need not show yet.
func (l *look) askedSince(r run, at fleet.Instant) bool {
	for _, e := range l.eventsOf(r) {
		if (e.Event == fleet.HookPermission || e.Event == fleet.HookQuestion) && at.Before(e.At.Add(drawn)) {
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
		if s, ok := l.Probe.screens[id]; ok && s.holds(r.pane, l.now) && !l.askedSince(r, s.at) {
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
