package server

import (
	"slices"
	"testing"

	"custos/internal/fleet"
)

// Who has finished, or was given up, is not told to be started again on failure.
func TestWhoIsKept(t *testing.T) {
	var p fleet.Pass
	for _, a := range []struct {
		name    string
		state   fleet.AgentState
		restart fleet.Restart
		failed  string
	}{{"works", fleet.StateWorking, fleet.RestartOnFailure, ""}, {"done", fleet.StateFinished, fleet.RestartOnFailure, ""}, {"again", fleet.StateFinished, fleet.RestartAlways, ""},
		{"crashed", fleet.StateCrashed, fleet.RestartOnFailure, ""}, {"lost", fleet.StateCrashed, fleet.RestartAlways, "too often"}} {
		p.Snapshot.Agents.Value = append(p.Snapshot.Agents.Value, fleet.Agent{Name: a.name, State: a.state})
		p.Past.Registrations = append(p.Past.Registrations, fleet.Registration{Name: a.name, Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, DesiredBy: "ann", Restart: a.restart, Failed: a.failed})
	}
	if got := agentsView(p, hints{}).Kept; !slices.Equal(got, []string{"works", "again", "crashed"}) {
		t.Errorf("%q", got)
	}
}
