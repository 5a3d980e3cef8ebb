package server

import (
	"testing"

	"custos/internal/fleet"
)

// A guard is told beside its reason, so that the reason does not begin with it again.
func TestAGuardIsNamedOnce(t *testing.T) {
	for why, want := range map[string]string{"frozen: by ann": "by ann", "by ann": "by ann", "freezing: no": "freezing: no"} {
		if got := refusal(fleet.Skipped{Guard: fleet.GuardFrozen, Why: why}); got.Why != want || got.Guard != "frozen" {
			t.Errorf("%q is told as %q of %s", why, got.Why, got.Guard)
		}
	}
}
