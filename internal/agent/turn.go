package agent

import (
	"cmp"

	"custos/internal/fleet"
)

// TurnOf is what became of the turn that a text began which was given between two
// moments, as hooks and transcript have told since. The turn lasts until one of them
// tells of the next prompt. Without a prompt between these moments, nothing is known of it.
func TurnOf(told []fleet.HookEvent, from, to fleet.Instant) fleet.AgentTurn {
	turn, heard := fleet.AgentTurn{State: fleet.TurnUnknown}, map[fleet.UsageSource]bool{}
	for _, e := range inOrder(told, "") {
		if e.At.Before(from) || len(heard) == 0 && (e.Event != fleet.HookPrompt || to.Before(e.At)) {
			continue
		}
		if e.Event == fleet.HookPrompt && heard[e.Source] {
			return turn
		}
		if e.Event == fleet.HookPrompt {
			heard[e.Source] = true
		}
		turn = after(turn, e)
	}
	return turn
}

// after is a turn after an event. What ended it is told twice, and its end comes after its
// failure: only the call of a tool shows that one that failed goes on.
func after(turn fleet.AgentTurn, e fleet.HookEvent) fleet.AgentTurn {
	switch e.Event {
	case fleet.HookFailure:
		return fleet.AgentTurn{State: fleet.TurnFailed, Error: failureWords(turn, e), At: e.At}
	case fleet.HookToolBegin, fleet.HookPermission, fleet.HookQuestion:
		return fleet.AgentTurn{State: fleet.TurnUnderWay}
	case fleet.HookPrompt:
		if turn.State == fleet.TurnUnknown {
			turn.State = fleet.TurnUnderWay
		}
	case fleet.HookStop:
		if turn.State == fleet.TurnUnderWay {
			turn = fleet.AgentTurn{State: fleet.TurnAnswered, At: e.At}
		}
		if e.Text == "interrupted" {
			turn = fleet.AgentTurn{State: fleet.TurnInterrupted, At: e.At}
		}
	case fleet.HookRest, fleet.HookSessionStart, fleet.HookSessionEnd:
		if turn.State == fleet.TurnUnderWay { // it is over, and nothing tells how it ended
			turn.State = fleet.TurnUnknown
		}
	}
	return turn
}

// failureWords are the name of an error and, where its CLI has said it, what it said. Of
// two that tell of one failure, the one that says more counts.
func failureWords(turn fleet.AgentTurn, e fleet.HookEvent) string {
	name := failureWord(fleet.Line(e.Text, 60))
	if e.Args != "" {
		return name + ": " + fleet.Line(e.Args, 200)
	}
	return cmp.Or(turn.Error, name)
}
