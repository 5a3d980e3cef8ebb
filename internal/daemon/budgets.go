package daemon

import (
	"context"

	"custos/internal/control"
	"custos/internal/fleet"
)

// budgetPort is the budgets as the server's port wants them.
type budgetPort struct{ s *system }

var _ control.Budgets = budgetPort{}

// Limits lists the budgets in force.
func (p budgetPort) Limits() []fleet.Budget { return p.s.budgets }

// Raise writes down what a person raised a budget by, or that this ended, and has a pass
// judge what that changes.
func (p budgetPort) Raise(ctx context.Context, list []fleet.Silence, event fleet.Event) error {
	if err := p.s.begin(ctx); err != nil {
		return err
	}
	st, err := p.s.ledger.writer(ctx)
	if err != nil {
		return err
	}
	if err := st.Raise(ctx, list, event); err != nil {
		return err
	}
	p.s.loop.Stir()
	p.s.loop.Wake("a budget was raised or lowered")
	return nil
}
