package forge

import (
	"fmt"
	"testing"
	"time"
)

// An eager look asks sooner for what it would ask for, and no more of it: of what a former
// process remembered nothing that is not due.
func TestAnEagerLookAsksNoMore(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, old := range []bool{false, true} {
		var all []asking
		asked := map[question]*answer{}
		for n := range 200 {
			q := asking{question{askReviews, n, ""}, "v", 10 * time.Minute, 1}
			all = append(all, q)
			asked[q.question] = &answer{version: "v", tried: now.Add(-5 * time.Minute), old: old}
		}
		for eager, want := range map[bool]int{false: 0, true: mostDue} {
			if old {
				want = 0
			}
			if got := len(choose(all, asked, now, eager)); got != want {
				t.Errorf("%s: %d questions, want %d", fmt.Sprintf("old %v, eager %v", old, eager), got, want)
			}
		}
	}
}
