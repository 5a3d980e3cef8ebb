//go:build conformance

package conformance

import "testing"

func piCLI() cli {
	return cli{kind: "pi", pkg: "@mariozechner/pi-coding-agent", taught: "0.73.1", newer: "@earendil-works/pi-coding-agent",
		bin: "pi", commands: []string{"/compact", "/new"}, settle: settlePi, fresh: settlePi, first: firstNone, extra: []string{"--provider", "mock", "--model", "mock-model"}, limitIs: "hook", retries: true, startTold: true}
}

// settlePi has it speak OpenAI chat completions. It never asks for permission.
func settlePi(t *testing.T, h home) []string {
	h.write(t, ".pi/agent/models.json", string(encode(object{"providers": object{"mock": object{
		"baseUrl": h.model.URL + "/v1", "api": "openai-completions", "apiKey": dummyKey,
		"compat": object{"supportsDeveloperRole": false, "supportsReasoningEffort": false},
		"models": []any{object{"id": "mock-model", "contextWindow": 200000, "maxTokens": 8000,
			"cost": object{"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25}}},
	}}})))
	return []string{"PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1"}
}
