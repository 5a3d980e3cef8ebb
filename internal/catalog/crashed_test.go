package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/sys/host"
)

// While the ledger cannot be read a crash that was known stays one for the look, and
// nothing may be done about it.
func TestCrashedTreesOfALedgerThatCannotBeRead(t *testing.T) {
	w := &World{Clock: host.Clock{}}
	ended := w.Now().Add(-3 * time.Hour)
	read := func(context.Context) ([]fleet.Registration, error) {
		return []fleet.Registration{{Name: "a", Owner: fleet.OwnerCustos, Worktree: fleet.Path("/w\xff"), Restart: fleet.RestartNever,
			Desired: fleet.DesiredRunning, Exit: &fleet.Exit{Signal: fleet.Known(9), At: ended}}}, nil
	}
	keeps := w.keepsCrashed()
	if known := keeps(); len(known) != 0 {
		t.Errorf("without a ledger: %v", known)
	}
	for _, fails := range []bool{false, true} {
		if w.Registered = read; fails {
			w.Registered = func(context.Context) ([]fleet.Registration, error) { return nil, errors.New("locked") }
		}
		if got := time.Since(keeps()["/w\xff"]).Round(time.Minute); got != 3*time.Hour {
			t.Errorf("fails %v: %v ago", fails, got)
		}
		if at, err := w.crashedIn(t.Context(), "/w\xff"); (err != nil) != fails || at.IsZero() != fails {
			t.Errorf("fails %v: %v, %v", fails, at, err)
		}
	}
}
