//go:build conformance

package conformance

import "testing"

func codexCLI() cli {
	return cli{kind: "codex", pkg: "@openai/codex", taught: "0.169.0", bin: "codex", commands: []string{"/compact", "/new"}, menus: map[string][]string{"/new": {"Enter"}}, settle: settleCodex, fresh: freshCodex, first: firstTrust, permission: 1, limitIs: "screen"}
}

func settleCodex(t *testing.T, h home) []string {
	env := freshCodex(t, h)
	h.add(t, ".codex/config.toml", `[projects."`+h.project+`"]
trust_level = "trusted"
`)
	return env
}

// freshCodex is behind its login: the provider is another than OpenAI.
func freshCodex(t *testing.T, h home) []string {
	h.write(t, ".codex/config.toml", `model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false
approval_policy = "on-request"
sandbox_mode = "workspace-write"
[model_providers.mock]
name = "mock"
base_url = "`+h.model.URL+`/v1"
env_key = "MOCK_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[notice]
hide_rate_limit_model_nudge = true
`)
	return []string{"MOCK_API_KEY=" + dummyKey}
}
