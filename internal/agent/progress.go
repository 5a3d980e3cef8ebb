package agent

import (
	"time"

	"custos/internal/fleet"
)

// DefaultDwell is for how long nothing may move before an agent counts as making
// no progress: longer than the longest silent model call seen (10 minutes).
const DefaultDwell = 15 * time.Minute

// Motion says of each life signal how long ago it last moved. Unknown means that
// it cannot be seen, or has not been watched for long enough to tell.
type Motion struct {
	CPU      fleet.Leaf[fleet.Duration] // CPU time or membership of the tree
	Activity fleet.Leaf[fleet.Duration] // output of the pane; needed only when InPane
	Others   []fleet.Duration           // registry, title, screen: count when there, are not missed
	InPane   bool
}

// Progress returns whether an agent has moved within dwell, and for how long it
// has been quiet. None needs every signal that there is to have been seen, and
// each to be older than dwell; a signal that moved is enough for some.
func Progress(m Motion, dwell time.Duration) (fleet.Progress, fleet.Leaf[fleet.Duration]) {
	var seen []fleet.Duration
	missing := ""
	for _, s := range []struct {
		age  fleet.Leaf[fleet.Duration]
		need bool
	}{{m.CPU, true}, {m.Activity, m.InPane}} {
		if d, ok := s.age.Get(); ok {
			seen = append(seen, d)
		} else if s.need {
			missing = s.age.Why()
		}
	}
	seen = append(seen, m.Others...)
	quiet := fleet.Unknown[fleet.Duration]("no life signal was seen")
	for i, d := range seen {
		if i == 0 || d < quiet.Or(0) {
			quiet = fleet.Known(d)
		}
	}
	least, ok := quiet.Get()
	switch {
	case ok && time.Duration(least) < dwell:
		return fleet.ProgressSome, quiet
	case missing != "" || !ok:
		return fleet.ProgressUnknown, fleet.Unknown[fleet.Duration](missing)
	}
	return fleet.ProgressNone, quiet
}
