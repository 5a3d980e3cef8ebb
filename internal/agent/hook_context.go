package agent

import "encoding/json"

// TakesContext says whether what a hook of a kind prints can become part of the
// conversation: at the beginning of a session, with a prompt, after a tool.
func (k *Kinds) TakesContext(kind, event string) bool {
	of, _ := k.Get(kind)
	return of.Hooks.event(event).Context
}

// HookContext returns what a hook has to print for the text to become part of the
// conversation; "" for a hook that cannot do that, or for no text.
func (k *Kinds) HookContext(kind, event, text string) string {
	if text == "" || !k.TakesContext(kind, event) {
		return ""
	}
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	b, err := json.Marshal(map[string]output{"hookSpecificOutput": {event, text}})
	if err != nil {
		return "" // a text can be written
	}
	return string(b)
}
