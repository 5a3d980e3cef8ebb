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
		r := remember(s, nil)[0]
		if r.Cycles != c.want || r.CPUTime != 5 || at.Since(r.Moved) != time.Minute || at.Since(r.LastHealthy) != time.Hour {
			t.Errorf("%s: %+v, want %d cycles", name, r, c.want)
		}
	}
}

// Patrols that rest on one look, or follow each other within a minute, are one
// cycle, however many they are; a newer process begins anew.
func TestRememberCountsLooksAndNotPatrols(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	stuck := fleet.Agent{Name: "a", Process: fleet.ProcessID{PID: 1}, State: fleet.StateStuck, Progress: fleet.ProgressNone}
	var past []fleet.AgentRecord
	patrol := func(after, looked time.Duration, a fleet.Agent) int {
		s := fleet.Snapshot{At: at.Add(after), Patrol: 1}
		s.Agents.Status, s.Agents.At, s.Agents.Value = fleet.StatusOK, at.Add(looked), []fleet.Agent{a}
		past = remember(s, past)
		return past[0].Cycles
	}
	moves, other := stuck, stuck
	moves.Progress, moves.State, other.Process.PID = fleet.ProgressSome, fleet.StateWorking, 2
	for i, c := range []struct {
		after, looked time.Duration
		agent         fleet.Agent
		want          int
	}{
		{0, 0, stuck, 1}, {time.Second, 0, stuck, 1}, {2 * time.Second, 2 * time.Second, stuck, 1},
		{3 * time.Minute, 0, stuck, 1}, // nobody has looked since
		{3 * time.Minute, 59 * time.Second, stuck, 1}, {3 * time.Minute, time.Minute, stuck, 2}, {4 * time.Minute, 90 * time.Second, stuck, 2},
		{5 * time.Minute, 5 * time.Minute, stuck, 3}, {6 * time.Minute, 6 * time.Minute, moves, 0},
		{7 * time.Minute, 7 * time.Minute, stuck, 1}, {7 * time.Minute, 7 * time.Minute, other, 1},
	} {
		if got := patrol(c.after, c.looked, c.agent); got != c.want {
			t.Errorf("patrol %d: %d cycles, want %d", i, got, c.want)
		}
	}
}

func TestRememberKeepsWhatItCannotSee(t *testing.T) {
	var s fleet.Snapshot
	s.Agents.Status = fleet.StatusStale
	s.Agents.Value = []fleet.Agent{{Name: "a", Process: fleet.ProcessID{PID: 1}}}
	if r := remember(s, nil); r != nil {
		t.Errorf("stale agents were recorded: %+v", r)
	}
	s.Agents.Status = fleet.StatusOK
	s.Agents.Value[0].Process = fleet.ProcessID{}
	if r := remember(s, nil); len(r) != 0 {
		t.Errorf("one that is gone was recorded as alive: %+v", r)
	}
}

func TestRememberWritesWhatIsNew(t *testing.T) {
	at := fleet.Instant{Wall: time.Unix(1000, 0).UTC(), Up: fleet.Duration(time.Hour), Boot: "b"}
	s := fleet.Snapshot{At: at}
	s.Agents.Status = fleet.StatusOK
	s.Agents.Value = []fleet.Agent{{Name: "a", State: fleet.StateIdle, Process: fleet.ProcessID{PID: 7, Start: 1}}}
	old := remember(s, nil)
	later := func(d time.Duration) fleet.Snapshot { n := s; n.At = at.Add(d); return n }
	if got := remember(later(10*time.Second), old); len(got) != 0 {
		t.Errorf("nothing but time passed, and %v is written", got)
	}
	still := later(6 * time.Minute)
	still.Agents.Value = []fleet.Agent{s.Agents.Value[0]}
	for d, want := range map[time.Duration]int{2 * time.Minute: 0, 6 * time.Minute: 1} {
		still.At, still.Agents.Value[0].Still = at.Add(d), fleet.Duration(d)
		if got := remember(still, old); len(got) != want {
			t.Errorf("nothing of it moved for %v, and %v is written", d, got)
		}
	}
	if got := remember(later(2*time.Minute), old); len(got) != 1 {
		t.Error("it moved, and is not written for two minutes")
	}
	patrol := later(time.Second)
	patrol.Patrol = 3
	if got := remember(patrol, old); len(got) != 1 {
		t.Error("a patrol does not write it")
	}
	s.Agents.Value = []fleet.Agent{{Name: "a", State: fleet.StateWorking, Process: fleet.ProcessID{PID: 7, Start: 1}}}
	if got := remember(s, old); len(got) != 1 {
		t.Error("a change of state is not written")
	}
}
