package control

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/ledger"
)

// isMove says whether a change is one of work that another tracker keeps.
func isMove(ref fleet.Ref, do string) bool {
	of := ref.Tracker()
	elsewhere := of == fleet.TrackerIssue || of == fleet.TrackerPull || of == fleet.TrackerBeads
	return elsewhere && do != "needs" && do != "needs-not"
}

// moveWork has it changed where it is kept. That takes a moment: what is returned is
// the work as it was last seen, and which action was begun.
func (c *Control) moveWork(ctx context.Context, ref fleet.Ref, r api.WorkChange, by string) (api.Work, error) {
	begun, err := c.Asker.Ask(ctx, by, func(past fleet.Past, snap fleet.Snapshot) (*fleet.Finding, error) {
		return ledger.MoveElsewhere(past, snap, ref, r.Do, reasonOf(r), by)
	}, ledger.MovedIn(ref)...)
	var no Refusal
	if errors.As(err, &no) {
		err = &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot %s %s: %v", r.Do, ref, no), Hint: "custos work show " + string(ref)}
	}
	if err != nil {
		return api.Work{}, Reasoned(err)
	}
	w, err := c.findWork(ctx, string(ref))
	if err == nil && begun != nil {
		w.Begun = &api.ApprovedThing{ID: begun.ID, Do: begun.Do, Subject: begun.Subject.String()}
	}
	return w, err
}

// reasonOf is what is said there: trackers have no word for any outcome but that it
// is done.
func reasonOf(r api.WorkChange) string {
	switch {
	case r.Do != "close" || r.Outcome == "" || r.Outcome == ledger.Completed:
		return r.Why
	case r.Why == "":
		return r.Outcome
	}
	return r.Outcome + ": " + r.Why
}
