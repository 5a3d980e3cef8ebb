// Package sessions is the probe of panes: every place where an agent can be
// seen running, as a session.Viewer shows it.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/session"
)

// Options is what the probe is made of.
type Options struct {
	Viewer session.Viewer `toml:"-"`
	// Orphan says of each session of our own server whether it belongs to no agent
	// that is registered; it answers for panes elsewhere too, and never with yes. It is
	// asked when the panes have been listed. Without it that is not known.
	Orphan func(ctx context.Context) (func(fleet.Pane) fleet.Leaf[bool], error) `toml:"-"`
}

// Probe fills the part sessions.
type Probe struct {
	viewer session.Viewer
	orphan func(ctx context.Context) (func(fleet.Pane) fleet.Leaf[bool], error)
}

// New makes the probe. It fails without a viewer.
func New(o Options) (*Probe, error) {
	if o.Viewer == nil {
		return nil, errors.New("cannot look at sessions: no viewer")
	}
	return &Probe{o.Viewer, o.Orphan}, nil
}

// Spec is the probe's clock: a look is one short client per server, so every thirty
// seconds is cheap; the deadline is above that of one server. What our own server
// tells has it look at once, and the agents too, which rest as long: so they share
// a look.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "sessions", Part: fleet.PartSessions, Every: 30 * time.Second, Deadline: 5 * time.Second, Rest: 2 * time.Second}
}

// Calm is always so: what our own server tells has it look at once, and what people have in
// theirs is no hurry.
func (p *Probe) Calm() bool { return true }

// Look lists the panes. With some servers silent it returns the panes of the
// others and an error that names the silent ones; with no server at all the part
// is absent.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	panes, err := p.viewer.Panes(ctx)
	if errors.Is(err, session.ErrAbsent) {
		return nil, fmt.Errorf("%w: %w", observe.ErrAbsent, err)
	}
	if err != nil && len(panes) == 0 {
		return nil, err
	}
	p.mark(ctx, panes)
	return func(s *fleet.Snapshot) { s.Sessions.Value = observe.Beside(s.Sessions.Value, panes) }, err
}

// mark says of each pane whether it is an orphan.
func (p *Probe) mark(ctx context.Context, panes []fleet.Pane) {
	if p.orphan == nil {
		return
	}
	orphan, err := p.orphan(ctx)
	for i := range panes {
		if err != nil {
			panes[i].Orphan = fleet.Unknown[bool](fleet.Line(err.Error(), 200))
			continue
		}
		panes[i].Orphan = orphan(panes[i])
	}
}
