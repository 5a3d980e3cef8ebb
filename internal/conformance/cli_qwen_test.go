//go:build conformance

package conformance

import "testing"

func qwenCLI() cli {
	return cli{kind: "qwen", pkg: "@qwen-code/qwen-code", taught: "0.24.4", bin: "qwen", commands: []string{"/compress", "/clear"}, settle: settleQwen, fresh: freshQwen, first: firstTrust,
		extra: []string{"--approval-mode=default"}, permission: 1, limitIs: "screen", retries: true, startTold: true}
}

func settleQwen(t *testing.T, h home) []string { return withQwen(t, h, false) }

// freshQwen is behind its choice of a provider, which needs the network.
func freshQwen(t *testing.T, h home) []string { return withQwen(t, h, true) }

// withQwen has it speak OpenAI chat completions. By itself 0.24 has a model say whether it
// may use a tool.
func withQwen(t *testing.T, h home, trust bool) []string {
	h.write(t, ".qwen/settings.json", string(encode(object{
		"security":  object{"auth": object{"selectedType": "openai"}, "folderTrust": object{"enabled": trust}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false, "disableUpdateNag": true},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})))
	return []string{"OPENAI_API_KEY=" + dummyKey, "OPENAI_BASE_URL=" + h.model.URL + "/v1", "OPENAI_MODEL=mock-model"}
}
