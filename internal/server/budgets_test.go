package server

import (
	"context"
	"errors"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// raising is a book of one budget.
type raising struct{ said []string }

func (r *raising) Limits() []fleet.Budget {
	return []fleet.Budget{{Name: "day", By: fleet.SpendByFleet, Window: fleet.WindowDay, MicroUSD: 10e6}}
}

func (r *raising) Raise(_ context.Context, _ []fleet.Silence, e fleet.Event) error {
	r.said = append(r.said, e.Text)
	return nil
}

// TestRaiseIsForPeople: an agent, and whoever may be one, raises no budget.
func TestRaiseIsForPeople(t *testing.T) {
	w, book := newWorld(), &raising{}
	o := w.options()
	o.Control.Budgets = book
	c := api.NewClient(api.InProcess(New(o)))
	raise := api.RaiseOrder{Name: "day", By: "+5usd", For: "2h"}
	if got, err := c.Raise(t.Context(), raise); err != nil || got.By != "+5.00 USD" || len(book.said) != 1 {
		t.Errorf("%+v, %v, %q", got, err, book.said)
	}
	w.agent = "builder"
	_, err := c.Raise(t.Context(), raise)
	wantError(t, err, api.Forbidden, "agent builder")
	w.agent, w.agentErr = "", errors.New("its parent is gone")
	_, err = c.Raise(t.Context(), raise)
	wantError(t, err, api.Forbidden, "no agent")
	if len(book.said) != 1 {
		t.Errorf("%q", book.said)
	}
}
