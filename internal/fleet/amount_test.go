package fleet_test

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// What is too long is a duration all the same, and told so.
func TestADurationThatIsTooLong(t *testing.T) {
	for text, want := range map[string]string{"3661d": "is more than ten years", "99999d": "is more than ten years", "999999999d": "is more than ten years", "9999999999d": "is no duration", "x": "is no duration"} {
		if _, err := fleet.ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
