package agent

import (
	"encoding/json"
	"testing"
)

// The form in which the CLIs take a text into a session.
func TestHookContext(t *testing.T) {
	var got struct {
		HookSpecificOutput struct{ HookEventName, AdditionalContext string }
	}
	text := "## Steps\n\"one\" </x>"
	if err := json.Unmarshal([]byte(HookContext("claude", "PostToolUse", text)), &got); err != nil {
		t.Fatal(err)
	}
	if o := got.HookSpecificOutput; o.HookEventName != "PostToolUse" || o.AdditionalContext != text {
		t.Errorf("%+v", o)
	}
	if HookContext("claude", "SessionStart", "") != "" || HookContext("opencode", "SessionStart", text) != "" || HookContext("claude", "Stop", text) != "" {
		t.Error("something is printed where nothing can be told")
	}
}
