package server

import (
	"errors"
	"slices"
	"testing"

	"custos/internal/api"
	"custos/internal/control"
	"custos/internal/fleet"
)

func TestApprove(t *testing.T) {
	w := newWorld()
	got, err := client(w).Approve(t.Context(), 3, api.ApproveOrder{By: "ann"})
	if err != nil || got.Number != 3 || got.By != "ann" || len(got.Actions) != 1 || got.Actions[0].Subject != "lock//tmp/a.lock" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = client(w).Approve(t.Context(), 4, api.ApproveOrder{})
	wantError(t, err, api.NotFound, "no such alert")
	w.agent = "builder"
	_, err = client(w).Approve(t.Context(), 3, api.ApproveOrder{By: "ann"})
	wantError(t, err, api.Forbidden, "it takes a person")
	w.agent, w.approveErr = "", &api.Error{Kind: api.BadInput, Message: "cannot approve: frozen"}
	_, err = client(w).Approve(t.Context(), 3, api.ApproveOrder{})
	wantError(t, err, api.BadInput, "frozen")
	if len(w.approved) != 2 {
		t.Errorf("approved %v", w.approved)
	}
}

// To deny takes a person, too.
func TestDeny(t *testing.T) {
	w := newWorld()
	got, err := client(w).Deny(t.Context(), 3, api.ApproveOrder{By: "ann"})
	if err != nil || got.Number != 3 || got.By != "ann" || len(got.Actions) != 1 || len(w.approved) != 1 {
		t.Errorf("%+v, %v: %v", got, err, w.approved)
	}
	w.agent = "builder"
	_, err = client(w).Deny(t.Context(), 3, api.ApproveOrder{By: "ann"})
	wantError(t, err, api.Forbidden, "it takes a person")
	if len(w.approved) != 1 {
		t.Errorf("denied %v", w.approved)
	}
}

// What is approved is what was shown: where something else would be done by now, nothing is.
func TestApproveWhatWasShown(t *testing.T) {
	w := newWorld()
	shown, err := client(w).Offer(t.Context(), 3)
	if err != nil || shown.Number != 3 || shown.Hash == "" || shown.Refused != "" || len(shown.Deeds) != 1 || shown.Deeds[0].Do != "remove-lock" || len(shown.Deeds[0].Commands) != 1 {
		t.Fatalf("%+v, %v", shown, err)
	}
	if len(shown.Instead) != 0 {
		t.Errorf("nothing is done instead, and it says %v", shown.Instead)
	}
	w.pass.Policy.Abilities = map[string]fleet.Ability{"remove-lock": {Denied: "keep-lock"}}
	if other, err := client(w).Offer(t.Context(), 3); err != nil || !slices.Equal(other.Instead, []string{"keep-lock"}) || other.Hash != shown.Hash {
		t.Errorf("a denial begins %v, %v", other.Instead, err)
	}
	if len(w.approved) != 0 {
		t.Errorf("to be shown an offer approved of it: %v", w.approved)
	}
	if got, err := client(w).Approve(t.Context(), 3, api.ApproveOrder{Seen: shown.Hash}); err != nil || len(got.Actions) != 1 {
		t.Errorf("as it was shown: %+v, %v", got, err)
	}
	w.offers = "something else"
	_, err = client(w).Approve(t.Context(), 3, api.ApproveOrder{Seen: shown.Hash})
	wantError(t, err, api.Changed, "is not what was shown any more, and nothing was done")
	if status := api.ErrorOf(err).HTTPStatus(); status != 409 {
		t.Errorf("status %d", status)
	}
	if other, err := client(w).Offer(t.Context(), 3); err != nil || other.Hash == shown.Hash {
		t.Errorf("another offer has the same hash: %+v, %v", other, err)
	}
	w.pass.Past.Actions = []fleet.ActionRecord{{Action: fleet.Action{For: w.pass.Assessment.Alerts[0].AlertKey, Approved: "bob"}, PlannedAt: instant(0)}}
	w.approveErr = control.Refusal{Why: errors.New("it is not found any more")}
	_, err = client(w).Approve(t.Context(), 3, api.ApproveOrder{Seen: ""})
	wantError(t, err, api.BadInput, "not found any more")
	w.offers = ""
	_, err = client(w).Approve(t.Context(), 3, api.ApproveOrder{Seen: shown.Hash})
	wantError(t, err, api.Changed, "it is not found any more; bob has approved of it before, and nothing was done now")
	w.approveErr = nil
	if _, err = client(w).Approve(t.Context(), 4, api.ApproveOrder{Seen: shown.Hash}); api.ErrorOf(err).HTTPStatus() != 409 {
		t.Errorf("what was shown, and is over: %v", err)
	}
	w.offers = "nothing"
	if none, err := client(w).Offer(t.Context(), 3); err != nil || none.Refused == "" || none.Hash != "" || len(none.Deeds) != 0 {
		t.Errorf("where nothing may be done: %+v, %v", none, err)
	}
}
