package forge

import (
	"context"
	"strconv"
	"strings"

	"custos/internal/fleet"
)

// askNamed notes the issues that somebody depends on, so that they are shown though
// they were closed long ago. When they cannot be told, the lists will have to do.
func (p *Probe) askNamed(ctx context.Context) {
	if p.o.Named == nil {
		return
	}
	list, err := p.o.Named(ctx)
	if err != nil {
		return
	}
	for _, r := range list {
		if r.Tracker() != fleet.TrackerIssue {
			continue
		}
		i := strings.LastIndex(string(r), "#")
		number, err := strconv.Atoi(string(r[i+1:]))
		if x := p.projects[string(r[:i])]; x != nil && err == nil {
			x.note(number)
		}
	}
}

// note has one issue asked about from the next look on, as far as there is room.
func (p *project) note(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.wanted[number]; known || len(p.wanted) < mostWanted {
		p.wanted[number] = p.now()
	}
}
