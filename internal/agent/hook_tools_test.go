package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Each kind that takes tools is offered custos mcp, whatever the path of custos looks like,
// beside its hooks; the others are refused.
func TestToolsAreOffered(t *testing.T) {
	const program = `/opt/a "b" c/custos`
	holds := func(text string) bool {
		return strings.Contains(text, quoted(program)) && strings.Contains(text, `"mcp"`)
	}
	for _, kind := range []string{"claude", "codex", "gemini", "opencode", "qwen"} {
		args, env, files, err := hooked().LaunchHooks(kind, "/x/custos-hook", "/run", program)
		if err != nil {
			t.Fatal(err)
		}
		all := append(append([]string{}, args...), env...)
		for name, text := range files {
			if strings.HasSuffix(name, ".json") && !json.Valid(text) {
				t.Errorf("%s: %s is no JSON: %s", kind, name, text)
			}
			all = append(all, string(text))
		}
		if !holds(strings.Join(all, "\n")) {
			t.Errorf("%s is not offered the tools: %q", kind, all)
		}
		for _, e := range env {
			if _, value, _ := strings.Cut(e, "="); strings.HasPrefix(value, "{") && !json.Valid([]byte(value)) {
				t.Errorf("%s: %s is no JSON", kind, e)
			}
		}
		without, _, _, err := hooked().LaunchHooks(kind, "/x/custos-hook", "/run", "")
		for _, a := range without {
			if err != nil || !slices.Contains(args, a) {
				t.Errorf("%s: %q is gone with the tools: %q (%v)", kind, a, args, err)
			}
		}
	}
	for _, kind := range []string{"amp", "pi"} {
		if _, _, _, err := hooked().LaunchHooks(kind, "/x/custos-hook", "/run", program); err == nil {
			t.Errorf("%s is said to take tools", kind)
		}
	}
}
