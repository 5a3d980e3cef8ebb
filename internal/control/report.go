package control

import (
	"cmp"
	"context"
	"errors"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// report is the morning page.
func (c *Control) report(ctx context.Context, call Call) (any, error) {
	from, err := sinceOf(cmp.Or(call.Ask("since"), "12h"), c.Now())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	pass, err := c.Look(ctx, Whole)
	if err != nil {
		return nil, CannotLook(err)
	}
	events, err := c.Events(ctx, EventFilter{Limit: view.EventsAReport})
	if err != nil {
		return nil, err
	}
	failures, err := c.History.Failures(ctx, "", failuresAtMost)
	if err != nil {
		return nil, err
	}
	costs, err := c.Costs(ctx, from, "formula")
	if err != nil {
		return nil, err
	}
	out := view.Report(pass, from, events)
	out.Watched = c.Watched
	out.Models = view.Cost(view.OfCustos(costs))
	out.Agents = view.AgentReports(&pass, from, func(top string) ([]string, bool, error) {
		if c.Made == nil {
			return nil, false, errors.New("worktrees are not looked into here")
		}
		return c.Made(ctx, fleet.RawPath(top), from.Wall)
	})
	view.AddFailures(out.Agents, failures, from)
	out.Next = view.AfterReport(out)
	return out, nil
}
