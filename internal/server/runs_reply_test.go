package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// reply is the spool: one reply at a time for each run.
func (w *world) reply(_ context.Context, run fleet.Run, text string) error {
	for _, said := range w.replies {
		if strings.HasPrefix(said, run.ID+": ") {
			return fmt.Errorf("a reply is %w", ledger.ErrTaken)
		}
	}
	w.replies = append(w.replies, run.ID+": "+text)
	return nil
}

// asking is a run whose agent asked a person something, and has ended.
func asking(id string) fleet.Run {
	return fleet.Run{ID: id, Formula: "nightly", By: "ann", State: fleet.RunPerson,
		Session: &fleet.RunSession{Agent: id, Order: "o", End: "phase", Phase: "escalate", Asks: "which branch?"},
		Steps:   []fleet.RunStep{{ID: "judge", Do: fleet.StepProse, State: fleet.StepPerson, Why: "its agent said escalate: which branch?"}}}
}

func TestReplyToRun(t *testing.T) {
	w := newWorld()
	w.runs = append(w.runs, asking("r1"), nightly("r2"))
	c, ctx := client(w), t.Context()
	for name, r := range map[string]api.RunChange{
		"goes with resume": {Do: "cancel", Reply: "x"}, "with no step": {Do: "resume", Reply: "x", Step: "judge"},
		"it is empty": {Do: "resume", Reply: " "}, "8192 at most": {Do: "resume", Reply: strings.Repeat("x", 9<<10)},
	} {
		_, err := c.ChangeRun(ctx, "r1", r)
		wantError(t, err, api.BadInput, name)
	}
	_, err := c.ChangeRun(ctx, "r2", api.RunChange{Do: "resume", Reply: "x"})
	wantError(t, err, api.BadInput, "asked nothing")
	if len(w.replies) != 0 || w.runs[0].State != fleet.RunPerson {
		t.Fatalf("refused, and yet: %v, %+v", w.replies, w.runs[0])
	}
	if r, err := c.Run(ctx, "r1"); err != nil || !strings.Contains(r.Next[0].Command, "resume r1 --reply ") {
		t.Errorf("%+v, %v", r.Next, err)
	}
	run, err := c.ChangeRun(ctx, "r1", api.RunChange{Do: "resume", Reply: "take main"})
	if err != nil || run.State != "running" || len(w.replies) != 1 || w.replies[0] != "r1: take main" || w.attended != 1 {
		t.Errorf("%+v, %v: %v", run, err, w.replies)
	}
	if s := w.runs[0].Session; s.Answer != fleet.AnswerDue || s.Answers != 1 || w.runs[0].Steps[0].State != fleet.StepWaiting {
		t.Errorf("%+v %+v", s, w.runs[0].Steps)
	}
	_, err = c.ChangeRun(ctx, "r1", api.RunChange{Do: "resume", Reply: "take next"})
	wantError(t, err, api.BadInput, "not got the reply before yet")
}
