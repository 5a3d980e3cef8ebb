package follow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// words are moves as a person reads them.
func words(list []fleet.Move) (out []string) {
	for _, m := range list {
		if !m.Noted() {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s > %s (%s) %s", m.Record, m.From, m.To, m.Why, strings.Join(m.Told, " "))))
		}
	}
	return out
}

// TestADueGateIsPlanned: that its time has come is shown before it is committed, with
// who is told of it, and the rows are the ones that are committed.
func TestADueGateIsPlanned(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: at}}
	p.Past.Records.Gates = []fleet.Gate{
		{Head: fleet.Head{ID: "g1", Revision: 1}, Type: fleet.GateTimer, Title: "an hour", Until: at, Waiters: []string{"ann"}, State: fleet.GateOpen, At: at, By: "ann"},
		{Head: fleet.Head{ID: "g2", Revision: 1}, Type: fleet.GateTimer, Title: "two hours", Until: at.Add(time.Hour), State: fleet.GateOpen, At: at, By: "ann"},
	}
	plan := Follow(p)
	got := words(plan.Moves)
	if len(got) != 2 || !strings.HasPrefix(got[0], "gate/g1: open > closed (") || !strings.HasSuffix(got[0], " ann") || !strings.HasPrefix(got[1], "mail/") {
		t.Errorf("moves are %q", got)
	}
	if len(plan.Records.Gates) != 1 || plan.Records.Gates[0].State != fleet.GateClosed || len(plan.Records.Mails) != 1 || !plan.Wake {
		t.Errorf("rows are %+v", plan.Records)
	}
	if plan.Until != at.Add(time.Hour) {
		t.Errorf("the next is due at %v", plan.Until)
	}
}

// TestMoves: what each sort of record is shown to become.
func TestMoves(t *testing.T) {
	at := fleet.Instant{Wall: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	var p fleet.Pass
	p.Past.Runs = []fleet.Run{{ID: "r1", State: fleet.RunOpen, Steps: []fleet.RunStep{{ID: "build", State: fleet.StepRunning}, {ID: "test", State: fleet.StepWaiting}}}}
	p.Past.Registrations = []fleet.Registration{{Name: "ant", Desired: fleet.DesiredRunning}, {Name: "bee", Desired: fleet.DesiredRunning}}
	p.Past.Orders = []fleet.Order{{ID: "o1", Do: fleet.OrderNudge, Agent: "ant", State: fleet.OrderOpen}}
	p.Past.Records.Mails = []fleet.Mail{{Head: fleet.Head{ID: "m1"}, Type: fleet.MailNews, Subject: "secret", Copies: []fleet.MailCopy{{To: "ant", State: fleet.CopyNew}, {To: "bee", State: fleet.CopyNew}}}}

	late := p.Past.Runs[0].Clone()
	late.Steps[0].State, late.Steps[0].Why = fleet.StepFailed, "timed out after 1h"
	p.Plan.Runs = []fleet.Run{late, {ID: "nightly-1", Formula: "nightly", State: fleet.RunOpen}}
	p.Plan.Registrations = []fleet.Registration{{Name: "ant", Desired: fleet.DesiredRunning, SessionID: "s"}, {Name: "bee", Desired: fleet.DesiredStopped}}
	p.Plan.Orders = []fleet.Order{{ID: "o1", Do: fleet.OrderNudge, Agent: "ant", State: fleet.OrderQueued, Why: "it does not run"}}
	p.Plan.Given = []fleet.Order{{ID: "o1", Do: fleet.OrderNudge, Agent: "ant", State: fleet.OrderOpen}, {ID: "pool-1", Do: fleet.OrderSpawn, Agent: "worker-1", State: fleet.OrderOpen, At: at}}
	told := p.Past.Records.Mails[0]
	told.Copies = []fleet.MailCopy{{To: "ant", State: fleet.CopyTold}, {To: "bee", State: fleet.CopyNew}}
	p.Plan.Records.Mails = []fleet.Mail{told}

	want := []string{
		"order/o1: open > queued (nudge ant: it does not run)",
		"order/pool-1:  > open (spawn worker-1)",
		"agent/bee: wanted running > wanted stopped ()",
		"run/r1/build: running > failed (timed out after 1h)",
		"run/nightly-1:  > running (nightly)",
		"mail/m1: new > told (" + string(fleet.MailNews) + ") ant",
	}
	if got := words(moves(p)); !slices.Equal(got, want) {
		t.Errorf("moves are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(moves(p)); n != len(want)+1 {
		t.Errorf("%d moves, want one more: of an agent only what is known changes", n)
	}
}

// TestHandoffMoves: each stage of a hand-off is a move of its agent, and one that is over
// is told of no more.
func TestHandoffMoves(t *testing.T) {
	was := fleet.Registration{Name: "ant", Instance: "i1", Desired: fleet.DesiredRunning}
	at := func(stage fleet.HandoffStage, instance string) fleet.Registration {
		r := was
		r.Instance, r.Handoff = instance, &fleet.Handoff{Instance: "i1", Stage: stage, Why: "because"}
		return r
	}
	for _, c := range []struct {
		was, is fleet.Registration
		want    string
	}{
		{was, at(fleet.HandoffAsked, "i1"), "agent/ant: wanted running > wanted running, hand-off asked (because)"},
		{at(fleet.HandoffSaving, "i1"), at(fleet.HandoffFailed, "i1"), "agent/ant: wanted running, hand-off saving > wanted running, hand-off failed (because)"},
		{at(fleet.HandoffStarting, "i1"), at(fleet.HandoffDone, "i2"), "agent/ant: wanted running, hand-off starting > wanted running ()"},
		{at(fleet.HandoffFailed, "i2"), at(fleet.HandoffFailed, "i3"), ""},
	} {
		p := fleet.Pass{Past: fleet.Past{Registrations: []fleet.Registration{c.was}}}
		p.Plan.Registrations = []fleet.Registration{c.is}
		if got := strings.Join(words(moves(p)), "; "); got != c.want {
			t.Errorf("moves are %q, want %q", got, c.want)
		}
	}
}
