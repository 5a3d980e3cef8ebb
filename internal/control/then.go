package control

import (
	"context"
	"fmt"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// then is the fleet at a moment of the past, by what is written down.
func (c *Control) then(ctx context.Context, call Call) (any, error) {
	text, now := call.Ask("at"), c.Now()
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || moment.After(now.Wall) {
		return nil, api.AsBadInput(fmt.Errorf("cannot show what was at %q: want a time of the past like 2006-01-02T15:04:05Z", fleet.Line(text, 40)))
	}
	events, err := c.Events(ctx, EventFilter{Limit: eventsAFeed})
	if err != nil {
		return nil, err
	}
	hooks, err := c.History.HookEvents(ctx, HookFilter{Limit: eventsAFeed})
	if err != nil {
		return nil, err
	}
	out := view.Then(moment, now.Wall, events, hooks)
	if len(hooks) == eventsAFeed && (out.Begins == nil || hooks[0].At.Wall.After(*out.Begins)) {
		begins := hooks[0].At.Wall.UTC() // what agents told before is not read
		out.Begins = &begins
	}
	return out, nil
}
