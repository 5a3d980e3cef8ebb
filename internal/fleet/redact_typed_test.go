package fleet_test

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// A token that is typed is hidden from its fourth character on, in whatever is around it.
func TestATokenIsHiddenWhileItIsTyped(t *testing.T) {
	for _, secret := range planted {
		if strings.Contains("1234567890", secret[:4]) || strings.HasPrefix(secret, "SG.") {
			continue // a number, and a word: known for one when it is whole
		}
		from := max(strings.LastIndexAny(secret[:12], "_-."), 3) + 5
		for n := from; n <= len(secret); n++ {
			for _, frame := range []string{"%", "> %", "│ > %     │", "typed %", "A=%", "'%"} {
				line := strings.Replace(frame, "%", secret[:n], 1)
				got := fleet.Redact(strings.Join(fleet.RedactWrapped([]string{"$ a line as long as any other of all those that there are", line}, fleet.Redact), "\n"))
				if strings.Contains(got, secret[:n]) {
					t.Errorf("%q is shown as %q", line, got)
				}
			}
		}
	}
	for _, line := range []string{"pip install sk-learn", "npm_config_cache", "hf_hub", "see ghp_", "in ASIA-PACIFIC", "glpat-ab", "risk-averse", "a task-force", "xai-org is"} {
		if got := fleet.RedactWrapped([]string{line}, fleet.Redact); got[0] != line {
			t.Errorf("%q is shown as %q", line, got[0])
		}
	}
}
