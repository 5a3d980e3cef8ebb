// Package spending is the probe of what models cost: it adds up the ledger of usage for each
// budget. It reads the ledger alone, and adds up anew only when something was written down there, or a
// window has moved on. Who writes there has it look at once: its own clock is for what nobody tells of.
package spending

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

// Limits of a look.
const (
	every    = 10 * time.Second
	deadline = 10 * time.Second
	rest     = time.Second // a budget that is used up holds within a second
	ease     = 20
	paces    = 2 * time.Minute // how fast each agent spends is looked at as often
	faults   = 24 * time.Hour
)

// Ledger is what is asked of the ledger of usage.
type Ledger interface {
	Spending(ctx context.Context, scopes []fleet.SpendScope) ([]fleet.Spending, error)
	SpentNow(ctx context.Context, at time.Time) ([]fleet.AgentSpends, error)
	UsageFaults(ctx context.Context, since time.Time) ([]fleet.UsageFault, error)
	// UsageMark is another text whenever something was written down.
	UsageMark(ctx context.Context, at time.Time) (string, error)
}

// Options are what the probe needs.
type Options struct {
	Budgets []fleet.Budget
	// Ledger opens the ledger; nil where there is none yet, of which nothing was spent.
	Ledger func(context.Context) (Ledger, error)
	// Counting says why nothing is counted now, or that some conversations cannot be read, and until when all was
	// counted; nil: it is.
	Counting func(context.Context) Counting
	Now      func() fleet.Instant
}

// Counting is how what models use is being counted now: see fleet.Spendings.
type Counting struct {
	Uncounted, Unread string
	Counted           time.Time
}

// over lays it over what was summed up.
func (c Counting) over(s fleet.Spendings) fleet.Spendings {
	s.Uncounted, s.Unread = c.Uncounted, c.Unread
	if c.Uncounted != "" {
		s.Counted = c.Counted
	}
	return s
}

// Probe fills the part "spending".
type Probe struct {
	o     Options
	zones map[string]*time.Location

	mark          string
	summed, paced time.Time
	ends          time.Time // the next end of a window
	last          fleet.Spendings
}

// New checks the options.
func New(o Options) (*Probe, error) {
	if o.Now == nil {
		return nil, errors.New("cannot look at spending: no clock")
	}
	if o.Ledger == nil {
		o.Ledger = func(context.Context) (Ledger, error) { return nil, nil }
	}
	if o.Counting == nil {
		o.Counting = func(context.Context) Counting { return Counting{} }
	}
	p := &Probe{o: o, zones: map[string]*time.Location{"": time.Local}}
	for _, b := range o.Budgets {
		zone, err := time.LoadLocation(b.Zone)
		if err != nil {
			return nil, fmt.Errorf("budget %s: there is no zone %q", b.Name, fleet.Line(b.Zone, 80))
		}
		if b.Zone != "" {
			p.zones[b.Zone] = zone
		}
	}
	return p, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "spending", Part: fleet.PartSpending, Every: every, Deadline: deadline, Rest: rest, Ease: ease}
}

// Again implements observe.Expecting: the next window begins with nothing spent.
func (p *Probe) Again() time.Duration {
	if p.ends.IsZero() {
		return 0
	}
	return max(0, p.ends.Sub(p.o.Now().Wall))
}

// Look implements observe.Probe.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	ledger, err := p.o.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	if ledger == nil {
		seen := p.o.Counting(ctx).over(fleet.Spendings{})
		return func(s *fleet.Snapshot) { s.Spending.Value = seen }, nil
	}
	at := p.o.Now().Wall
	mark, err := ledger.UsageMark(ctx, at)
	if err != nil {
		return nil, err
	}
	if mark != p.mark || p.due(at) {
		if err := p.sum(ctx, ledger, at); err != nil {
			return nil, err
		}
		p.mark = mark
	}
	seen := p.o.Counting(ctx).over(p.last)
	return func(s *fleet.Snapshot) { s.Spending.Value = seen }, nil
}

// due says whether windows have moved on, or the clock has. What was spent in the last hour is
// another sum at any moment.
func (p *Probe) due(at time.Time) bool {
	slides := slices.ContainsFunc(p.last.Sums, func(s fleet.Spending) bool { return len(s.Recent) > 0 })
	return at.Before(p.summed) || slides && at.Sub(p.summed) >= every || at.Sub(p.paced) >= paces || !p.ends.IsZero() && !at.Before(p.ends)
}

func (p *Probe) sum(ctx context.Context, ledger Ledger, at time.Time) error {
	scopes, until := p.scopes(at)
	sums, err := ledger.Spending(ctx, scopes)
	if err != nil {
		return err
	}
	for i := range sums {
		sums[i].Until = until[sums[i].Budget]
	}
	next := fleet.Spendings{Sums: sums, Agents: p.last.Agents}
	if next.Faults, err = ledger.UsageFaults(ctx, at.Add(-faults)); err != nil {
		return err
	}
	if paced := at.Sub(p.paced); paced < 0 || paced >= paces {
		if next.Agents, err = ledger.SpentNow(ctx, at); err != nil {
			return err
		}
		p.paced = at
	}
	p.last, p.summed, p.ends = next, at, time.Time{}
	for _, end := range until {
		if p.ends.IsZero() || end.Before(p.ends) {
			p.ends = end
		}
	}
	return nil
}

// scopes is what is asked for each budget, and when its window ends.
func (p *Probe) scopes(at time.Time) (out []fleet.SpendScope, until map[string]time.Time) {
	until = map[string]time.Time{}
	for _, b := range p.o.Budgets {
		from, end := b.Window.Bounds(at, p.zones[b.Zone])
		if !end.IsZero() {
			until[b.Name] = end
		}
		out = append(out, fleet.SpendScope{Budget: b.Name, By: b.By, Of: b.Of, Session: b.Window == fleet.WindowSession, Hours: b.Minutes > 0, From: from, At: at})
	}
	return out, until
}
