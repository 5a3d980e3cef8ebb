package rows

import (
	"slices"
	"strings"
	"time"

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

const (
	// unheard is how long a node may be silent to its leader, which it answers each second (nats-server v2.15.2, raft.go,
	// hbInterval): its disk may be slow.
	unheard = 5 * time.Second
	// inFlight is how many entries a node may lack that are on their way to it.
	inFlight = 64
)

// nodesOf are those of a cluster as its leader sees them; is is false where another one answers, which knows of none but
// the leader (nats-server v2.15.2, raft.go, Peers).
func nodesOf(c *jetstream.ClusterInfo) (out []Node, is bool) {
	if c == nil || len(c.Replicas) == 0 {
		return nil, true
	}
	if c.Leader == "" || slices.ContainsFunc(c.Replicas, func(r *jetstream.PeerInfo) bool { return r.Name == c.Leader }) {
		return nil, false
	}
	out = append(out, Node{c.Leader, "leads"})
	for _, r := range c.Replicas {
		state := "behind"
		switch {
		case r.Offline || r.Active >= unheard:
			state = "gone"
		case r.Current || r.Lag <= inFlight:
			state = "follows"
		}
		out = append(out, Node{r.Name, state})
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out, true
}

// heed takes what was told of a cluster.
func (p *Publisher) heed(c *jetstream.ClusterInfo) {
	now, is := nodesOf(c)
	if !is || slices.Equal(now, p.Nodes()) {
		return
	}
	p.nodes.Store(&now)
	p.Moved()
}
