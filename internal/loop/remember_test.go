package loop

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

func TestRememberCountsSilentPatrols(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	for name, c := range map[string]struct {
		state    fleet.AgentState
		progress fleet.Progress
		patrol   int64
		want     int
	}{
		"stuck, at a patrol":       {fleet.StateStuck, fleet.ProgressNone, 7, 3},
		"stuck, at another pass":   {fleet.StateStuck, fleet.ProgressNone, 0, 2},
		"silent work, at a patrol": {fleet.StateWorking, fleet.ProgressNone, 7, 3},
		"work that moves":          {fleet.StateWorking, fleet.ProgressSome, 7, 0},
		"work, cannot tell":        {fleet.StateWorking, fleet.ProgressUnknown, 7, 2},
		"idle":                     {fleet.StateIdle, fleet.ProgressNone, 7, 0},
		"waits":                    {fleet.StateWaiting, fleet.ProgressNone, 7, 0},
		"unknown, silent":          {fleet.StateUnknown, fleet.ProgressNone, 7, 2},
		"unknown, and it moved":    {fleet.StateUnknown, fleet.ProgressSome, 7, 0},
	} {
		var s fleet.Snapshot
		s.At, s.Patrol, s.Agents.Status = at, c.patrol, fleet.StatusOK
		s.Agents.Value = []fleet.Agent{{Name: "a", Process: fleet.ProcessID{PID: 1}, State: c.state, Progress: c.progress, Cycles: 2,
			Still: fleet.Duration(time.Minute), CPUTime: fleet.Known(fleet.Duration(5)), LastHealthy: fleet.Known(fleet.Duration(time.Hour))}}
		r := remember(s)[0]
		if r.Cycles != c.want || r.CPUTime != 5 || at.Since(r.Moved) != time.Minute || at.Since(r.LastHealthy) != time.Hour {
			t.Errorf("%s: %+v, want %d cycles", name, r, c.want)
		}
	}
}

func TestRememberKeepsWhatItCannotSee(t *testing.T) {
	var s fleet.Snapshot
	s.Agents.Status = fleet.StatusStale
	s.Agents.Value = []fleet.Agent{{Name: "a", Process: fleet.ProcessID{PID: 1}}}
	if r := remember(s); r != nil {
		t.Errorf("stale agents were recorded: %+v", r)
	}
	s.Agents.Status = fleet.StatusOK
	s.Agents.Value[0].Process = fleet.ProcessID{}
	if r := remember(s); len(r) != 0 {
		t.Errorf("one that is gone was recorded as alive: %+v", r)
	}
}
