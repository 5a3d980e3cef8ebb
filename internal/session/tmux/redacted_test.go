package tmux

import (
	"strings"
	"testing"

	"custos/internal/fleet"
)

// What is remembered is what redaction says, in each look, and is forgotten when it is
// seen no more.
func TestWhatIsRememberedIsRedacted(t *testing.T) {
	var r redacted
	secret := "claude --token ghp_" + strings.Repeat("a", 36)
	for range 3 {
		r.begin()
		for _, text := range []string{secret, "a title", ""} {
			if got := r.of(text); got != fleet.Redact(text) {
				t.Fatalf("%q is %q, not %q", text, got, fleet.Redact(text))
			}
		}
	}
	r.begin()
	r.begin()
	if len(r.last)+len(r.now) != 0 {
		t.Errorf("it still knows %v, %v", r.last, r.now)
	}
}
