package ledger

import (
	"maps"
	"slices"

	"custos/internal/fleet"
)

// graph is what each piece of work waits for.
type graph map[fleet.Ref][]fleet.Ref

// waitsOf is the graph of the dependencies on record that are not resolved; what consists of parts waits for those, too.
func waitsOf(all fleet.Records) graph {
	g := graph{}
	for i := range all.Work {
		if w := &all.Work[i]; w.Part != "" && w.State != fleet.WorkClosed {
			g.add(w.Part, w.Ref())
		}
	}
	for _, d := range all.Dependencies {
		if d.State == fleet.DependencyWaits {
			g.add(d.Of, d.Needs)
		}
	}
	return g
}

func (g graph) add(of, needs fleet.Ref) {
	if !slices.Contains(g[of], needs) {
		g[of] = append(g[of], needs)
	}
}

// path is a shortest way from one piece of work to another, both of them in it;
// nil when there is none.
func (g graph) path(from, to fleet.Ref) []fleet.Ref {
	came, queue := map[fleet.Ref]fleet.Ref{from: ""}, []fleet.Ref{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			return back(came, at)
		}
		for _, next := range g[at] {
			if _, seen := came[next]; !seen {
				came[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func back(came map[fleet.Ref]fleet.Ref, at fleet.Ref) (out []fleet.Ref) {
	for ; at != ""; at = came[at] {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// cycles names each knot of work that waits for itself once, at the first member
// in alphabetical order: a shortest way from it around to itself.
func (g graph) cycles() map[fleet.Ref][]fleet.Ref {
	out, done := map[fleet.Ref][]fleet.Ref{}, map[fleet.Ref]bool{}
	for _, r := range slices.Sorted(maps.Keys(g)) {
		if done[r] {
			continue
		}
		around := g.around(r)
		if around == nil {
			continue
		}
		out[r] = append([]fleet.Ref{r}, around...)
		for other := range g { // the whole knot is named by this one
			done[other] = done[other] || g.path(r, other) != nil && g.path(other, r) != nil
		}
	}
	return out
}

// around is a shortest way from what a piece of work waits for to itself.
func (g graph) around(r fleet.Ref) (best []fleet.Ref) {
	for _, next := range g[r] {
		if way := g.path(next, r); way != nil && (best == nil || len(way) < len(best)) {
			best = way
		}
	}
	return best
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
