package docgraph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Type is what a node stands for.
type Type string

// The types of nodes.
const (
	typeDocument     Type = "document"
	typeSection      Type = "doc-section"
	typeObjective    Type = "objective"
	typePrerequisite Type = "prerequisite"
	typeAgent        Type = "agent"
	typeFormula      Type = "formula"
	typeLabel        Type = "label"
	typeEvidence     Type = "evidence"
	typeIssue        Type = "issue"
)

// Relation is what an edge says of its two ends.
type Relation string

// The relations, as "from RELATION to".
const (
	references Relation = "references"
	implements Relation = "implements" // an issue, an objective or a prerequisite
	blocks     Relation = "blocks"     // and does so still: what is done blocks nothing
	defines    Relation = "defines"    // a document its sections, agents and objectives
	executes   Relation = "executes"   // an agent a formula
	usesLabel  Relation = "uses-label"
	evidences  Relation = "evidences"
)

// Node is one thing of a project.
type Node struct {
	ID     string // TYPE:NAME, with doc: for documents (path) and sections (path#anchor)
	Type   Type
	Title  string // as it was written, at most maxTitle bytes
	Source string // file it was first read from, relative to the folder; "" for what the forge told
	Status string // of an objective: as written, in capitals; "UNKNOWN" when none is written
	Done   bool   // a ticked prerequisite, a closed issue
}

// Edge is one relation between two nodes.
type Edge struct {
	From, To string // IDs
	Relation Relation
}

// How large a graph may become. A repository of 5000 documents had 41 000
// sections; what is beyond is left out, and said.
const (
	maxNodes = 100_000
	maxEdges = 300_000
	maxTitle = 200 // bytes
)

// draft is a graph in the making.
type draft struct {
	nodes map[string]*Node
	edges map[Edge]bool
	out   map[string]string // what was left out, and why
	lost  []Missing
}

func newDraft() *draft {
	return &draft{nodes: map[string]*Node{}, edges: map[Edge]bool{}, out: map[string]string{}}
}

// node adds a node, or returns the one there is; nil when there are too many.
func (d *draft) node(n Node) *Node {
	if have := d.nodes[n.ID]; have != nil {
		return have
	}
	if len(d.nodes) >= maxNodes {
		d.out["nodes"] = fmt.Sprintf("more than %d", maxNodes)
		return nil
	}
	n.Title = cut(n.Title, maxTitle)
	d.nodes[n.ID] = &n
	return &n
}

// edge joins two nodes that are there; anything else it leaves.
func (d *draft) edge(from string, r Relation, to string) {
	if d.nodes[from] == nil || d.nodes[to] == nil || from == to && r != blocks {
		return
	}
	if len(d.edges) >= maxEdges {
		d.out["edges"] = fmt.Sprintf("more than %d", maxEdges)
		return
	}
	d.edges[Edge{from, to, r}] = true
}

func (d *draft) sortedNodes() []Node {
	out := make([]Node, 0, len(d.nodes))
	for _, n := range d.nodes {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (d *draft) sortedEdges() []Edge {
	return slices.SortedFunc(maps.Keys(d.edges), func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Relation, b.Relation))
	})
}

// of returns the IDs of all nodes of a type, sorted.
func (d *draft) of(t Type) []string {
	var out []string
	for id, n := range d.nodes {
		if n.Type == t {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
