//go:build conformance

package conformance

import "testing"

func geminiCLI() cli {
	return cli{kind: "gemini", pkg: "@google/gemini-cli", taught: "0.61.0", bin: "gemini", commands: []string{"/compress", "/clear"}, settle: settleGemini,
		extra: []string{"-m", "gemini-2.5-flash"}, permission: 1, retries: true, startTold: true,
		ignoresTerm: true}
}

func settleGemini(t *testing.T, h home) []string {
	h.write(t, ".gemini/settings.json", string(encode(object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false, "disableUpdateNag": true},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})))
	return []string{"GEMINI_API_KEY=" + dummyKey, "GOOGLE_GEMINI_BASE_URL=" + h.model.URL}
}
