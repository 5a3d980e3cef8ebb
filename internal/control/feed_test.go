package control

import (
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Parents in a circle do not keep a replay from ending.
func TestReplayOfACircle(t *testing.T) {
	all := []fleet.Registration{{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}, {Name: "c", Parent: "gone"}}
	if got := namesOf(api.FeedQuery{View: api.FeedReplay, Of: "z"}, all); len(got) != 0 {
		t.Errorf("below z are %v", got)
	}
}
