package observe_test

import (
	"slices"
	"testing"

	"custos/internal/observe"
)

// What one probe saw is the same in every snapshot, and not copied; what another one adds
// to it is written elsewhere.
func TestWhatOneProbeSawIsNotCopied(t *testing.T) {
	seen := make([]string, 2, 8)
	alone := observe.Beside(nil, seen)
	if &alone[0] != &seen[0] {
		t.Error("what one probe saw was copied")
	}
	if both := observe.Beside(alone, []string{"c"}); len(both) != 3 || both[2] != "c" || slices.Contains(seen[:3], "c") {
		t.Errorf("together they saw %q, and the first has %q now", both, seen[:3])
	}
}
