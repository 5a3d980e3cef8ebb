//go:build conformance

package conformance

import "testing"

func opencodeCLI() cli {
	return cli{kind: "opencode", pkg: "opencode-ai", taught: "1.18.33", with: map[string]string{"plugin": "@opencode-ai/plugin"},
		bin: "opencode", commands: []string{"/compact", "/new"}, settle: settleOpencode, fresh: settleOpencode, first: firstNone, permission: 1, limitIs: "screen", retries: true, oneCtrlC: true}
}

// settleOpencode has the package of plugins there already: offline it would wait
// for npm, on a blank screen.
func settleOpencode(t *testing.T, h home) []string {
	config := h.write(t, "opencode.json", string(encode(object{
		"model": "mock/mock-model", "small_model": "mock/mock-model", "autoupdate": false, "share": "disabled",
		"permission": object{"bash": "ask"},
		"provider": object{"mock": object{"npm": "@ai-sdk/openai-compatible", "name": "Mock",
			"options": object{"baseURL": h.model.URL + "/v1", "apiKey": dummyKey},
			"models":  object{"mock-model": object{"name": "Mock Model"}}}},
	})))
	for _, name := range []string{"package.json", "package-lock.json", "node_modules"} {
		h.link(t, h.cli.folder("plugin", name), ".config/opencode/"+name)
	}
	return []string{"OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
}
