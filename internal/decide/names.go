package decide

// The actions on agents that have preconditions of their own. They are named
// here, and not told by their abilities, so that one that forgets to say what it
// is stays guarded.
const (
	doSpawn      = "spawn"
	doNudge      = "nudge"
	doAnswer     = "answer"
	doInterrupt  = "interrupt"
	doStop       = "stop"
	doRecover    = "recover"
	doCheckpoint = "checkpoint"
)

// doRetrigger is named for its tries: see deedOf.
const doRetrigger = "retrigger"

// starts says whether an action starts an agent.
func starts(do string) bool { return do == doSpawn || do == doRecover }
