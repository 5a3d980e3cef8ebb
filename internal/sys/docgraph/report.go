package docgraph

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strings"
)

// Graph is a project's nodes and edges, sorted, and what is to be said of them.
// Every list of the report is sorted, most pressing or first by name first.
type Graph struct {
	Nodes []Node
	Edges []Edge
	Report
}

// Report is what the structure tells. In JSON it has the names that Disinto's
// report has, and two lists more: missing and left_out.
type Report struct {
	Stats        Stats        `json:"stats"`
	Orphans      []Orphan     `json:"orphans"`
	Cycles       []Cycle      `json:"cycles"`
	Disconnected []Cluster    `json:"disconnected"`
	Thin         []Thin       `json:"thin_objectives"`
	Bottlenecks  []Bottleneck `json:"bottlenecks"`
	Missing      []Missing    `json:"missing"`
	LeftOut      []LeftOut    `json:"left_out"`
}

// Stats counts. Sampled is from how many nodes the bottlenecks were measured,
// where the graph is too large to measure from all; 0 otherwise.
type Stats struct {
	Nodes     int `json:"nodes"`
	Edges     int `json:"edges"`
	Documents int `json:"documents"`
	Issues    int `json:"issues"`
	Sampled   int `json:"sampled,omitempty"`
}

// Orphan is a node that has nothing to do with any other.
type Orphan struct {
	ID     string `json:"id"`
	Type   Type   `json:"type"`
	Reason string `json:"reason"`
}

// Cycle is a circle of what blocks each other: each of Chain blocks the next, and
// the last the first. Of several circles that hang together the shortest through
// the first by name is shown; Among is how many hang together.
type Cycle struct {
	Chain    []string `json:"chain"`
	Relation Relation `json:"relation"`
	Among    int      `json:"among"`
}

// Cluster is a part of the graph with no way to any objective, or, where there
// are no objectives, to the largest part. Size counts all; Cluster has the first.
type Cluster struct {
	Cluster []string `json:"cluster"`
	Size    int      `json:"size"`
	Reason  string   `json:"reason"`
}

// Thin is an objective with fewer than two pieces of evidence, or one that is
// DONE or READY with fewer than two issues: the numbers are the seed's.
type Thin struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Evidence int    `json:"evidence_count"`
	Issues   int    `json:"issue_count"`
}

// Bottleneck is a node that many chains of dependence lead through. Centrality is
// the share of shortest ways, 0 to 1; Dependents is who depends on it directly.
type Bottleneck struct {
	ID         string  `json:"id"`
	Centrality float64 `json:"centrality"`
	Dependents int     `json:"dependents"`
}

// LeftOut is what was not read, and why.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// How much is told, and from where on. The seed's numbers are 10 bottlenecks of
// 0.05 and 10 members of a cluster.
const (
	maxBottlenecks = 10
	minCentrality  = 0.05
	maxMembers     = 10
	maxChain       = 20
	thinBelow      = 2
)

func report(ctx context.Context, d *draft) (Graph, error) {
	g := Graph{Nodes: d.sortedNodes(), Edges: d.sortedEdges()}
	n := newNet(g.Nodes, g.Edges)
	parts := n.components()
	g.Orphans, g.Disconnected = orphans(n), disconnected(n, parts)
	g.Cycles, g.Thin = cycles(n), thin(g.Nodes, g.Edges)
	g.Missing = d.lost
	for what, why := range d.out {
		g.LeftOut = append(g.LeftOut, LeftOut{what, why})
	}
	slices.SortFunc(g.LeftOut, func(a, b LeftOut) int { return cmp.Compare(a.What, b.What) })
	score, starts, err := betweenness(ctx, n.on, maxWork)
	if err != nil {
		return Graph{}, err
	}
	g.Bottlenecks = bottlenecks(n, score)
	g.Stats = Stats{Nodes: len(g.Nodes), Edges: len(g.Edges), Documents: len(d.of(typeDocument)), Issues: len(d.of(typeIssue))}
	if starts < len(n.nodes) {
		g.Stats.Sampled = starts
	}
	return g, nil
}

// lonely is why a node is an orphan, by its type. Agents, objectives and
// prerequisites are none: they stand in a document.
func lonely(t Type) string {
	return map[Type]string{
		typeDocument: "no document, formula or issue refers to it",
		typeFormula:  "no agent executes it, and it names nothing of the project",
		typeEvidence: "not linked to any objective, prerequisite or issue",
		typeIssue:    "not connected to any objective or other issue",
	}[t]
}

func orphans(n *net) (out []Orphan) {
	for i, v := range n.nodes {
		alone := len(n.by[i]) == 0 && (len(n.on[i]) == 0 || v.Type == typeDocument)
		if why := lonely(v.Type); alone && why != "" && !v.Done && !entrance(v) {
			out = append(out, Orphan{v.ID, v.Type, why})
		}
	}
	return out
}

// entrance says whether a document is one that people and agents open by
// themselves: its name is in capitals (README, AGENTS, VISION, SKILL, …), it is
// the index of its folder, or a prerequisite tree.
func entrance(v Node) bool {
	name := strings.TrimSuffix(path.Base(v.Source), path.Ext(v.Source))
	return v.Type == typeDocument && (len(name) > 2 && name == strings.ToUpper(name) || slices.Contains([]string{"index", "readme", "prerequisite-tree", "prerequisites"}, strings.ToLower(name)))
}

func cycles(n *net) (out []Cycle) {
	for _, part := range knots(n.blocks) {
		c := Cycle{Relation: blocks, Among: len(part)}
		for _, v := range circle(n.blocks, part[0]) {
			c.Chain = append(c.Chain, n.nodes[v].ID)
		}
		out = append(out, c)
	}
	return out
}

func disconnected(n *net, parts [][]int) (out []Cluster) {
	aim, why := objectiveParts(n, parts), "no path to any objective"
	if aim == nil {
		aim, why = map[int]bool{largest(parts): true}, "no path to the rest of the project"
	}
	for i, part := range parts {
		if aim[i] || len(part) < 2 { // one alone is an orphan
			continue
		}
		c := Cluster{Size: len(part), Reason: why}
		for _, v := range part[:min(len(part), maxMembers)] {
			c.Cluster = append(c.Cluster, n.nodes[v].ID)
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Cluster) int { return b.Size - a.Size })
	return out
}

func objectiveParts(n *net, parts [][]int) map[int]bool {
	var out map[int]bool
	for i, part := range parts {
		if slices.ContainsFunc(part, func(v int) bool { return n.nodes[v].Type == typeObjective }) {
			if out == nil {
				out = map[int]bool{}
			}
			out[i] = true
		}
	}
	return out
}

func largest(parts [][]int) int {
	best := 0
	for i := range parts {
		if len(parts[i]) > len(parts[best]) {
			best = i
		}
	}
	return best
}

// thin counts what supports each objective: its issues and prerequisites, what
// they wait for and what proves them. What supports another objective that it
// waits for is the other's.
func thin(nodes []Node, edges []Edge) (out []Thin) {
	types, by := map[string]Type{}, map[string][]string{}
	for _, n := range nodes {
		types[n.ID] = n.Type
	}
	for _, e := range edges {
		if (e.Relation == implements || e.Relation == blocks || e.Relation == evidences) && types[e.From] != typeObjective {
			by[e.To] = append(by[e.To], e.From)
		}
	}
	for _, n := range nodes {
		if n.Type != typeObjective {
			continue
		}
		count := support(n.ID, by, types)
		t := Thin{n.ID, n.Status, count[typeEvidence], count[typeIssue]}
		if claimed := n.Status == "DONE" || n.Status == "READY"; t.Evidence < thinBelow || claimed && t.Issues < thinBelow {
			out = append(out, t)
		}
	}
	return out
}

func support(id string, by map[string][]string, types map[string]Type) map[Type]int {
	count, seen := map[Type]int{}, map[string]bool{id: true}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		for _, s := range by[queue[0]] {
			if !seen[s] {
				seen[s] = true
				count[types[s]]++
				queue = append(queue, s)
			}
		}
	}
	return count
}

func bottlenecks(n *net, score []float64) (out []Bottleneck) {
	for i, s := range score {
		if s >= minCentrality {
			out = append(out, Bottleneck{n.nodes[i].ID, math.Round(s*1e4) / 1e4, len(n.by[i])})
		}
	}
	slices.SortStableFunc(out, func(a, b Bottleneck) int { return cmp.Compare(b.Centrality, a.Centrality) })
	return out[:min(len(out), maxBottlenecks)]
}
