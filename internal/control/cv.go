package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// cvKept is for how long what is over is kept, and cvEvents how many events, and failures, are read at most.
const (
	cvKept   = 30 * 24 * time.Hour
	cvEvents = 20_000
)

// cv is what is on record of what agents did: of one, or of all.
func (c *Control) cv(ctx context.Context, call Call) (any, error) {
	by, of := cmp.Or(call.Ask("by"), "agent"), call.Ask("of")
	if !slices.Contains(view.CVBys(), by) || of != "" && by != "agent" {
		return nil, api.AsBadInput(fmt.Errorf("cannot add up by %q: want %s, and of one agent nothing else", fleet.Line(by, 40), strings.Join(view.CVBys(), ", ")))
	}
	book, err := c.cvBook(ctx)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	out := api.CVs{At: now.Wall.UTC(), By: by, Since: now.Add(-cvKept).Wall.UTC(), LogSince: book.LogSince.Wall.UTC(), CVs: []api.CV{}, Next: []api.Hint{}}
	if !book.IsEmpty() {
		out.CVs = book.CVs(by)
	}
	if out.None = len(out.CVs) == 0; out.None {
		return out, nil
	}
	notCounted, notRead := c.MoreMayBe(ctx)
	out.AtLeast = slices.DeleteFunc([]string{notCounted, notRead}, func(s string) bool { return s == "" })
	if of == "" {
		return out, nil
	}
	names := each(out.CVs, func(v api.CV) string { return v.Key })
	out.CVs = slices.DeleteFunc(out.CVs, func(v api.CV) bool { return v.Key != of })
	if len(out.CVs) == 0 {
		return nil, missing("agent", of, names, "custos agent cv")
	}
	out.Next = append(out.Next, api.Hint{Command: api.Typed("custos", "why", "agent/"+of), What: "how it goes now"})
	return out, nil
}

// cvBook reads what CVs are computed from.
func (c *Control) cvBook(ctx context.Context) (b view.CVBook, err error) {
	past, _, err := c.Records.Seen(ctx)
	b.Records, b.Seen = past.Records, past.Agents
	if err != nil || b.IsEmpty() {
		return b, err
	}
	var errs [5]error
	b.Agents, errs[0] = c.Registry(ctx)
	b.Costs, errs[1] = c.Costs(ctx, c.Now().Add(-cvKept), fleet.CostByAgentModel)
	b.Failures, errs[2] = c.History.Failures(ctx, "", cvEvents)
	b.Taken, errs[3] = c.Events(ctx, EventFilter{Limit: cvEvents, Kind: "work.taken"})
	b.Started, errs[4] = c.Events(ctx, EventFilter{Limit: cvEvents, Kind: "agent.started"})
	b.LogSince = c.Now()
	first, err := c.Events(ctx, EventFilter{Limit: 1, After: 1})
	if len(first) > 0 {
		b.LogSince = first[0].At
	}
	return b, errors.Join(append(errs[:], err)...)
}
