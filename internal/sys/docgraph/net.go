package docgraph

import "slices"

// net is the part of a graph that is analysed, with numbers for IDs: sections are
// one with their document, and an edge goes from what depends to what it depends
// on. Labels join everything with everything, and are left out.
type net struct {
	nodes  []Node         // sorted by ID
	of     map[string]int // number of each ID; of a section, its document's
	on     [][]int        // what each depends on, sorted
	by     [][]int        // what depends on each, sorted
	blocks [][]int        // whom each blocks, sorted
}

func newNet(nodes []Node, edges []Edge) *net {
	n := &net{of: map[string]int{}}
	for _, v := range nodes {
		if v.Type != typeSection && v.Type != typeLabel {
			n.of[v.ID] = len(n.nodes)
			n.nodes = append(n.nodes, v)
		}
	}
	for _, v := range nodes {
		if at, ok := n.of[docID(v.Source)]; ok && v.Type == typeSection {
			n.of[v.ID] = at
		}
	}
	n.on, n.by, n.blocks = make([][]int, len(n.nodes)), make([][]int, len(n.nodes)), make([][]int, len(n.nodes))
	for _, e := range edges {
		n.join(e)
	}
	for _, lists := range [][][]int{n.on, n.by, n.blocks} {
		for i := range lists {
			slices.Sort(lists[i])
			lists[i] = slices.Compact(lists[i])
		}
	}
	return n
}

func (n *net) join(e Edge) {
	from, ok := n.of[e.From]
	to, also := n.of[e.To]
	if !ok || !also {
		return
	}
	if e.Relation == blocks {
		n.blocks[from] = append(n.blocks[from], to)
	}
	if from == to {
		return
	}
	if e.Relation != references && e.Relation != executes {
		from, to = to, from // what is implemented, blocked, defined or proved depends on what does it
	}
	n.on[from], n.by[to] = append(n.on[from], to), append(n.by[to], from)
}

// components returns what hangs together, whichever way the edges go.
func (n *net) components() (out [][]int) {
	seen := make([]bool, len(n.nodes))
	for start := range n.nodes {
		if seen[start] {
			continue
		}
		seen[start] = true
		part := []int{start}
		for at := 0; at < len(part); at++ {
			for _, list := range [][]int{n.on[part[at]], n.by[part[at]]} {
				for _, v := range list {
					if !seen[v] {
						seen[v] = true
						part = append(part, v)
					}
				}
			}
		}
		slices.Sort(part)
		out = append(out, part)
	}
	return out
}
