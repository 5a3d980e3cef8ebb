package agent

import (
	"time"

	"custos/internal/fleet"
)

const (
	// hookIsLate is how long after a turn its hooks may still come (they lie in the spool while no daemon reads it), and how
	// long before its prompt is written down one of it may have been called.
	hookIsLate = time.Minute
	// hookIsKnown is for how long what a hook told is surely still known: events are kept for seven days.
	hookIsKnown = 24 * time.Hour
)

// Deaf says why nothing is heard of the hooks that an agent was started with: empty where they are heard, or it was given
// none. That is known where its CLI is known to ignore them, and where its conversation tells of a whole turn, from prompt
// to end, in which not one of them was called. Of one that has told nothing and made no turn yet it is unknown.
func Deaf(s Signals) fleet.Leaf[string] {
	switch {
	case !s.Hooked || !s.Kind.Hooks.has():
		return fleet.Known("")
	case s.Unheard != "":
		return fleet.Unknown[string](s.Unheard)
	case s.Deaf != "" && s.Told.Last.IsZero():
		return fleet.Known(s.Deaf)
	case s.Written.Turned.silent(s):
		return fleet.Known("its conversation tells of a whole turn in which none of its hooks was called")
	case !s.Told.Turn.IsZero():
		return fleet.Known("")
	}
	return fleet.Unknown[string]("it has told nothing by a hook, and no turn of it was read to its end")
}

// silent: the model has answered in the turn, and no hook was called since a while before it. A command that the CLI
// answers itself calls none either.
func (t Turned) silent(s Signals) bool {
	over := s.Now.Since(t.Ended)
	return !t.Ended.IsZero() && !s.Written.Answered.Before(t.Began) && t.Began.Since(s.Told.Turn) > hookIsLate && over > hookIsLate && over < hookIsKnown
}

// Turned is when the newest turn that was told of from prompt to end began and ended; zero where there was none.
type Turned struct{ Began, Ended fleet.Instant }
