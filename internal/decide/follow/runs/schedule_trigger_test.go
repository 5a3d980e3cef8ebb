package runs

import (
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestScheduleOnTrigger: each trigger starts one run, and one that was there before
// starts none.
func TestScheduleOnTrigger(t *testing.T) {
	s := fleet.Schedule{Name: "deploy", On: "trigger:deployed", Enabled: true, Run: template("check", "")}
	want(t, ledger.CheckSchedule(s), nil)
	bad := s
	bad.On = "trigger:a b"
	if err := ledger.CheckSchedule(bad); err == nil {
		t.Error("a strange name is taken")
	}
	past := fleet.Past{StartedAt: at(0)}
	due := func(now time.Duration) int {
		runs, _ := Due(fleet.RunPolicy{Schedules: []fleet.Schedule{s}}, past, fleet.Snapshot{At: at(now)}, fleet.Assessment{})
		for _, r := range runs {
			r.State, r.EndedAt = fleet.RunDone, at(now)
			past.Runs = append(past.Runs, r)
		}
		return len(runs)
	}
	came := func(name string, when time.Duration) {
		past.Records.Triggers = append(past.Records.Triggers, fleet.Trigger{Name: name, At: at(when)})
	}
	came("deployed", -time.Hour)
	came("built", time.Second)
	for i, step := range []struct {
		trigger time.Duration
		want    int
	}{{0, 0}, {2 * time.Minute, 1}, {0, 0}, {4 * time.Minute, 1}, {0, 0}} {
		if step.trigger > 0 {
			came("deployed", step.trigger)
		}
		if got := due(time.Duration(i+1)*time.Minute + time.Second); got != step.want {
			t.Errorf("step %d: %d runs, want %d", i, got, step.want)
		}
	}
}
