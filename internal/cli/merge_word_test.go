package cli

import (
	"testing"

	"custos/internal/api"
)

// What waits for its turn and what waits for something else first are counted apart.
func TestQueueWord(t *testing.T) {
	for want, q := range map[string]api.MergeQueue{
		"2 waiting": {Waiting: 2},
		"0 waiting, 1 not ready; it is watched only":     {Unready: 1, Mode: "watch"},
		"1 waiting; its forge merges":                    {Waiting: 1, Mode: "forge"},
		"0 waiting, 3 not ready":                         {Unready: 3},
		"1 waiting, 1 not ready, mg4 is under way":       {Waiting: 1, Unready: 1, Group: "mg4"},
		"held by ann: a freeze":                          {Waiting: 1, Held: "a freeze", HeldBy: "ann"},
		"there is no repository in /src/shop":            {Missing: true, Repo: "/src/shop"},
		"its gates fail on main itself, at 123456789012": {Broken: "12345678901234567890", Target: "main"},
	} {
		if is := queueWord(q); is != want {
			t.Errorf("%+v: %q, want %q", q, is, want)
		}
	}
}
