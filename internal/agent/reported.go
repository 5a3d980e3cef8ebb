package agent

import (
	"slices"

	"custos/internal/fleet"
)

// NeverReported says whether its first prompt is known not to have reached it: it was
// never given, or what reports each turn reported their start, and of none.
func NeverReported(r fleet.Registration, told []fleet.HookEvent) bool {
	switch r.PromptState {
	case fleet.DeliveryPending, fleet.DeliveryUndelivered:
		return r.Prompt != ""
	case fleet.DeliverySent:
		return r.Prompt != "" && slices.ContainsFunc(told, isStart) && !slices.ContainsFunc(told, OfTurn)
	}
	return false
}

func isStart(e fleet.HookEvent) bool { return e.Event == fleet.HookSessionStart }

// OfTurn says whether an event shows that a turn has begun.
func OfTurn(e fleet.HookEvent) bool {
	switch e.Event {
	case fleet.HookPrompt, fleet.HookToolBegin, fleet.HookToolEnd, fleet.HookPermission, fleet.HookQuestion, fleet.HookAnswered, fleet.HookStop, fleet.HookFailure, fleet.HookCompact:
		return true
	}
	return false
}
