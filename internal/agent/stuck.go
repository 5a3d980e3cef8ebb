package agent

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// sourceProgress is the silence of all life signals.
const sourceProgress = "progress"

// stuckAgain is how far apart two looks have to be that both find an agent
// without progress, before it counts as stuck.
const stuckAgain = 10 * time.Second

// Silence is what Settle weighs beside the verdict of one look.
type Silence struct {
	Progress fleet.Progress
	Quiet    fleet.Leaf[fleet.Duration]
	Tool     *fleet.ToolCall // in flight
	// Lasted is since when looks have found no progress, this one included.
	Lasted time.Duration
	// Cycles is how many patrols in a row found the agent unresponsive, before
	// this look.
	Cycles int
}

// Settle makes a verdict of one look into one over time: an agent that is to be
// at work and of which nothing moves is stuck; one that repeats itself is
// looping. It needs Progress to be none, which unknown signals never give; a
// tool in flight must have had its time; and it must have been found so twice. A
// state that only the screen tells is never stuck.
func Settle(v Verdict, told Reported, s Silence) Verdict {
	if v.State != fleet.StateWorking {
		return v
	}
	twice := s.Lasted >= stuckAgain || s.Cycles > 0
	if s.Progress == fleet.ProgressNone && v.Source != SourceScreen && twice && (s.Tool == nil || s.Tool.Over()) {
		v.State, v.Source, v.Since = fleet.StateStuck, sourceProgress, fleet.Instant{}
		v.Reason = silenceWords(v.Reason, s)
		return v
	}
	if told.Loop.Times > 0 {
		v.State, v.Source, v.Since = fleet.StateLooping, SourceHook, told.Loop.Since
		v.Reason = fmt.Sprintf("its hooks report the same call of %s %d times in a row", toolWords(told.Loop.Tool), told.Loop.Times)
	}
	return v
}

func silenceWords(before string, s Silence) string {
	says := fmt.Sprintf("nothing of it has moved for %s, though %s", time.Duration(s.Quiet.Or(0)).Round(time.Second), before)
	if s.Tool != nil {
		says += fmt.Sprintf("; %s runs for %s, and may take %s", toolWords(s.Tool.Name),
			time.Duration(s.Tool.Age).Round(time.Second), time.Duration(s.Tool.Deadline))
	}
	return says
}

// Responsive says whether a live agent is in order, and whether it is
// unresponsive. It may be neither: what cannot be told is not in order; what
// waits for a person, a limit or a login is not to blame.
func Responsive(state fleet.AgentState, p fleet.Progress) (healthy, unresponsive bool) {
	switch state {
	case fleet.StateWorking, fleet.StateStarting:
		return p == fleet.ProgressSome, p == fleet.ProgressNone
	case fleet.StateIdle, fleet.StateContextHigh:
		return true, false
	case fleet.StateStuck:
		return false, true
	}
	return false, false
}
