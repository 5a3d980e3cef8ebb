package docgraph

import "slices"

// knots returns the strongly connected parts of a graph that hold a circle: all
// of them, in linear time, where there may be more circles than anybody can list
// (Tarjan 1972, with a stack of its own, for chains may be long).
func knots(next [][]int) (out [][]int) {
	t := tarjan{next: next, index: make([]int, len(next)), low: make([]int, len(next)), on: make([]bool, len(next))}
	for v := range next {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	for _, part := range t.parts {
		if len(part) > 1 || slices.Contains(next[part[0]], part[0]) {
			slices.Sort(part)
			out = append(out, part)
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

type tarjan struct {
	next       [][]int
	index, low []int // from 1; 0 is not seen
	on         []bool
	count      int
	stack      []int
	parts      [][]int
}

func (t *tarjan) visit(root int) {
	type frame struct{ v, edge int }
	work := []frame{{root, 0}}
	t.enter(root)
	for len(work) > 0 {
		f := &work[len(work)-1]
		if f.edge < len(t.next[f.v]) {
			w := t.next[f.v][f.edge]
			f.edge++
			if t.index[w] == 0 {
				t.enter(w)
				work = append(work, frame{w, 0})
			} else if t.on[w] {
				t.low[f.v] = min(t.low[f.v], t.index[w])
			}
			continue
		}
		v := f.v
		work = work[:len(work)-1]
		if len(work) > 0 {
			parent := work[len(work)-1].v
			t.low[parent] = min(t.low[parent], t.low[v])
		}
		if t.low[v] == t.index[v] {
			t.leave(v)
		}
	}
}

func (t *tarjan) enter(v int) {
	t.count++
	t.index[v], t.low[v], t.on[v] = t.count, t.count, true
	t.stack = append(t.stack, v)
}

// leave takes the part that v is the first of from the stack.
func (t *tarjan) leave(v int) {
	at := len(t.stack) - 1
	for t.stack[at] != v {
		at--
	}
	part := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, w := range part {
		t.on[w] = false
	}
	t.parts = append(t.parts, part)
}

// circle returns a shortest way from v back to v: v first, not repeated at the
// end. v is part of a knot, so that there is one.
func circle(next [][]int, v int) []int {
	from := map[int]int{}
	for queue := []int{v}; len(queue) > 0; queue = queue[1:] {
		for _, w := range next[queue[0]] {
			if w == v {
				return back(from, v, queue[0])
			}
			if _, seen := from[w]; !seen {
				from[w] = queue[0]
				queue = append(queue, w)
			}
		}
	}
	return nil
}

// back walks back from the last node of a circle to its first.
func back(from map[int]int, first, last int) []int {
	out := []int{last}
	for last != first {
		last = from[last]
		out = append(out, last)
	}
	slices.Reverse(out)
	return out
}
