package daemon

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"custos/internal/fleet"
)

// unwatched remembers what a daemon does not follow by event any more, as when
// the kernel refuses a watch; the zero value is ready.
type unwatched struct {
	mu  sync.Mutex
	why map[string]string // by what is not followed
}

// lose notes that something is not followed any more.
func (u *unwatched) lose(what string, why error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == nil {
		u.why = map[string]string{}
	}
	u.why[what] = fleet.Line(why.Error(), 200)
}

// tell says what is not followed by event, and why; "" when all is.
func (u *unwatched) tell() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var lost []string
	for _, what := range slices.Sorted(maps.Keys(u.why)) {
		lost = append(lost, what+": "+u.why[what])
	}
	return strings.Join(lost, "; ")
}
