package forge

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// view is what is known of one project at the end of a look: values only.
type view struct {
	Project
	why     string // why it was not seen now; "" when it was
	clock   time.Time
	skew    fleet.Leaf[fleet.Duration]
	primary fleet.Leaf[string]
	active  fleet.Leaf[bool]
	issues  map[int]forge.Issue
	recent  map[int]forge.Issue // closed lately
	closed  map[int]forge.Issue // to be shown
	pulls   map[int]forge.Pull
	said    map[int]said
	heads   map[int]push
	asked   map[question]*answer
	trees   []Tree
}

func (p *project) view() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := view{Project: p.Project, active: p.active(), clock: p.Clock.Clock(), skew: fleet.Unknown[fleet.Duration]("the forge never answered"),
		issues: maps.Clone(p.issues), recent: maps.Clone(p.recent), closed: map[int]forge.Issue{}, pulls: maps.Clone(p.pulls), said: maps.Clone(p.said),
		heads: maps.Clone(p.heads), asked: maps.Clone(p.asked), why: p.blind()}
	if skew, ok := p.Clock.Skew(); ok {
		v.skew = fleet.Known(fleet.Duration(skew.Round(time.Second)))
	}
	for n, i := range p.recent {
		if v.clock.Sub(i.Closed) <= day {
			v.closed[n] = i
		}
	}
	for n := range p.wanted {
		if i, err := v.single(n); err == nil && !i.Open && !i.IsPull {
			v.closed[n] = i
		}
	}
	v.primary = known(v, question{askPrimary, 0, ""}, func(s string) string { return fleet.Line(s, 100) })
	return v
}

// blind says why the project is not seen; "" when it is. The mutex is held.
func (p *project) blind() string {
	switch {
	case p.why != "":
		return p.why
	case p.seen.IsZero():
		return "not looked yet"
	case p.now().Sub(p.seen) > 2*p.Every+deadline:
		return fmt.Sprintf("last seen %s ago", p.now().Sub(p.seen).Round(time.Second))
	}
	return ""
}

// single is the answer to the question for one issue.
func (v view) single(n int) (forge.Issue, error) {
	a := v.asked[question{askIssue, n, ""}]
	if a == nil || a.expired {
		return forge.Issue{}, errNotAsked
	}
	if a.err != nil {
		return forge.Issue{}, a.err
	}
	return a.value.(forge.Issue), nil
}

var errNotAsked = errors.New("not looked at yet")

// known is the answer to a question as a leaf.
func known[A, T any](v view, q question, turn func(A) T) fleet.Leaf[T] {
	if v.why != "" {
		return fleet.Unknown[T](v.why)
	}
	a := v.asked[q]
	if a == nil || a.expired {
		return fleet.Unknown[T](errNotAsked.Error())
	}
	if a.err != nil {
		return fleet.Unknown[T](reason(a.err))
	}
	return fleet.Known(turn(a.value.(A)))
}

// ended are the pull requests that were merged or closed within a week, as far as
// one page of them tells; none while that is not known.
func (v view) ended() (out []fleet.EndedPull) {
	list := known(v, question{askEnded, 0, ""}, func(list []forge.Ended) []forge.Ended { return list })
	for _, e := range list.Or(nil) {
		if _, open := v.pulls[e.Number]; open || v.clock.Sub(e.At) > 7*day {
			continue
		}
		out = append(out, fleet.EndedPull{Name: fleet.PullName(v.Name, e.Number), Project: v.Name, Number: e.Number, Title: line(e.Title, mostTitle), URL: line(e.URL, 300),
			Branch: line(e.Branch, mostName), Head: line(e.Head, 64), Base: line(e.Base, mostName), Fork: e.Fork, Merged: e.Merged, Ended: v.age(e.At)})
	}
	return out
}

// state is how an issue stands.
type state struct {
	why     string // why it cannot be told; "" when it can
	open    bool
	created time.Time
	closed  time.Time // zero when it is open, or that is not told
	missing bool      // there is no such issue
}

// state tells how issue n of the project stands. A pull request counts as one, unless they are
// counted apart.
func (v view) state(n int) state {
	if v.why != "" {
		return state{why: v.why}
	}
	if i, ok := v.issues[n]; ok {
		return state{open: true, created: i.Created}
	}
	if x, ok := v.pulls[n]; ok && v.Apart == nil {
		return state{open: true, created: x.Created}
	}
	if i, ok := v.recent[n]; ok {
		return state{created: i.Created, closed: i.Closed}
	}
	i, err := v.single(n)
	switch {
	case forge.IsMissing(err):
		return state{missing: true}
	case err != nil:
		return state{why: reason(err)}
	}
	return state{open: i.Open, created: i.Created, closed: i.Closed}
}
