package runs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestARunThatEndsSettlesItsReply: what becomes of a person's reply when the run is over
// before its next agent has shown that it has it. One that no prompt was made of is
// nobody's; one that was taken out of the spool is filed.
func TestARunThatEndsSettlesItsReply(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *town) // the run ends
		passes int           // and before that
		state  fleet.RunState
		taken  bool
	}{
		"the former agent reports the rest":              {before: theFormerReports, state: fleet.RunDone},
		"a person does the rest":                         {before: aPersonReports, state: fleet.RunDone},
		"a person cancels it":                            {before: aPersonCancels, state: fleet.RunCancelled},
		"its next agent is started":                      {before: aPersonReports, passes: 3, state: fleet.RunDone, taken: true},
		"its next agent is started, a person cancels it": {before: aPersonCancels, passes: 3, state: fleet.RunCancelled, taken: true},
		"its next agent works":                           {before: aPersonReports, passes: 12, state: fleet.RunDone, taken: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := asked(t)
			w.past.Orders = append(slices.Clone(w.past.Orders), fleet.Order{ID: w.past.Runs[0].Session.Stop, Do: fleet.OrderStop, Agent: "r1", By: fleet.ByCustos, State: fleet.OrderQueued, Why: "a person types there"})
			w.agents["r1"].Process.PID = 77
			said := w.replies["r1"]
			said.lies, said.written = true, 1
			w.passes(2, time.Second)
			if s := w.past.Runs[0].Session; s.Answer != fleet.AnswerDue || said.taken {
				t.Fatalf("%+v", s)
			}
			if c.passes > 0 {
				w.agents["r1"].Process.PID = 0
				w.passes(c.passes, time.Second)
			}
			c.before(w)
			w.passes(6, time.Second)
			r, s := w.past.Runs[0], w.past.Runs[0].Session
			if r.State != c.state || s.Answer != "" || s.Filing != "" || s.Answers != said.done || said.taken || said.lies == c.taken {
				t.Errorf("run %s (%s), with %+v of replies: %+v", r.State, r.Why, *said, *s)
			}
			if note := "no agent was told of the reply"; strings.Contains(r.Why, note) == c.taken {
				t.Errorf("it says %q", r.Why)
			}
		})
	}
}

// TestAReplyWasTaken: of a run that is over, by what is on record of its prompt.
func TestAReplyWasTaken(t *testing.T) {
	over := fleet.Run{ID: "r1", State: fleet.RunDone, Session: &fleet.RunSession{Agent: "r1-2", Answer: fleet.AnswerDue, Answers: 2}}
	prompt := func(of fleet.Run, status fleet.ResultStatus) fleet.ActionRecord {
		rec := fleet.ActionRecord{Action: fleet.Action{ID: "a-1", Do: doPrepareRun, Target: fleet.Target{Step: &fleet.StepTarget{Run: of.Clone()}}}}
		if status != "" {
			rec.Result = &fleet.Result{ActionID: "a-1", Status: status}
		}
		return rec
	}
	former := over.Clone()
	former.Session.Answers, former.Session.Answer = 1, fleet.AnswerDue
	for name, c := range map[string]struct {
		rec      fleet.ActionRecord
		next     fleet.ActionRecord
		prepared string
		want     fleet.Answered
		answers  int
	}{
		"no prompt was made of it": {rec: prompt(former, fleet.ResultDone), answers: 1},
		"one is being made":        {rec: prompt(over, ""), prepared: "a-1", want: fleet.AnswerDue, answers: 2},
		"one was refused":          {rec: prompt(over, fleet.ResultRefused), prepared: "a-1", answers: 1},
		"one failed":               {rec: prompt(over, fleet.ResultFailed), prepared: "a-1", answers: 1},
		"one was made":             {rec: prompt(over, fleet.ResultDone), prepared: "a-1", want: fleet.AnswerTold, answers: 2},
		"one is in doubt":          {rec: prompt(over, fleet.ResultInDoubt), want: fleet.AnswerTold, answers: 2},
		"one is in doubt, and another is being made": {rec: prompt(over, fleet.ResultInDoubt), next: prompt(over, ""), prepared: "a-1", want: fleet.AnswerDue, answers: 2},
		"one is no longer on record":                 {prepared: "a-1", want: fleet.AnswerTold, answers: 2},
		"one was made long ago":                      {prepared: preparedDone, want: fleet.AnswerTold, answers: 2},
	} {
		run := over.Clone()
		run.Prepared = c.prepared
		p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{run}, Actions: []fleet.ActionRecord{c.rec, c.next}}})
		if len(p.Runs) == 1 {
			run = p.Runs[0]
		}
		if run.Session.Answer != c.want || run.Session.Answers != c.answers {
			t.Errorf("%s: %q, %d", name, run.Session.Answer, run.Session.Answers)
		}
	}
	failed := over.Clone()
	failed.State = fleet.RunFailed
	if p := Advance(fleet.Pass{Past: fleet.Past{Runs: []fleet.Run{failed}}}); len(p.Runs) > 0 {
		t.Errorf("a run that may be resumed loses its reply: %+v", p.Runs)
	}
}

func theFormerReports(w *town) {
	w.report("look", fleet.StepDone)
	w.report("write", fleet.StepDone)
}

func aPersonReports(w *town) {
	for _, step := range []string{"look", "write"} {
		got, err := ledger.ReportStep(w.past.Runs[0], step, fleet.StepDone, "", "ann", w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.past.Runs[0] = got
	}
}

func aPersonCancels(w *town) {
	got, err := ledger.CancelRun(w.past.Runs[0], "ann", w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.past.Runs[0] = got
}
