package member

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/runs"
	"custos/internal/fleet"
	"custos/internal/hub/hubtest"
)

// TestOneHostRunsEachSlot: two hosts with one schedule, at a hub and at a file of leases: each slot is run by one, and
// the other one knows which.
func TestOneHostRunsEachSlot(t *testing.T) {
	t.Parallel()
	t.Run("hub", func(t *testing.T) {
		t.Parallel()
		hub := hubtest.Start(t, 1)
		a, endA := host(t, hub.Join(t, "box1"), nil)
		b, _ := host(t, hub.Join(t, "box2"), nil)
		eachSlotOnce(t, a, b, func() { hub.Stop(0); hub.Restart(0) }, endA)
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "leases")
		open := func(name string) (*Member, func()) {
			l := &ledger{}
			m, err := Open(Options{Place: Place{Joined: filepath.Join(t.TempDir(), "hub"), File: file, Host: name}, Now: now, Epochs: l.known, Learn: l.learn, Changed: func(string) {}, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return m, goes(t, m)
		}
		a, endA := open("box1")
		b, _ := open("box2")
		eachSlotOnce(t, a, b, func() {}, endA)
	})
}

// scheduler is a host that has the schedule, with the passes of its own clock.
type scheduler struct {
	m    *Member
	past fleet.Past
}

// minutely begins every minute, on one host.
func minutely() fleet.Schedule {
	return fleet.Schedule{Name: "plugin:tidy", Cron: "* * * * *", Hosts: fleet.HostsOne, Enabled: true, Run: fleet.Run{Formula: "plugin:tidy", Mode: fleet.RunSteps, Dir: "/runs",
		Steps: []fleet.RunStep{{ID: "run", Do: fleet.StepRun, Argv: []string{"true"}}}}}
}

// pass is one at a moment; it returns the newest run, and what is held.
func (s *scheduler) pass(at fleet.Instant) (fleet.Run, string) {
	p := fleet.Pass{Past: s.past, Snapshot: fleet.Snapshot{At: at, Hub: s.m.Seen(at)}}
	p.Policy.Runs.Schedules = []fleet.Schedule{minutely()}
	f := runs.Begin(p)
	s.m.Claim(f.Claims...)
	for _, r := range f.Runs {
		if !r.IsOver() {
			r.State, r.EndedAt, r.Why = fleet.RunDone, at, "here"
		}
		s.past.Runs = append(s.past.Runs, r)
	}
	if len(f.Held) > 0 {
		return fleet.Run{}, f.Held[0].Held
	}
	if len(s.past.Runs) == 0 {
		return fleet.Run{}, ""
	}
	return s.past.Runs[len(s.past.Runs)-1], ""
}

// eachSlotOnce plays a quarter of an hour: the place of the claims is begun anew in its middle, and a ends towards its end.
func eachSlotOnce(t *testing.T, a, b *Member, anew, endA func()) {
	start := fleet.Instant{Wall: time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	box1, box2 := &scheduler{m: a, past: fleet.Past{StartedAt: start}}, &scheduler{m: b, past: fleet.Past{StartedAt: start}}
	for minute := 1; minute <= 12; minute++ {
		if minute == 6 {
			anew()
		}
		at := start.Add(time.Duration(minute)*time.Minute + time.Second)
		slot := fmt.Sprint(at.Wall.Format("15:04"), ":00")
		var one, other fleet.Run
		eventually(t, slot+" is run", func() bool {
			var why1, why2 string
			one, why1 = box1.pass(at)
			other, why2 = box2.pass(at)
			return why1 == "" && why2 == "" && one.Slot.Wall.Format("15:04:05") == slot && one.Slot.Wall.Equal(other.Slot.Wall)
		})
		if got := one.Why + "; " + other.Why; got != "here; host box1 runs it" && got != "host box2 runs it; here" {
			t.Fatalf("%s: %s", slot, got)
		}
	}
	endA()
	at := start.Add(20 * time.Minute)
	eventually(t, "box2 runs what comes then", func() bool {
		r, why := box2.pass(at)
		return why == "" && r.Why == "here" && r.Slot.Wall.Minute() == 20
	})
	if r, why := box1.pass(at); why == "" || !strings.Contains(why, "it is not known which may") {
		t.Errorf("a host that takes part no more runs %+v: %q", r, why)
	}
}
