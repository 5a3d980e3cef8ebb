// Package ci is the probe of CI systems: the pipelines of each project that are
// not over, the newest of each branch that are, and the workers. It tells a
// failure of the machinery from one of the code, by rules. It changes nothing.
package ci

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/sys/ci"
)

// Reader looks at one project of one CI system; *ci.Reader is one.
type Reader interface {
	Pipelines(ctx context.Context) (ci.Listing, error)
	Failed(ctx context.Context, p ci.Pipeline) ([]ci.Step, error)
	Workers(ctx context.Context) ([]ci.Worker, time.Time, error)
}

// System is one section [ci.NAME]: one project of one CI system.
type System struct {
	Name    string
	Project string // what Custos calls it
	Repo    string // OWNER/NAME, as the server calls it
	Primary string // branch; "": what the server says
	Owner   fleet.Owner
	Reader  Reader
	Infra   []Rule // asked before the built-in ones; see Rules
	// Workers maps names of workers that must be there to the containers they run in.
	Workers map[string]string
	// TellsWorkers says that a server which does not list its workers is to be
	// complained about: with some it takes a token that few have.
	TellsWorkers bool
	Silent       time.Duration // a worker that did not speak for longer is not healthy; 5m
	Forget       time.Duration // one that is not in Workers is forgotten after so long; 24h
	// Spare says whether more may be asked of the server than must be; nil: it may.
	Spare func() bool
}

// Options say what is looked at.
type Options struct {
	Systems []System
	Every   time.Duration // between two looks; 1m
}

// Times of one look.
const (
	deadline = 60 * time.Second
	patience = 45 * time.Second // with one system
)

// Probe fills the part "ci".
type Probe struct {
	every   time.Duration
	systems []*watch
}

// New checks the options.
func New(o Options) (*Probe, error) {
	p := &Probe{every: o.Every}
	if p.every <= 0 {
		p.every = time.Minute
	}
	for _, s := range o.Systems {
		rules, err := Rules(s.Infra)
		if err != nil {
			return nil, fmt.Errorf("cannot look at CI %s: %w", s.Name, err)
		}
		if s.Silent <= 0 {
			s.Silent = 5 * time.Minute
		}
		if s.Forget <= 0 {
			s.Forget = 24 * time.Hour
		}
		p.systems = append(p.systems, &watch{System: s, rules: rules, verdicts: map[failure]verdict{}})
	}
	return p, nil
}

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "ci", Part: fleet.PartCI, Every: p.every, Deadline: deadline, Rest: 10 * time.Second}
}

// Hear implements observe.Hearer: all systems are looked at again before it is time, when one is
// of that repository and more may be asked of each than must be.
func (p *Probe) Hear(repo string) (hears bool) {
	for _, s := range p.systems {
		if s.Spare != nil && !s.Spare() {
			return false
		}
		hears = hears || strings.EqualFold(s.Repo, repo)
	}
	return hears
}

// Look implements observe.Probe. Of a system that does not answer everything is
// unknown, and the others are as they are; when none answers, that is an error too.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if len(p.systems) == 0 {
		return nil, fmt.Errorf("cannot look at CI: none is configured: %w", observe.ErrAbsent)
	}
	seen, errs := make([]fleet.CI, len(p.systems)), make([]error, len(p.systems))
	var wg sync.WaitGroup
	for i, s := range p.systems {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			seen[i], errs[i] = s.look(ctx)
		})
	}
	wg.Wait()
	var all fleet.CI
	for i := range seen {
		all.Pipelines = append(all.Pipelines, seen[i].Pipelines...)
		all.Workers = append(all.Workers, seen[i].Workers...)
	}
	return func(s *fleet.Snapshot) { s.CI.Value = all }, together(errs)
}

// together is an error when every system has one, on one line.
func together(errs []error) (all error) {
	for _, err := range errs {
		switch {
		case err == nil:
			return nil
		case all == nil:
			all = err
		default:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}
