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
	if err := json.Unmarshal([]byte(hooked().HookContext("claude", "PostToolUse", text)), &got); err != nil {
		t.Fatal(err)
	}
	if o := got.HookSpecificOutput; o.HookEventName != "PostToolUse" || o.AdditionalContext != text {
		t.Errorf("%+v", o)
	}
	if hooked().HookContext("claude", "SessionStart", "") != "" || hooked().HookContext("opencode", "SessionStart", text) != "" || hooked().HookContext("claude", "Stop", text) != "" {
		t.Error("something is printed where nothing can be told")
	}
}
