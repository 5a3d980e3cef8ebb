package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

func TestSettle(t *testing.T) {
	working := Verdict{State: fleet.StateWorking, Reason: "its hooks say so", Source: SourceHook}
	none := Silence{Progress: fleet.ProgressNone, Quiet: fleet.Known(fleet.Duration(16 * time.Minute)), Lasted: stuckAgain}
	change := func(do func(*Silence)) Silence { s := none; do(&s); return s }
	loop := Reported{Loop: Loop{Tool: "Bash", Args: "x", Times: 12}}
	for name, c := range map[string]struct {
		v    Verdict
		told Reported
		s    Silence
		want fleet.AgentState
	}{
		"silent, twice":            {working, Reported{}, none, fleet.StateStuck},
		"silent, once":             {working, Reported{}, change(func(s *Silence) { s.Lasted = 0 }), fleet.StateWorking},
		"silent, by two patrols":   {working, Reported{}, change(func(s *Silence) { s.Lasted, s.Cycles = 0, 1 }), fleet.StateStuck},
		"a signal is not seen":     {working, Reported{}, change(func(s *Silence) { s.Progress = fleet.ProgressUnknown }), fleet.StateWorking},
		"a tool has time left":     {working, Reported{}, change(func(s *Silence) { s.Tool = &fleet.ToolCall{Age: 5, Deadline: 6} }), fleet.StateWorking},
		"a tool has had its time":  {working, Reported{}, change(func(s *Silence) { s.Tool = &fleet.ToolCall{Age: 6, Deadline: 6} }), fleet.StateStuck},
		"idle is not stuck":        {Verdict{State: fleet.StateIdle}, Reported{}, none, fleet.StateIdle},
		"waiting is not stuck":     {Verdict{State: fleet.StateWaiting}, Reported{}, none, fleet.StateWaiting},
		"unknown is not stuck":     {Verdict{State: fleet.StateUnknown}, Reported{}, none, fleet.StateUnknown},
		"the screen alone says so": {Verdict{State: fleet.StateWorking, Source: SourceScreen}, Reported{}, none, fleet.StateWorking},
		"repeats itself":           {working, loop, Silence{Progress: fleet.ProgressSome}, fleet.StateLooping},
		"repeats itself, at rest":  {Verdict{State: fleet.StateIdle}, loop, Silence{Progress: fleet.ProgressSome}, fleet.StateIdle},
	} {
		if v := Settle(c.v, c.told, c.s); v.State != c.want || v.State == fleet.StateStuck && (v.Reason == "" || v.Source != sourceProgress) {
			t.Errorf("%s: %s by %s (%s), want %s", name, v.State, v.Source, v.Reason, c.want)
		}
	}
}

// An agent of which any life signal moved within the dwell is never stuck, nor
// is one of which a signal cannot be seen, nor one whose tool has time left.
func TestStuckNeedsEverySignalToBeSilent(t *testing.T) {
	age := rapid.Custom(func(t *rapid.T) fleet.Leaf[fleet.Duration] {
		if rapid.IntRange(0, 3).Draw(t, "known") == 0 {
			return fleet.Unknown[fleet.Duration]("not seen")
		}
		return seconds(rapid.IntRange(0, 3600).Draw(t, "age"))
	})
	rapid.Check(t, func(t *rapid.T) {
		m := Motion{CPU: age.Draw(t, "cpu"), Activity: age.Draw(t, "activity"), InPane: rapid.Bool().Draw(t, "pane")}
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			m.Others = append(m.Others, fleet.Duration(time.Duration(rapid.IntRange(0, 3600).Draw(t, "other"))*time.Second))
		}
		s := Silence{Lasted: time.Hour, Cycles: 9}
		if rapid.Bool().Draw(t, "tool") {
			s.Tool = &fleet.ToolCall{Age: fleet.Duration(rapid.IntRange(0, 100).Draw(t, "tool age")), Deadline: 50}
		}
		s.Progress, s.Quiet = Progress(m, DefaultDwell)
		state := rapid.SampledFrom([]fleet.AgentState{fleet.StateWorking, fleet.StateIdle, fleet.StateWaiting, fleet.StateUnknown, fleet.StateRateLimited}).Draw(t, "state")
		if Settle(Verdict{State: state, Source: SourceHook}, Reported{}, s).State != fleet.StateStuck {
			return
		}
		if state != fleet.StateWorking || s.Tool != nil && !s.Tool.Over() || !m.CPU.IsKnown() || m.InPane && !m.Activity.IsKnown() {
			t.Fatalf("stuck from %s with %+v, tool %+v", state, m, s.Tool)
		}
		for _, a := range append(m.Others, m.CPU.Or(0), m.Activity.Or(fleet.Duration(time.Hour))) {
			if time.Duration(a) < DefaultDwell {
				t.Fatalf("stuck, though a signal moved %s ago: %+v", a, m)
			}
		}
	})
}

func TestResponsive(t *testing.T) {
	for _, c := range []struct {
		state    fleet.AgentState
		p        fleet.Progress
		ok, fail bool
	}{
		{fleet.StateWorking, fleet.ProgressSome, true, false}, {fleet.StateWorking, fleet.ProgressUnknown, false, false},
		{fleet.StateWorking, fleet.ProgressNone, false, true}, {fleet.StateStuck, fleet.ProgressNone, false, true},
		{fleet.StateIdle, fleet.ProgressNone, true, false}, {fleet.StateWaiting, fleet.ProgressNone, false, false},
		{fleet.StateUnknown, fleet.ProgressNone, false, false}, {fleet.StateRateLimited, fleet.ProgressNone, false, false},
	} {
		if ok, fail := Responsive(c.state, c.p); ok != c.ok || fail != c.fail {
			t.Errorf("%s with progress %s: healthy %t, unresponsive %t", c.state, c.p, ok, fail)
		}
	}
}
