package ledger

import (
	"fmt"
	"testing"
	"time"

	"custos/internal/fleet"
)

// BenchmarkAdvance is a pass over a day of finished runs, of twenty steps each, of
// which two are open.
func BenchmarkAdvance(b *testing.B) {
	past, snap := dayOfRuns(500)
	b.ReportAllocs()
	for b.Loop() {
		if out := Advance(past, snap, fleet.Policy{}, fleet.Plan{}); len(out.Runs) != 0 {
			b.Fatalf("%d runs changed", len(out.Runs))
		}
	}
}

func dayOfRuns(n int) (past fleet.Past, snap fleet.Snapshot) {
	snap.At = fleet.Instant{Wall: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	for i := range n {
		r := fleet.Run{ID: fmt.Sprintf("r%d", i), Formula: fmt.Sprintf("f%d", i), State: fleet.RunDone, At: snap.At, EndedAt: snap.At,
			Session: &fleet.RunSession{Agent: fmt.Sprintf("r%d", i), Order: "o", End: "phase"}}
		for s := range 20 {
			r.Steps = append(r.Steps, fleet.RunStep{ID: fmt.Sprintf("s%d", s), Do: fleet.StepRun, Argv: []string{"true"}, State: fleet.StepDone, Attempt: 1})
		}
		if i >= n-2 {
			r.State, r.EndedAt, r.Why = fleet.RunOpen, fleet.Instant{}, "waits: step s19 runs; it is not seen now"
			r.Steps[19].State, r.Session.Order, r.Session.End = fleet.StepRunning, "", ""
		}
		past.Runs = append(past.Runs, r)
	}
	return past, snap
}
