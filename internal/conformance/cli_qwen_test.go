//go:build conformance

package conformance

import "testing"

func qwenCLI() cli {
	return cli{kind: "qwen", pkg: "@qwen-code/qwen-code", taught: "0.24.4", bin: "qwen", commands: []string{"/compress", "/clear"}, settle: settleQwen,
		extra: []string{"--approval-mode=default"}, permission: 1, limitIs: "screen", retries: true, startTold: true}
}

// settleQwen has it speak OpenAI chat completions. By itself 0.24 has a model say whether it
// may use a tool.
func settleQwen(t *testing.T, h home) []string {
	h.write(t, ".qwen/settings.json", string(encode(object{
		"security":  object{"auth": object{"selectedType": "openai"}, "folderTrust": object{"enabled": false}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false, "disableUpdateNag": true},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})))
	return []string{"OPENAI_API_KEY=" + dummyKey, "OPENAI_BASE_URL=" + h.model.URL + "/v1", "OPENAI_MODEL=mock-model"}
}
