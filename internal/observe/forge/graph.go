package forge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/forge"
)

// node is one open issue and what it waits for.
type node struct {
	name   string
	why    string // why not all of it can be told
	by     []edge
	number int
	of     string // project
}

// edge is something that an issue waits for, and that is not closed.
type edge struct {
	name string
	open bool                       // it is known to be
	age  fleet.Leaf[fleet.Duration] // of it
}

// surely says whether it waits for something that is known to be open.
func (n node) surely() bool {
	return slices.ContainsFunc(n.by, func(e edge) bool { return e.open })
}

// names lists what it waits for, and does not leave out what is not seen.
func (n node) names() fleet.Leaf[[]string] {
	out := []string{}
	for _, e := range n.by {
		out = append(out, e.name)
	}
	out = short(out)
	if len(out) == 0 && n.why != "" {
		return fleet.Unknown[[]string](n.why)
	}
	return fleet.Known(out)
}

// mostNames is how many names a list of them shows.
const mostNames = 25

// short is a list that people can read: anybody may write a long one.
func short(names []string) []string {
	if len(names) <= mostNames {
		return names
	}
	return append(names[:mostNames-1:mostNames-1], "…")
}

// oldest is the age of the oldest of them.
func (n node) oldest() fleet.Leaf[fleet.Duration] {
	if n.why != "" {
		return fleet.Unknown[fleet.Duration](n.why)
	}
	var oldest fleet.Duration
	for _, e := range n.by {
		age, known := e.age.Get()
		if !known {
			return fleet.Unknown[fleet.Duration](fleet.Line(e.name+": "+e.age.Why(), 200))
		}
		oldest = max(oldest, age)
	}
	return fleet.Known(oldest)
}

// waits finds out what every open issue waits for: by what it says, and by the
// dependencies of the forge.
func waits(views []view) map[string]node {
	out := map[string]node{}
	for i := range views {
		v := &views[i]
		if v.why != "" {
			continue
		}
		for number := range v.issues {
			n := node{name: fleet.IssueName(v.Name, number), number: number, of: v.Name}
			for _, r := range v.said[number].waits {
				n.add(views, v, r, nil)
			}
			n.native(views, v, number)
			slices.SortFunc(n.by, func(a, b edge) int { return cmp.Compare(a.name, b.name) })
			out[n.name] = n
		}
	}
	return out
}

// native adds the dependencies that the forge itself keeps. A forge that has none
// of its own says that there is no such thing.
func (n *node) native(views []view, v *view, number int) {
	if v.issues[number].Native == 0 {
		return
	}
	a := v.asked[question{askBlockers, number, ""}]
	switch {
	case a == nil || a.expired:
		n.why = errNotAsked.Error()
	case forge.IsMissing(a.err):
	case a.err != nil:
		n.why = reason(a.err)
	default:
		for _, i := range a.value.([]forge.Issue) {
			n.add(views, v, ref{i.Repo, i.Number}, &i)
		}
	}
}

// add adds what one thing says that it waits for, unless that is closed. seen is
// how a forge saw it lately, where one did.
func (n *node) add(views []view, v *view, r ref, seen *forge.Issue) {
	name, s := stand(views, v, r)
	if s.why != "" && seen != nil {
		s = state{open: seen.Open, created: seen.Created}
	}
	if s.missing || s.why == "" && !s.open || slices.ContainsFunc(n.by, func(e edge) bool { return e.name == name }) {
		return
	}
	e := edge{name: name, age: fleet.Unknown[fleet.Duration](s.why)}
	if s.why == "" {
		e.open, e.age = true, v.age(s.created)
	} else {
		n.why = fleet.Line(name+": "+s.why, 200)
	}
	n.by = append(n.by, e)
}

// stand tells how the thing that a text of project v names stands, and its name.
func stand(views []view, v *view, r ref) (string, state) {
	if r.repo == "" || strings.EqualFold(r.repo, v.Repo) {
		return fleet.IssueName(v.Name, r.number), v.state(r.number)
	}
	for i := range views {
		if o := &views[i]; strings.EqualFold(o.Repo, r.repo) && o.URL == v.URL {
			return fleet.IssueName(o.Name, r.number), o.state(r.number)
		}
	}
	return fleet.Line(fmt.Sprintf("%s#%d", r.repo, r.number), 150), state{why: "no [forge.NAME] is configured for it"}
}

// cyclesOf names each knot of issues that wait for each other once, at its
// smallest member: a shortest cycle through that one.
func cyclesOf(nodes map[string]node) map[string][]string {
	all := make([]node, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b node) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.number, b.number)) })
	out, done := map[string][]string{}, map[string]bool{}
	for _, n := range all {
		if done[n.name] {
			continue
		}
		cycle := around(nodes, n.name)
		if cycle == nil {
			continue
		}
		out[n.name] = cycle
		back := reach(nodes, n.name, true)
		for name := range reach(nodes, n.name, false) { // the whole knot is named by this one
			done[name] = done[name] || back[name]
		}
	}
	return out
}

// around is a shortest way from a name back to itself; nil when there is none.
func around(nodes map[string]node, start string) []string {
	from, queue := map[string]string{}, []string{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range nodes[at].by {
			if e.name == start {
				cycle := []string{at}
				for at != start {
					at = from[at]
					cycle = append(cycle, at)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, ok := nodes[e.name]; !ok {
				continue
			}
			if _, seen := from[e.name]; !seen {
				from[e.name] = at
				queue = append(queue, e.name)
			}
		}
	}
	return nil
}

// reach is what can be reached from a name, or what reaches it.
func reach(nodes map[string]node, start string, backwards bool) map[string]bool {
	next := map[string][]string{}
	for name, n := range nodes {
		for _, e := range n.by {
			if backwards {
				next[e.name] = append(next[e.name], name)
			} else {
				next[name] = append(next[name], e.name)
			}
		}
	}
	seen, queue := map[string]bool{start: true}, []string{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, n := range next[at] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return seen
}
