package rows

import (
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Node is one of several servers that keep the bucket.
type Node struct {
	Name string
	// State is "leads", "follows", "behind" (it lacks what the others have) or "gone".
	State string
}

// Nodes are the servers that keep the bucket, where they are several, by their names: as was told last, within 15 s while
// the hub answers.
func (p *Publisher) Nodes() []Node {
	if all := p.nodes.Load(); all != nil {
		return *all
	}
	return nil
}

// nodesOf are those of a cluster as its leader sees them (nats-server v2.15.2, raft.go, Peers).
func nodesOf(c *jetstream.ClusterInfo) (out []Node) {
	if c == nil || len(c.Replicas) == 0 {
		return nil
	}
	if c.Leader != "" {
		out = append(out, Node{c.Leader, "leads"})
	}
	for _, r := range c.Replicas {
		state := "behind"
		switch {
		case r.Offline:
			state = "gone"
		case r.Current:
			state = "follows"
		}
		out = append(out, Node{r.Name, state})
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}
