package daemon

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"custos/internal/fleet"
)

// unwatched remembers what a daemon does not follow by event any more, as when
// the kernel refuses a watch; the zero value is ready.
type unwatched struct {
	mu  sync.Mutex
	why map[string]loss // by what is not followed
}

// loss is why something is not followed; one that is over is told until then.
type loss struct {
	why   string
	until fleet.Instant
}

// missedFor is how long it is told that events were lost: whoever floods Custos with
// them does so again.
const missedFor = time.Hour

// lose notes that something is not followed any more.
func (u *unwatched) lose(what string, why error) {
	u.note(what, loss{why: fleet.Line(why.Error(), 200)})
}

// miss notes that some events were lost, and all was looked at since.
func (u *unwatched) miss(what string, why error, now fleet.Instant) {
	u.note(what, loss{fleet.Line(why.Error(), 200), now.Add(missedFor)})
}

// regain notes that something is followed again.
func (u *unwatched) regain(what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.why, what)
}

func (u *unwatched) note(what string, l loss) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == nil {
		u.why = map[string]loss{}
	}
	u.why[what] = l
}

// tell says what is not followed by event, and why; "" when all is.
func (u *unwatched) tell(now fleet.Instant) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var lost []string
	for _, what := range slices.Sorted(maps.Keys(u.why)) {
		if l := u.why[what]; l.until.IsZero() || now.Before(l.until) {
			lost = append(lost, what+": "+l.why)
		}
	}
	return strings.Join(lost, "; ")
}
