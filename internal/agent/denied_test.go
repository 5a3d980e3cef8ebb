package agent

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// A call that a policy denied was not made: none is in flight, its turn goes on, and a request
// for it is over. It counts for an hour, by its rule.
func TestDeniedCalls(t *testing.T) {
	call := func(ago time.Duration, rule string) fleet.HookEvent {
		e := fleet.HookEvent{At: noon.Add(-ago), Event: fleet.HookToolBegin, Tool: "Bash", CallID: ago.String(), Args: "rm x", Instance: "i1"}
		e.Deny(rule)
		return e
	}
	asks := fleet.HookEvent{At: noon.Add(-4 * time.Minute), Event: fleet.HookPermission, Tool: "Bash", Instance: "i1"}
	for name, c := range map[string]struct {
		events []fleet.HookEvent
		want   fleet.Denied
	}{
		"none":             {[]fleet.HookEvent{call(time.Minute, "")}, fleet.Denied{}},
		"one":              {[]fleet.HookEvent{call(time.Minute, "rm")}, fleet.Denied{Rule: "rm", Times: 1}},
		"the most":         {[]fleet.HookEvent{call(3*time.Minute, "rm"), call(2*time.Minute, "rm"), call(time.Minute, "push")}, fleet.Denied{Rule: "rm", Times: 2}},
		"the latest":       {[]fleet.HookEvent{call(2*time.Minute, "rm"), call(time.Minute, "push")}, fleet.Denied{Rule: "push", Times: 1}},
		"within an hour":   {[]fleet.HookEvent{call(time.Hour, "rm"), call(time.Minute, "rm")}, fleet.Denied{Rule: "rm", Times: 1}},
		"told twice":       {[]fleet.HookEvent{call(time.Minute, "rm"), call(time.Minute, "rm")}, fleet.Denied{Rule: "rm", Times: 1}},
		"that it asked of": {[]fleet.HookEvent{asks, call(time.Minute, "rm")}, fleet.Denied{Rule: "rm", Times: 1}},
	} {
		told := Gather(c.events, "i1", noon, Deadlines{})
		var got fleet.Denied
		if told.Denied != nil {
			got = fleet.Denied{Rule: told.Denied.Rule, Times: told.Denied.Times}
			if told.Denied.Tool != "Bash" || told.Denied.Last.IsZero() {
				t.Errorf("%s: the newest is %+v", name, told.Denied)
			}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if (told.Tool == nil) != (c.want.Rule != "") || told.State != fleet.StateWorking {
			t.Errorf("%s: %s, and %+v is in flight", name, told.State, told.Tool)
		}
	}
}
