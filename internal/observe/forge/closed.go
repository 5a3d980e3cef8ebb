package forge

import (
	"context"
	"errors"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// mostWanted is how many issues of one project phase files may name.
const mostWanted = 200

var errTooMany = errors.New("too many issues are asked about")

// Tracked says whether a forge is configured for a project.
func (p *Probe) Tracked(project string) bool { return p.projects[project] != nil }

// Closed says whether an issue, or the pull request of that number, is closed, and
// since when by the forge's clock; 0 while it is open. What was seen lately is
// answered from memory; what was not is asked for, once. Whatever fails is unknown.
func (p *Probe) Closed(ctx context.Context, project string, number int) (fleet.Leaf[bool], fleet.Leaf[fleet.Duration]) {
	x := p.projects[project]
	if x == nil {
		return neither("no forge is configured for project " + fleet.Line(project, mostName))
	}
	v, err := x.want(number)
	if err != nil {
		return neither(reason(err))
	}
	s := v.state(number)
	if s.why == errNotAsked.Error() || v.why != "" && x.never() {
		s, v = x.askNow(ctx, number)
	}
	switch {
	case s.why != "":
		return neither(s.why)
	case s.missing:
		return neither("the forge knows of no such issue")
	case s.open:
		return fleet.Known(false), fleet.Known[fleet.Duration](0)
	}
	return fleet.Known(true), v.age(s.closed)
}

func neither(why string) (fleet.Leaf[bool], fleet.Leaf[fleet.Duration]) {
	return fleet.Unknown[bool](why), fleet.Unknown[fleet.Duration](why)
}

// want notes that an issue is asked about.
func (p *project) want(number int) (view, error) {
	p.mu.Lock()
	_, known := p.wanted[number]
	if !known && len(p.wanted) >= mostWanted {
		p.mu.Unlock()
		return view{}, errTooMany
	}
	p.wanted[number] = p.now()
	p.mu.Unlock()
	return p.view(), nil
}

// never says whether no look has ended yet.
func (p *project) never() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.IsZero() && p.why == ""
}

// patience is how long one issue may be waited for: whoever asks has a look of
// their own to end.
const patience = 3 * time.Second

// askNow asks for one issue at once. A failure is remembered, so that a forge that
// is down is not asked for each.
func (p *project) askNow(ctx context.Context, number int) (state, view) {
	q := question{askIssue, number, ""}
	p.mu.Lock()
	before, tired := p.asked[q], p.now().Sub(p.failed) < p.Every
	p.mu.Unlock()
	if before != nil && before.expired {
		before = nil
	}
	if before == nil && tired {
		return state{why: "the forge did not answer lately"}, p.view()
	}
	if before == nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		before = ask(ctx, p.Reader, asking{question: q})
		before.tried = p.now()
		p.mu.Lock()
		p.asked[q] = before
		if before.err != nil && !forge.IsMissing(before.err) {
			p.failed = p.now()
		}
		p.mu.Unlock()
	}
	v := p.view()
	v.why = ""
	if before.err != nil && !forge.IsMissing(before.err) {
		return state{why: reason(before.err)}, v
	}
	if before.err != nil {
		return state{missing: true}, v
	}
	i := before.value.(forge.Issue)
	return state{open: i.Open, created: i.Created, closed: i.Closed}, v
}
