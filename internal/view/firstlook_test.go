package view

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// waiter is a pass in which one agent waits since a moment, seen some time ago.
func waiter(dwell, ago time.Duration) fleet.Pass {
	at := instant(time.Hour)
	a := fleet.Agent{Name: "builder", Kind: "claude", Owner: fleet.OwnerCustos, State: fleet.StateWaiting, Reason: "it asks for a permission",
		Dwell: fleet.Known(fleet.Duration(dwell))}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: at}}
	p.Snapshot.Agents.Sight = fleet.Sight{Status: fleet.StatusOK, At: at.Add(-ago)}
	p.Snapshot.Agents.Value = []fleet.Agent{a}
	return p
}

// Who waits for a person is shown from the first second, with its age as it is
// now, and once.
func TestWhoWaitsIsShownAtOnce(t *testing.T) {
	p := waiter(2*time.Second, 0)
	got := needs(p, nil, nil)
	if len(got) != 1 || got[0].Subject != "agent/builder" || got[0].For != "2s" || got[0].Rule != "" || got[0].Command == "" ||
		got[0].Summary != "builder waits for a person: it asks for a permission" {
		t.Fatalf("%+v", got)
	}
	alert := fleet.Alert{AlertKey: fleet.AlertKey{Rule: "agent-waiting", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}},
		Number: 3, Status: fleet.AlertFiring, Priority: fleet.P2, Summary: "builder waits"}
	p.Assessment.Alerts = []fleet.Alert{alert}
	if got := needs(p, nil, nil); len(got) != 1 || got[0].Number != 3 {
		t.Errorf("an alert tells of it: %+v", got)
	}
	p.Assessment.Alerts[0].AckedBy = "ann"
	if got := needs(p, nil, nil); len(got) != 0 {
		t.Errorf("a person has taken it up: %+v", got)
	}
	p = waiter(2*time.Second, 0)
	p.Snapshot.Agents.Status = fleet.StatusUnknown
	if got := needs(p, nil, nil); len(got) != 0 {
		t.Errorf("it was not seen: %+v", got)
	}
}

// All that is told of how long something lasts is told of one moment: an agent that began
// to wait as soon as it ran has not waited for longer than it runs.
func TestAgesAreOfOneMoment(t *testing.T) {
	p := waiter(time.Minute, time.Minute)
	minute := fleet.Known(fleet.Duration(time.Minute))
	a := &p.Snapshot.Agents.Value[0]
	a.Process.PID, a.Age, a.Quiet, a.LastHealthy, a.HeartbeatAge = 7, minute, minute, minute, minute
	a.Tool = &fleet.ToolCall{Name: "Bash", Age: fleet.Duration(time.Minute)}
	a.Signals = []fleet.Signal{{Source: "title", Age: minute}, {Source: "screen", Age: fleet.Unknown[fleet.Duration]("not told")}}
	said := strings.Join(facts(&p.Snapshot, fleet.Subject{Kind: fleet.KindAgent, Name: "builder"}), "\n")
	for _, want := range []string{"waiting for 2m", "pid 7, 2m old", "last sign of life 2m ago", "in the tool Bash for 2m"} {
		if !strings.Contains(said, want) {
			t.Errorf("why does not say %q:\n%s", want, said)
		}
	}
	d := Agent(*a, nil, p, nil, nil)
	if d.Agent.Since != "2m0s" || d.Tool.For != "2m0s" || d.Signals[0].Age != "2m0s" || d.Signals[1].Age != "" {
		t.Errorf("show says %+v, %+v, %+v", d.Agent, d.Tool, d.Signals)
	}
	if r := agentReport(*a, nil, &p.Snapshot); r.Since != "2m0s" {
		t.Errorf("the report says %+v", r)
	}
	if a.Tool.Age != fleet.Duration(time.Minute) || a.Age != minute {
		t.Error("what was seen is changed")
	}
}

// What was told at the last look has lasted longer since.
func TestAgesAreOfNow(t *testing.T) {
	p := waiter(time.Minute, 40*time.Second)
	if got := agentRows(&p.Snapshot)[0].Since; got != "1m40s" {
		t.Errorf("it is so since %s, want 1m40s", got)
	}
	if got := needs(p, nil, nil); len(got) != 1 || got[0].For != "1m40s" {
		t.Errorf("%+v", got)
	}
	if got := agentFacts(p.Snapshot.Now(p.Snapshot.Agents.Value[0]))[0]; !strings.Contains(got, "waiting for 2m") && !strings.Contains(got, "waiting for 1m") {
		t.Errorf("why says %q", got)
	}
}
