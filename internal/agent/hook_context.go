package agent

import (
	"encoding/json"
	"slices"
)

// TakesContext says whether what a hook of a kind prints can become part of the
// conversation: at the beginning of a session, with a prompt, after a tool.
func TakesContext(kind, event string) bool {
	return slices.Contains(map[string][]string{
		"claude": {"SessionStart", "UserPromptSubmit", "PostToolUse"},
		"codex":  {"SessionStart", "UserPromptSubmit"},
		"gemini": {"SessionStart", "BeforeAgent"},
	}[kind], event)
}

// HookContext returns what a hook has to print for the text to become part of the
// conversation; "" for a hook that cannot do that, or for no text.
func HookContext(kind, event, text string) string {
	if text == "" || !TakesContext(kind, event) {
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
