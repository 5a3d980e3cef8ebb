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
	screenLines  = 40
)

// shot is a screen as it was read.
type shot struct {
	text string
	at   fleet.Instant
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
		if s, ok := l.Probe.screens[id]; ok && l.now.Since(s.at) < screensEvery && l.now.Since(s.at) >= 0 {
			l.screened[id] = s.text
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
		l.Probe.screens[id] = shot{text, l.now}
	}
}
