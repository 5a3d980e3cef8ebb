package server

import (
	"testing"

	"custos/internal/api"
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
