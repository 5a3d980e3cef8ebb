package rows

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestNodesOf: what is on its way to a node is nothing that it lacks; one that does not answer is gone, though the hub has
// not noticed; and what another node than the leader says of the others is not heard.
func TestNodesOf(t *testing.T) {
	second := time.Second
	got, is := nodesOf(&jetstream.ClusterInfo{Leader: "b", Replicas: []*jetstream.PeerInfo{
		{Name: "a", Lag: 3, Active: second}, {Name: "c", Lag: 3, Active: 6 * second}, {Name: "d", Current: true, Active: second},
		{Name: "e", Lag: 5000, Active: second}, {Name: "f", Offline: true, Active: second}}})
	want := []Node{{"a", "follows"}, {"b", "leads"}, {"c", "gone"}, {"d", "follows"}, {"e", "behind"}, {"f", "gone"}}
	for i := range want {
		if !is || len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%+v, %v; want %+v", got, is, want)
		}
	}
	if got, is := nodesOf(&jetstream.ClusterInfo{Leader: "b", Replicas: []*jetstream.PeerInfo{{Name: "b", Current: true}, {Name: "c", Active: 100 * second}}}); is {
		t.Errorf("what a follower says is heard: %+v", got)
	}
	if got, is := nodesOf(nil); got != nil || !is {
		t.Errorf("of one node: %+v, %v", got, is)
	}
}
