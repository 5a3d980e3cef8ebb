package daemon

import (
	"cmp"
	"context"
	"errors"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/onewriter"
	"custos/internal/rules"
	"custos/internal/server"
)

// cycle is the loop as the server's port wants it.
type cycle struct{ s *system }

var _ server.Cycle = cycle{}

// Look takes a pass that writes and does nothing. Its plan is the one that a
// person's --apply would lead to.
func (c cycle) Look(ctx context.Context, within time.Duration) (fleet.Pass, error) {
	return c.s.loop.Look(ctx, within, fleet.PatrolOrder{Apply: true, By: "you"})
}

// Patrol takes a whole patrol for real. Where nothing can be written, it returns
// what it saw beside the error, and has done nothing.
func (c cycle) Patrol(ctx context.Context, order fleet.PatrolOrder) (fleet.Pass, error) {
	err := c.s.begin(ctx)
	switch {
	case errors.Is(err, onewriter.ErrHeld):
		return fleet.Pass{}, err
	case err != nil:
		seen, _ := c.s.loop.Look(ctx, onewriter.Patience, order) // a zero pass says that it could not look, either
		return seen, err
	}
	return c.s.loop.Patrol(ctx, order)
}

// Judge thinks about a recording, with the rules that are in it; where those are empty,
// with the built-in ones.
func (c cycle) Judge(_ context.Context, r fleet.Recording) (fleet.Pass, error) {
	check := rules.Checker{Actions: catalog.ActionNames()}
	set, err := check.Parse("the recording's rules", []byte(cmp.Or(r.Rules, string(rules.Builtin()))))
	if err != nil {
		return fleet.Pass{}, err
	}
	return loop.Judge(set, r), nil
}
