//go:build conformance

package conformance

import "testing"

func claudeCLI() cli {
	return cli{kind: "claude", pkg: "@anthropic-ai/claude-code", taught: "2.1.197", bin: "claude", settle: settleClaude, fresh: freshClaude, first: firstClaude,
		commands: []string{"/compact", "/model sonnet", "/clear"}, permission: 1, limitIs: "hook", startTold: true}
}

// settleClaude has it ask for permission: 2.1.330 begins in auto mode, in which a model decides.
func settleClaude(t *testing.T, h home) []string {
	projects := object{}
	for _, dir := range append([]string{h.project}, h.trees...) {
		projects[dir] = object{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}
	}
	h.write(t, ".claude.json", string(encode(object{
		"hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNudge": true,
		"customApiKeyResponses": object{"approved": []string{dummyKey}, "rejected": []string{}},
		"projects":              projects,
	})))
	h.write(t, ".claude/settings.json", string(encode(object{
		"permissions": object{"defaultMode": "default"},
	})))
	return []string{"ANTHROPIC_BASE_URL=" + h.model.URL, "ANTHROPIC_API_KEY=" + dummyKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=2"}
}

// freshClaude is behind the choice of a theme, its notes and its login: at the first of them
// it asks the provider's own host whether it is there.
func freshClaude(t *testing.T, h home) []string {
	env := settleClaude(t, h)
	h.write(t, ".claude.json", string(encode(object{"hasCompletedOnboarding": true, "theme": "dark"})))
	return env
}

func firstClaude(version string) []firstDialog {
	all := []firstDialog{{"trust", "yes"}, {"api-key", "yes"}}
	if version != "2.1.197" {
		all = append(all, firstDialog{"auto-mode", "no"})
	}
	return all
}
