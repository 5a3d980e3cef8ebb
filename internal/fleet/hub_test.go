package fleet

import "testing"

// TestOneHostTellsOfNodes: which is that which looks after all.
func TestOneHostTellsOfNodes(t *testing.T) {
	h := Hub{Host: "a", Watches: "a", Nodes: []HubNode{{Name: "n"}}}
	other := h
	other.Watches = "b"
	if len(h.NodesToTell()) != 1 || len(other.NodesToTell()) != 0 || len((Hub{}).NodesToTell()) != 0 {
		t.Errorf("%v, %v", h.NodesToTell(), other.NodesToTell())
	}
}
