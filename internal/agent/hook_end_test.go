package agent

import "testing"

func TestHookEnd(t *testing.T) {
	for _, c := range []struct{ kind, event, want string }{
		{"claude", "PostToolUse", `{"continue":false,"stopReason":"budget \"day\" is used up"}`},
		{"claude", "UserPromptSubmit", `{"decision":"block","reason":"budget \"day\" is used up"}`},
		{"claude", "PreToolUse", ""}, {"claude", "Stop", ""}, {"codex", "PostToolUse", ""}, {"unheard", "PostToolUse", ""},
	} {
		if got := hooked().HookEnd(c.kind, c.event, `budget "day" is used up`); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.event, got, c.want)
		}
	}
}
