package control

import (
	"context"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// brake stops every action, and lets actions run again.
func brake() Noun {
	return Noun{"brake", []Verb{
		{Name: "freeze", Access: NoAgent, Do: given((*Control).freeze)},
		{Name: "thaw", Access: Person, Do: asks((*Control).thaw)},
	}}
}

// Brakes stop every action, and let actions run again.
type Brakes interface {
	Freeze(by, why string) error
	// Thaw returns who had frozen and why, "" when it was not frozen.
	Thaw() (was string, err error)
	// Frozen says who has frozen and why, "" when it is not, and since when.
	Frozen() (why string, since time.Time)
}

func (c *Control) freeze(_ context.Context, call Call, q api.FreezeRequest) (api.Brake, error) {
	why := fleet.Line(fleet.Redact(q.Why), 400)
	if err := c.Brakes.Freeze(call.By, why); err != nil {
		return api.Brake{}, err
	}
	return api.Brake{Frozen: true, By: call.By, Why: why}, nil
}

func (c *Control) thaw(context.Context, Call) (api.Brake, error) {
	was, err := c.Brakes.Thaw()
	if err != nil {
		return api.Brake{}, err
	}
	return api.Brake{Was: was}, nil
}
