package fleet

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// No two attempts share a key, and every key is one that a shim takes.
func TestStepKey(t *testing.T) {
	key := regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z0-9._-]{0,5}`), rapid.String())
		number := rapid.IntRange(1, 1000)
		a, b, n, m := name.Draw(t, "a"), name.Draw(t, "b"), number.Draw(t, "n"), number.Draw(t, "m")
		if !key.MatchString(StepKey(a, n)) {
			t.Fatalf("%q is no key", StepKey(a, n))
		}
		if (StepKey(a, n) == StepKey(b, m)) != (a == b && n == m) {
			t.Fatalf("%q/%d and %q/%d", a, n, b, m)
		}
	})
}

// TestRunOfMarker: only the name under which the steps of a run are started is that of a run.
func TestRunOfMarker(t *testing.T) {
	if id, ok := RunOfMarker(Run{ID: "r1"}.MarkerName()); id != "r1" || !ok {
		t.Errorf("%q, %v", id, ok)
	}
	for _, name := range []string{"r1", "run", "run/a/b", ""} {
		if id, ok := RunOfMarker(name); ok {
			t.Errorf("%s is of run %q", name, id)
		}
	}
}
