package runs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// asked is a run whose agent asked a person something.
func asked(t *testing.T) *town {
	w := onStage(t)
	w.says("escalate", "which branch?")
	w.passes(3, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunPerson || r.Session.Asks != "which branch?" || r.Session.AsksAt.IsZero() {
		t.Fatalf("%+v %+v", r, r.Session)
	}
	return w
}

// TestReply: a run that waits goes on with a reply, once its former agent is gone;
// the reply is filed when the prompt was acknowledged, and not before.
func TestReply(t *testing.T) {
	w := asked(t)
	w.passes(5, time.Minute)
	if r := w.past.Runs[0]; r.State != fleet.RunPerson {
		t.Fatalf("without a reply it is %s: %s", r.State, r.Why)
	}
	said := w.replies["r1"]
	said.lies, said.written = true, 1
	w.passes(12, time.Second)
	s := w.past.Runs[0].Session
	if s.Agent != "r1-2" || !s.Seen || s.Answer != fleet.AnswerSent || !said.taken || said.done != 0 {
		t.Fatalf("before it is acknowledged: %+v, %+v", s, said)
	}
	ledger.Registration(w.past.Registrations, "r1-2").PromptState = fleet.DeliveryAcknowledged
	w.passes(4, time.Second)
	if s := w.past.Runs[0].Session; said.done != 1 || s.Answer != "" || s.Answers != 1 {
		t.Fatalf("after that: %+v, %+v", s, said)
	}
	w.says("done", "")
	w.passes(3, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunDone || r.Session.Starts != 2 {
		t.Errorf("run %s: %s", r.State, r.Why)
	}
}

// TestReplyIsToldAgain: the session that was to be told dies before it shows that it
// was; the next one is told.
func TestReplyIsToldAgain(t *testing.T) {
	w := asked(t)
	w.replies["r1"].lies = true
	w.passes(12, time.Second)
	for range 2 { // the contract's one recovery, and the end
		w.die(w.agents["r1-2"], fleet.Exit{Signal: fleet.Known(9)})
		w.passes(8, time.Second)
	}
	r := w.past.Runs[0]
	if r.State != fleet.RunFailed || r.Session.Answer != fleet.AnswerSent || w.replies["r1"].done != 0 {
		t.Fatalf("%+v %+v", r, r.Session)
	}
	got, err := ledger.ResumeRun(w.past.Runs, r, "", ledger.ResumeAgain, "ann", w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.past.Runs[0] = got
	w.passes(10, time.Second)
	prompts := slices.DeleteFunc(slices.Clone(w.past.Actions), func(a fleet.ActionRecord) bool { return a.Do != doPrepareRun })
	if last := prompts[len(prompts)-1].Target.Step.Run.Session; last.Answer != fleet.AnswerDue {
		t.Errorf("the next prompt is made without the reply: %+v", last)
	}
	w.says("done", "")
	w.passes(6, time.Second)
	if r := w.past.Runs[0]; r.State != fleet.RunDone || r.Session.Agent != "r1-4" || r.Session.Answers != 1 || w.replies["r1"].done != 1 {
		t.Errorf("%+v %+v, %+v", r, r.Session, w.replies["r1"])
	}
}

// TestReplyRefused: a reply that is not taken is said, and one that cannot be taken
// has the run wait for a person again.
func TestReplyRefused(t *testing.T) {
	w := asked(t)
	snap := w.seen()
	snap.Runs.Value[0].Reply = fleet.Unknown[bool]("another user may write to it")
	p := Advance(fleet.Pass{Past: w.past, Snapshot: snap, Policy: w.policy})
	if len(p.Runs) != 1 || p.Runs[0].State != fleet.RunPerson || !strings.HasSuffix(p.Runs[0].Why, "; its reply is not taken: another user may write to it") {
		t.Errorf("%+v", p.Runs)
	}

	got, err := ledger.ReplyRun(w.past.Runs[0], "ann", w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.past.Runs[0] = got
	question := *w.past.Runs[0].Session
	renewSession(&w.past.Runs[0])
	w.past.Runs[0].Prepared = "a-1"
	w.past.Runs[0].Steps[0].State = fleet.StepReady
	w.past.Actions = append(slices.Clone(w.past.Actions), fleet.ActionRecord{Action: fleet.Action{ID: "a-1", Do: doPrepareRun, Target: fleet.Target{Step: &fleet.StepTarget{Run: w.past.Runs[0]}}},
		Stage: fleet.StageEnded, Result: &fleet.Result{ActionID: "a-1", Status: fleet.ResultFailed, Why: "cannot take the reply: it is gone"}})
	p = Advance(fleet.Pass{Past: w.past, Snapshot: w.seen(), Policy: w.policy})
	if len(p.Runs) != 1 || p.Runs[0].State != fleet.RunPerson || !strings.Contains(p.Runs[0].Why, "it is gone") || !ledger.AwaitsReply(p.Runs[0]) || p.Runs[0].Session.Answers != 0 {
		t.Errorf("%+v %+v", p.Runs, p.Runs[0].Session)
	}
	if s := p.Runs[0].Session; s.Asks != question.Asks || s.AsksAt != question.AsksAt {
		t.Errorf("the question is %q of %v now, so that no prompt tells it, and what lies there is older", s.Asks, s.AsksAt)
	}
}

// TestReplyRun: who may reply, and to what.
func TestReplyRun(t *testing.T) {
	w := asked(t)
	for why, c := range map[string]struct {
		by     string
		change func(*fleet.Run)
	}{
		"takes a person":    {by: fleet.ByAgent("r1")},
		"it is done":        {by: "ann", change: func(r *fleet.Run) { r.State = fleet.RunDone }},
		"not got the reply": {by: "ann", change: func(r *fleet.Run) { r.Session.Answer = fleet.AnswerSent }},
		"agent r1 works":    {by: "ann", change: func(r *fleet.Run) { r.Session.End = "" }},
		"asked nothing":     {by: "ann", change: func(r *fleet.Run) { r.Steps[0].State = fleet.StepFailed }},
	} {
		run := w.past.Runs[0].Clone()
		if c.change != nil {
			c.change(&run)
		}
		if got, err := ledger.ReplyRun(run, c.by, w.now); !errors.Is(err, ledger.ErrIllegal) || !strings.Contains(err.Error(), why) || got.Session.Answers != 0 {
			t.Errorf("%s: %v", why, err)
		}
	}
	got, err := ledger.ReplyRun(w.past.Runs[0], "ann", w.now)
	if err != nil || got.State != fleet.RunOpen || got.Steps[0].State != fleet.StepWaiting || got.Steps[0].Why != "ann replied" || w.past.Runs[0].Session.Answers != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReplyWaitsForTheFormerAgent: while that is being ended no other begins, for both
// would write one phase file.
func TestReplyWaitsForTheFormerAgent(t *testing.T) {
	w := asked(t)
	stop := fleet.Order{ID: w.past.Runs[0].Session.Stop, Do: fleet.OrderStop, Agent: "r1", By: fleet.ByCustos, State: fleet.OrderQueued, Why: "a person types there"}
	w.past.Orders = []fleet.Order{stop}
	w.agents["r1"].Process.PID = 77
	w.replies["r1"].lies = true
	w.passes(5, time.Minute)
	if r := w.past.Runs[0]; r.Session.Agent != "r1" || r.State != fleet.RunOpen || r.Why != "waits: its former agent r1 is being ended" {
		t.Fatalf("%+v %+v", r, r.Session)
	}
	w.agents["r1"].Process.PID = 0
	w.passes(8, time.Second)
	if s := w.past.Runs[0].Session; s.Agent != "r1-2" || !s.Seen {
		t.Errorf("%+v", s)
	}
}

// TestMayChange: what a pass looks at of runs that are over.
func TestMayChange(t *testing.T) {
	a := newAdvance(fleet.Pass{})
	a.agents["seen"], a.lapsing["when"] = &fleet.Agent{}, true
	a.regs["tree"] = &fleet.Registration{Run: "r", Worktree: "/w"}
	for name, c := range map[string]struct {
		run  fleet.Run
		want bool
	}{
		"over":                      {fleet.Run{}, false},
		"open":                      {fleet.Run{State: fleet.RunOpen}, true},
		"its condition lapses":      {fleet.Run{Schedule: "when"}, true},
		"its agent is gone":         {fleet.Run{Session: &fleet.RunSession{Agent: "gone"}}, false},
		"its agent tells of costs":  {fleet.Run{Session: &fleet.RunSession{Agent: "seen"}}, true},
		"its worktree was just met": {fleet.Run{ID: "r", Session: &fleet.RunSession{Agent: "tree"}}, true},
		"its worktree goes":         {fleet.Run{ID: "r", Session: &fleet.RunSession{Agent: "tree", Worktree: "/w"}}, true},
		"its worktree is gone":      {fleet.Run{ID: "r", Session: &fleet.RunSession{Agent: "tree", Worktree: "/w", Removal: removalDone}}, false},
		"a reply is to be filed":    {fleet.Run{Session: &fleet.RunSession{Agent: "gone", Answer: fleet.AnswerTold}}, true},
	} {
		if c.run.State == "" {
			c.run.State = fleet.RunDone
		}
		if got := a.mayChange(&c.run); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
