package agent

import "encoding/json"

// SessionContext returns what the hook of a session's beginning has to print for
// the text to become part of the conversation; "" for a kind whose hook cannot do
// that, or for no text.
func SessionContext(kind, text string) string {
	if text == "" || kind != "claude" && kind != "codex" && kind != "gemini" {
		return ""
	}
	type output struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	b, err := json.Marshal(map[string]output{"hookSpecificOutput": {"SessionStart", text}})
	if err != nil {
		return "" // a text can be written
	}
	return string(b)
}
