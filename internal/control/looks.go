package control

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// How long a look may take: for a person who waits two seconds at most, with half a
// second for what has to be cut short; and for the whole picture.
const (
	Glance = 1500 * time.Millisecond
	Whole  = 90 * time.Second
)

// looks are what is seen, planned and written down, as it is shown; anyone may ask.
func looks() []Noun {
	get := func(name string, show func(*Control, context.Context, Call) (any, error)) Noun {
		return Noun{name, []Verb{{Name: "get", Do: show}}}
	}
	return []Noun{
		get("look", (*Control).look),
		get("preflight", (*Control).preflight),
		get("plan", (*Control).plan),
		get("story", (*Control).story),
		get("feed", (*Control).feed),
		get("report", (*Control).report),
		get("costs", (*Control).costs),
		get("prices", (*Control).prices),
		get("cv", (*Control).cv),
		get("failures", (*Control).failures),
		get("journal", (*Control).journal),
		get("status", (*Control).status),
		get("health", (*Control).health),
		get("settings", (*Control).settings),
		get("readings", (*Control).readings),
		{"hub", []Verb{{Name: "get", Do: func(c *Control, ctx context.Context, _ Call) (any, error) { return c.Hub(ctx), nil }},
			{Name: "looks", Do: (*Control).hubLooks}}},
		get("then", (*Control).then),
	}
}

// CannotLook marks an error of a look.
func CannotLook(err error) error {
	if e := api.ErrorOf(err); e.Kind != api.Internal {
		return e
	}
	return &api.Error{Kind: api.CannotLook, Message: err.Error()}
}

func (c *Control) look(ctx context.Context, call Call) (any, error) {
	pass, err := c.Look(ctx, Glance)
	if err != nil {
		return nil, CannotLook(err)
	}
	return view.FirstLook(pass, c.Teller, view.Hints{Daemon: c.Watched, Configured: c.Configured}), nil
}

func (c *Control) preflight(ctx context.Context, call Call) (any, error) {
	pass, err := c.Look(ctx, Whole)
	if err != nil {
		return nil, CannotLook(err)
	}
	var places []view.Listening
	if c.Places != nil {
		places = c.Places()
	}
	return view.Preflight(pass.Snapshot, places), nil
}

func (c *Control) plan(ctx context.Context, call Call) (any, error) {
	pass, err := c.Look(ctx, Whole)
	if err != nil {
		return nil, CannotLook(err)
	}
	return view.Plan(pass, c.Teller), nil
}

// hubLooks are the other hosts of the hub, as they tell of themselves.
func (c *Control) hubLooks(ctx context.Context, call Call) (any, error) {
	since, err := strconv.ParseInt(cmp.Or(call.Ask("since"), "0"), 10, 64)
	if err != nil {
		return nil, &api.Error{Kind: api.BadInput, Message: fmt.Sprintf("cannot read since: %q is no number", fleet.Line(call.Ask("since"), 40))}
	}
	return c.HubLooks(ctx, since), nil
}
