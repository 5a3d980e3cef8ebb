package agent

import (
	"encoding/json"
	"testing"
)

// The form in which the CLIs take a text into a session that begins.
func TestSessionContext(t *testing.T) {
	var got struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	text := "## Steps\n\"one\" </x>"
	if err := json.Unmarshal([]byte(SessionContext("claude", text)), &got); err != nil {
		t.Fatal(err)
	}
	if o := got.HookSpecificOutput; o.HookEventName != "SessionStart" || o.AdditionalContext != text {
		t.Errorf("%+v", o)
	}
	if SessionContext("claude", "") != "" || SessionContext("opencode", text) != "" {
		t.Error("something is printed where nothing can be told")
	}
}
