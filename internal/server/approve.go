package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Approver has done what an alert leads to, because a person approves of it.
type Approver interface {
	// Approve begins the actions that wait for approval, and returns them. Where
	// nothing may be done the error says why. Code is trusted only when digest begins
	// the digest of what would be.
	Approve(ctx context.Context, of fleet.AlertKey, by, digest string) ([]fleet.Action, error)
}

func (s *server) approve(req *http.Request, c Caller) (any, error) {
	number, err := strconv.ParseInt(req.PathValue("number"), 10, 64)
	if err != nil {
		return nil, api.AsBadInput(fmt.Errorf("cannot approve %q: it is no alert's number", fleet.Line(req.PathValue("number"), 40)))
	}
	var order api.ApproveOrder
	if err := decode(req, &order); err != nil {
		return nil, err
	}
	open, err := s.Alerts.Alerts(req.Context(), false)
	if err != nil {
		return nil, err
	}
	for _, a := range open {
		if a.Number == number {
			return s.approved(req.Context(), a, by(order.By, c), order.Digest)
		}
	}
	return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot approve alert %d: there is no such alert, or it is over", number), Hint: "custos alerts"}
}

func (s *server) approved(ctx context.Context, a fleet.Alert, by, digest string) (any, error) {
	begun, err := s.Approver.Approve(ctx, a.AlertKey, by, digest)
	if err != nil {
		return nil, err
	}
	out := api.Approved{Number: a.Number, By: by, Actions: []api.ApprovedThing{}}
	for _, act := range begun {
		out.Actions = append(out.Actions, api.ApprovedThing{ID: act.ID, Do: act.Do, Subject: subjectText(act.Subject)})
	}
	return out, nil
}
