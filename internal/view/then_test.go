package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// A moment shows what was told last until then, of each agent and each alert; who has been
// silent for long while it worked is unknown, and who was removed is gone.
func TestThenIsWhatWasToldUntilThen(t *testing.T) {
	began := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	at := func(minute int) fleet.Instant {
		return fleet.Instant{Wall: began.Add(time.Duration(minute) * time.Minute)}
	}
	agent := func(name string) fleet.Subject { return fleet.Subject{Kind: fleet.KindAgent, Name: name} }
	lock := fleet.AlertKey{Rule: "lock-dead", Subject: fleet.Subject{Kind: fleet.KindLock, Name: "/l"}}
	events := []fleet.Event{
		{At: at(0), Kind: "up"}, {At: at(1), Kind: "agent.registered", Subject: agent("a")}, {At: at(2), Kind: "agent.started", Subject: agent("a"), Text: "instance i"},
		{At: at(5), Kind: "alert.firing", Alert: lock, Text: "P2 it is dead"}, {At: at(8), Kind: "agent.ended", Subject: agent("a"), Text: "killed by signal 9"},
		{At: at(9), Kind: "alert.resolved", Alert: lock}, {At: at(10), Kind: "agent.removed", Subject: agent("a")}, {At: at(50), Kind: "down"},
	}
	hooks := []fleet.HookEvent{{At: at(3), Agent: "a", Event: fleet.HookToolBegin, Tool: "Bash", Args: "token=hunter2"}, {At: at(4), Agent: "b", Event: fleet.HookPermission}, {At: at(6), Agent: "c", Event: fleet.HookPrompt}, {At: at(7), Agent: "c", Event: fleet.HookStatus}, {At: at(7), Event: fleet.HookStop}}
	for minute, want := range map[int]string{
		-1: "", 1: "a unknown", 2: "a starting", 3: "a working", 4: "a working, b waiting", 5: "a working, b waiting + lock-dead", 8: "a crashed, b waiting, c working + lock-dead",
		9: "a crashed, b waiting, c working", 10: "b waiting, c working", 36: "b waiting, c working", 37: "b waiting, c unknown", 50: "b waiting, c unknown unwatched",
	} {
		v := Then(at(minute).Wall, at(60).Wall, events, hooks)
		var agents []string
		got := ""
		for _, a := range v.Agents {
			agents = append(agents, a.Name+" "+a.State)
			if strings.Contains(a.Says, "hunter2") {
				t.Errorf("a secret is shown: %+v", a)
			}
		}
		got = strings.Join(agents, ", ")
		for _, a := range v.Alerts {
			got += " + " + a.Rule
		}
		if v.Unwatched {
			got += " unwatched"
		}
		if got != want || v.Begins == nil || !v.Begins.Equal(began) {
			t.Errorf("at %d: %q, want %q; begins %v", minute, got, want, v.Begins)
		}
	}
	if v := Then(began, began, nil, nil); v.Begins != nil || fmt.Sprint(v.Agents, v.Alerts) != "[] []" {
		t.Errorf("of an empty log: %+v", v)
	}
}
