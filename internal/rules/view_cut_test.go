package rules

import (
	"testing"

	"custos/internal/fleet"
)

// What is asked of all things of a part that was cut cannot be told: some were not
// looked at.
func TestACutListIsNotAll(t *testing.T) {
	set, err := Checker{}.Parse("t.toml", []byte(`[rule.few-locks]
what = "Few locks."
priority = "P4"
over = "self"
expr = "size(locks) < 2"
summary = "'few'"
`))
	if err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[string]Truth{"": True, "of glob 5000 match": Unknown} {
		var s fleet.Snapshot
		s.Self.Status, s.Locks.Status, s.Locks.Cut = fleet.StatusOK, fleet.StatusOK, cut
		s.Locks.Value = []fleet.Lock{{Path: "/l"}}
		v := NewView(&s, false)
		v.Subject(fleet.KindSelf, &s.Self.Value)
		if got, why := set.Rule("few-locks").Test(v); got != want {
			t.Errorf("cut %q: %v (%s), want %v", cut, got, why, want)
		}
	}
}
