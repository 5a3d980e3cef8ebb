package runs

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
		if out := Advance(fleet.Pass{Past: past, Snapshot: snap}); len(out.Runs) != 0 {
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

// BenchmarkAdvanceLarge is a pass over one run of ten thousand steps in a row, half of
// which are done.
func BenchmarkAdvanceLarge(b *testing.B) {
	past, snap := dayOfRuns(1)
	r := &past.Runs[0]
	r.State, r.EndedAt, r.Session, r.Mode, r.Steps = fleet.RunOpen, fleet.Instant{}, nil, fleet.RunSteps, nil
	for s := range 10_000 {
		step := fleet.RunStep{ID: fmt.Sprintf("s%d", s), Do: fleet.StepProse, State: fleet.StepWaiting}
		if s > 0 {
			step.Needs = []string{fmt.Sprintf("s%d", s-1)}
		}
		if s < 5000 {
			step.State = fleet.StepDone
		}
		r.Steps = append(r.Steps, step)
	}
	for b.Loop() {
		Advance(fleet.Pass{Past: past, Snapshot: snap})
	}
}
