package agent

import (
	"encoding/json"

	"custos/internal/fleet"
)

// EndsTurns says whether what a hook of a kind prints can end the turn before the model is
// asked again, with no tool cut short: Claude Code asks it when a tool has ended.
func (k *Kinds) EndsTurns(kind, event string) bool {
	of, _ := k.Get(kind)
	return of.Hooks.event(event).EndsTurn
}

// HookEnd returns what a hook has to print for the turn to end, or for a prompt not to begin one; "" for one that cannot end it.
func (k *Kinds) HookEnd(kind, event, why string) string {
	if !k.EndsTurns(kind, event) {
		return ""
	}
	of, _ := k.Get(kind)
	var answer any = struct {
		Continue bool   `json:"continue"`
		Why      string `json:"stopReason"`
	}{false, why}
	if of.Hooks.event(event).Means == HookMeans(fleet.HookPrompt) {
		answer = struct {
			Decision string `json:"decision"`
			Why      string `json:"reason"`
		}{"block", why}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return "" // a text can be written
	}
	return string(b)
}
