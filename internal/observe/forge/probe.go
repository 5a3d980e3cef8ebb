package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe"
)

// Probe fills the part "forge".
type Probe struct {
	o        Options
	every    time.Duration
	projects map[string]*project
	order    []string
}

// deadline is of one look: the first asks a question for each issue.
const deadline = time.Minute

// Spec implements observe.Probe.
func (p *Probe) Spec() observe.Spec {
	return observe.Spec{Name: "forge", Part: fleet.PartForge, Every: p.every, Deadline: deadline, Rest: LeastEvery}
}

// Hear implements observe.Hearer: the projects that are that repository are looked at again
// before it is time, as long as more may be asked of their forge than must be.
func (p *Probe) Hear(repo string) (hears bool) {
	for _, x := range p.projects {
		if strings.EqualFold(x.Repo, repo) && x.Clock.Spare() {
			x.hear()
			hears = true
		}
	}
	return hears
}

// Look implements observe.Probe. A project whose forge cannot be asked keeps its
// issues and pull requests, with unknown leaves, and the others do not feel it.
// Only when none can be asked is the part stale.
func (p *Probe) Look(ctx context.Context) (observe.Put, error) {
	if len(p.order) == 0 {
		return nil, fmt.Errorf("cannot look at forges: no [forge.NAME] is configured: %w", observe.ErrAbsent)
	}
	ctx, cancel := context.WithTimeout(ctx, deadline*9/10)
	defer cancel()
	p.askNamed(ctx)
	var wg sync.WaitGroup
	for _, name := range p.order {
		wg.Go(func() { p.projects[name].look(ctx) })
	}
	wg.Wait()
	hands := p.hands(ctx)
	views := make([]view, len(p.order))
	for i, name := range p.order {
		views[i] = p.projects[name].view()
		views[i].trees = p.trees(ctx, views[i].Path)
	}
	out := compose(views, hands)
	p.count(&out)
	return func(s *fleet.Snapshot) { s.Forge.Value = out }, blindness(views)
}

// blindness is an error when no project is seen: one line, which says each reason
// once.
func blindness(views []view) error {
	var whys []string
	by := map[string][]string{}
	for _, v := range views {
		if v.why == "" {
			return nil
		}
		if by[v.why] == nil {
			whys = append(whys, v.why)
		}
		by[v.why] = append(by[v.why], v.Name)
	}
	for i, why := range whys {
		whys[i] = strings.Join(by[why], ", ") + ": " + why
	}
	return errors.New(strings.Join(whys, "; "))
}

// hands lists who may be at work. When that cannot be told nobody is known to be,
// which is what an empty name of an agent means.
func (p *Probe) hands(ctx context.Context) []Hand {
	if p.o.Agents == nil {
		return nil
	}
	list, err := p.o.Agents(ctx)
	if err != nil {
		return nil
	}
	return list
}

// trees lists the worktrees of a project; none when that cannot be told.
func (p *Probe) trees(ctx context.Context, repo string) []Tree {
	if p.o.Worktrees == nil || repo == "" {
		return nil
	}
	list, err := p.o.Worktrees(ctx, repo)
	if err != nil {
		return nil
	}
	return list
}

// count counts the looks in a row that found open issues and none ready.
func (p *Probe) count(f *fleet.Forge) {
	for i := range f.Projects {
		x := &f.Projects[i]
		open := false
		for _, issue := range f.Issues {
			open = open || issue.Project == x.Name && issue.Open.Or(false)
		}
		x.Empty = p.projects[x.Name].emptiness(x.Ready, open)
	}
}
