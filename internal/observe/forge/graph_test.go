package forge

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func graph(edges map[int][]int) map[string]node {
	out := map[string]node{}
	for n, to := range edges {
		x := node{name: fleet.IssueName("p", n), of: "p", number: n}
		for _, e := range to {
			x.by = append(x.by, edge{name: fleet.IssueName("p", e), open: true})
		}
		out[x.name] = x
	}
	return out
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		edges map[int][]int
		want  map[string][]string
	}{
		"none":       {map[int][]int{1: {2}, 2: {3}, 3: nil}, map[string][]string{}},
		"itself":     {map[int][]int{5: {5}}, map[string][]string{"p#5": {"p#5"}}},
		"two":        {map[int][]int{9: {10}, 10: {9}}, map[string][]string{"p#9": {"p#9", "p#10"}}},
		"three":      {map[int][]int{3: {1}, 1: {2}, 2: {3}}, map[string][]string{"p#1": {"p#1", "p#2", "p#3"}}},
		"two knots":  {map[int][]int{1: {2}, 2: {1}, 3: {4, 1}, 4: {3}}, map[string][]string{"p#1": {"p#1", "p#2"}, "p#3": {"p#3", "p#4"}}},
		"one knot":   {map[int][]int{1: {2}, 2: {1, 3}, 3: {2}}, map[string][]string{"p#1": {"p#1", "p#2"}}},
		"leads into": {map[int][]int{1: {2}, 2: {3}, 3: {2}}, map[string][]string{"p#2": {"p#2", "p#3"}}},
		"unseen":     {map[int][]int{1: {99}}, map[string][]string{}},
	} {
		got := cyclesOf(graph(c.edges))
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What is named is a cycle, its smallest member names it, and every issue that is
// on some cycle belongs to a knot that is named.
func TestCyclesAreCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := map[int][]int{}
		n := rapid.IntRange(1, 9).Draw(t, "issues")
		for i := range n {
			edges[i+1] = rapid.SliceOfNDistinct(rapid.IntRange(1, n), 0, 3, rapid.ID[int]).Draw(t, "edges")
		}
		nodes := graph(edges)
		cycles := cyclesOf(nodes)
		knot := map[string]bool{}
		for name, cycle := range cycles {
			if cycle[0] != name {
				t.Fatalf("%s names %v", name, cycle)
			}
			for i, at := range cycle {
				next := cycle[(i+1)%len(cycle)]
				if !slices.ContainsFunc(nodes[at].by, func(e edge) bool { return e.name == next }) {
					t.Fatalf("%v: %s does not wait for %s", cycle, at, next)
				}
				if nodes[at].number < nodes[name].number {
					t.Fatalf("%v is named by %s", cycle, name)
				}
			}
			back := reach(nodes, name, true)
			for at := range reach(nodes, name, false) {
				if back[at] && knot[at] {
					t.Fatalf("%s is in two knots that are named", at)
				}
				knot[at] = knot[at] || back[at]
			}
		}
		for name := range nodes {
			if around(nodes, name) != nil && !knot[name] {
				t.Fatalf("%s is on a cycle that nobody names: %v", name, edges)
			}
		}
	})
}

func TestLongListsAreCut(t *testing.T) {
	var long []string
	for n := range 100 {
		long = append(long, fmt.Sprint(n))
	}
	if got := short(long); len(got) != mostNames || got[mostNames-1] != "…" || long[mostNames-1] != "24" {
		t.Errorf("%v", got)
	}
	if got := short(long[:mostNames]); len(got) != mostNames || got[mostNames-1] != "24" {
		t.Errorf("%v", got)
	}
}
