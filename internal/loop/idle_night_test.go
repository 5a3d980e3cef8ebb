package loop_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/loop"
	"custos/internal/rules"
)

// night is the day's ten agents with nothing to do: each is idle, and has no task.
type night struct {
	*day
	dies    time.Duration // when the first of them dies; 0: it does not
	blind   bool          // the host is not seen
	options loop.Options
}

func (n *night) Snapshot() fleet.Snapshot {
	s := n.day.Snapshot()
	awake := fleet.Known(fleet.Duration(time.Since(n.machine.begun)))
	for i := range s.Agents.Value {
		a := &s.Agents.Value[i]
		a.State, a.Reason, a.Progress, a.Task, a.Tool, a.Cycles = fleet.StateIdle, "its turn is over", fleet.ProgressUnknown, "", nil, 0
		a.Dwell, a.Quiet = awake, awake
	}
	if a := &s.Agents.Value[0]; n.dies > 0 && time.Since(n.machine.begun) >= n.dies {
		a.State, a.Process, a.Pane = fleet.StateCrashed, fleet.ProcessID{}, nil
	}
	if n.blind {
		s.Host.Sight = fleet.Sight{Status: fleet.StatusStale, Why: "a disk hangs"}
	}
	return s
}

func newNight(t *testing.T, every, most time.Duration) *night {
	n := &night{day: newDay(t, "")}
	n.plans = nil
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	n.options = loop.Options{Board: n, Rules: set, Policy: n.policy, History: n.day, Act: n.actor, Journal: n,
		Touches: func(string) []fleet.PartName { return []fleet.PartName{fleet.PartAgents} }, Every: every, IdleMax: most, Tick: dayTick, Log: slog.New(slog.DiscardHandler)}
	n.loop = loop.New(n.options)
	return n
}

// patrols is when each patrol was, since the night began.
func (n *night) patrols() (at []time.Duration) {
	for _, turn := range n.turns {
		if turn.Patrol > 0 {
			at = append(at, turn.At.Wall.Sub(n.machine.begun))
		}
	}
	return at
}

// TestIdleNight: a fleet with nothing to do for twelve hours. The patrols draw
// apart to 15 minutes; nobody is nudged, asked or told, and no model is called.
// Rules that wait for time are still asked every minute.
func TestIdleNight(t *testing.T) {
	fleettest.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNight(t, time.Minute, 15*time.Minute)
		n.hours(t, 12*time.Hour)
		if n.calls != 0 || len(n.records) != 0 {
			t.Errorf("%d calls of a model; done: %v", n.calls, n.deeds())
		}
		for _, turn := range n.turns {
			for _, m := range turn.Outbox {
				t.Errorf("told at %v: %s", turn.At.Wall, m.Subject)
			}
		}
		at := n.patrols()
		if len(at) < 12*4 || len(at) > 12*4+5 {
			t.Errorf("%d patrols in 12 hours, want one each 15 minutes and a few to begin with", len(at))
		}
		for i, want := range []time.Duration{0, 2, 6, 14, 29, 44} {
			if at[i] != want*time.Minute {
				t.Errorf("patrol %d after %v, want %vm", i, at[i], int(want))
			}
		}
		if len(n.turns) < 12*60 {
			t.Errorf("%d passes in 12 hours, want one each minute for rules that wait for time", len(n.turns))
		}
	})
}

// TestIdleNightLulls: while every pass is idle, each second moment for rules that wait for time is let go
// by, and none when something is wrong.
func TestIdleNightLulls(t *testing.T) {
	fleettest.WithoutRace(t)
	for what, c := range map[string]struct {
		blind bool
		want  int
	}{"idle": {false, 90}, "something is not seen": {true, 180}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNight(t, time.Hour, time.Hour)
			n.options.Lull = dayTick * 3 / 2
			n.loop = loop.New(n.options)
			n.blind = c.blind
			n.hours(t, 3*time.Hour)
			if got := len(n.turns); got < c.want || got > c.want+20 {
				t.Errorf("%s: %d passes in three hours, want about %d", what, got, c.want)
			}
		})
	}
}

// TestIdleNightEnds: an agent dies in the middle of the night. The patrol that was
// put off comes within the normal interval, and so do those after it while
// something is wrong with it; without a back-off nothing changes.
func TestIdleNightEnds(t *testing.T) {
	fleettest.WithoutRace(t)
	for _, most := range []time.Duration{0, 15 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			n := newNight(t, 2*time.Minute, most)
			n.dies = 4*time.Hour + time.Minute
			n.hours(t, 5*time.Hour)
			before, longest := time.Duration(0), time.Duration(0)
			for _, at := range n.patrols() {
				longest = max(longest, at-before)
				if before < n.dies && at > n.dies && at-n.dies > 2*time.Minute+dayTick {
					t.Errorf("the first patrol after the death came %v later", at-n.dies)
				}
				before = at
			}
			if want := max(2*time.Minute, most); longest != want {
				t.Errorf("with at most %v, two patrols were %v apart, want %v", most, longest, want)
			}
		})
	}
}
