package control

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// costs sums up what models used and cost.
func (c *Control) costs(ctx context.Context, call Call) (any, error) {
	by := cmp.Or(call.Ask("by"), "day")
	if !slices.Contains(fleet.CostBys(), by) {
		return nil, api.AsBadInput(fmt.Errorf("cannot sum up by %q: want %s", fleet.Line(by, 40), strings.Join(fleet.CostBys(), ", ")))
	}
	from, err := sinceOf(cmp.Or(call.Ask("since"), "7d"), c.Now())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	list, err := c.Costs(ctx, from, by)
	if err != nil {
		return nil, err
	}
	faults, err := c.UsageFaults(ctx, from)
	if err != nil {
		return nil, err
	}
	out := view.Costs(list, faults, from, by)
	out.Unknown, out.AtLeast = c.MoreMayBe(ctx)
	return out, nil
}

// prices shows the price table, and which models were seen that have no price.
func (c *Control) prices(ctx context.Context, call Call) (any, error) {
	from, err := sinceOf(cmp.Or(call.Ask("since"), "30d"), c.Now())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	list, err := c.Costs(ctx, from, "model")
	if err != nil {
		return nil, err
	}
	out := c.Prices()
	out.Since, out.Unpriced = from.Wall.UTC(), []api.UnpricedModel{}
	for _, m := range list {
		if m.Unpriced > 0 {
			out.Unpriced = append(out.Unpriced, api.UnpricedModel{Model: cmp.Or(fleet.Line(m.Key, 200), fleet.CostOfNone), Calls: int(m.Unpriced), Known: c.Priced(m.Key)})
		}
	}
	return out, nil
}

// sinceOf reads "7d", "36h" or a day like 2006-01-02.
func sinceOf(text string, now fleet.Instant) (fleet.Instant, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if day.After(now.Wall) {
			return fleet.Instant{}, fmt.Errorf("cannot look back to %q: that day is still to come", text)
		}
		return now.Add(-now.Wall.Sub(day)), nil
	}
	number, days := strings.CutSuffix(text, "d")
	unit := time.Duration(1)
	if days {
		number, unit = number+"h", 24
	}
	d, err := time.ParseDuration(number)
	if err != nil || d <= 0 || d > math.MaxInt64/unit {
		return fleet.Instant{}, fmt.Errorf("cannot look back to %q: want a time like 7d or 36h, or a day like 2006-01-02", fleet.Line(text, 40))
	}
	return now.Add(-d * unit), nil
}
