//go:build conformance

package conformance

import "testing"

func geminiCLI() cli {
	return cli{kind: "gemini", pkg: "@google/gemini-cli", taught: "0.61.0", bin: "gemini", commands: []string{"/compress", "/clear"}, settle: settleGemini, fresh: freshGemini, first: firstTrust,
		extra: []string{"-m", "gemini-2.5-flash"}, permission: 1, retries: true, startTold: true,
		ignoresTerm: true}
}

func settleGemini(t *testing.T, h home) []string { return withGemini(t, h, false) }

// freshGemini is behind its choice of a login, which needs the network.
func freshGemini(t *testing.T, h home) []string { return withGemini(t, h, true) }

func withGemini(t *testing.T, h home, trust bool) []string {
	h.write(t, ".gemini/settings.json", string(encode(object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": trust}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false, "disableUpdateNag": true},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})))
	return []string{"GEMINI_API_KEY=" + dummyKey, "GOOGLE_GEMINI_BASE_URL=" + h.model.URL}
}
