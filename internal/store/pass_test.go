package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
)

// fleetTurn is what a pass commits about n agents that are dead: an alert and a
// refused recovery for each.
func fleetTurn(n int, when fleet.Instant) fleet.Turn {
	turn := fleet.Turn{At: when}
	for i := range n {
		who := fleet.Subject{Kind: fleet.KindAgent, Name: fmt.Sprintf("a%04d", i)}
		k := fleet.AlertKey{Rule: "agent-crashed", Subject: who}
		a := alert(int64(i+1), k, fleet.AlertFiring, at(0))
		a.LastTrue, a.FiredAt, a.Changes = when, at(0), []fleet.Instant{at(0)}
		a.Evidence = []fleet.Evidence{{Expr: "agent.state", Value: "crashed"}, {Expr: "agent.ended", Value: "signal 9"}}
		turn.Assessment.Alerts = append(turn.Assessment.Alerts, a)
		turn.Plan.Skipped = append(turn.Plan.Skipped, fleet.Skipped{Guard: fleet.GuardMode, Why: "observe",
			Action: fleet.Action{ID: "r" + who.Name, Do: "recover", Subject: who, For: k}})
	}
	return turn
}

// BenchmarkPass is what one more death costs the ledger, where so many were
// before: the past is read, and the turn with one more alert is committed.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "c.db"), synchronous: "OFF"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for i := range n {
				r := fleet.Registration{Name: fmt.Sprintf("a%04d", i), Kind: "claude", Desired: fleet.DesiredRunning, Argv: []string{"claude"}}
				if _, err := s.Register(b.Context(), r, at(0)); err != nil {
					b.Fatal(err)
				}
			}
			for i := 0; b.Loop(); i++ {
				turn := fleetTurn(n, at(time.Duration(i)*time.Millisecond))
				turn.Assessment.Alerts[i%n].Summary = fmt.Sprint("death ", i)
				if _, err := s.Past(b.Context(), turn.At); err != nil {
					b.Fatal(err)
				}
				if err := s.Commit(b.Context(), turn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
