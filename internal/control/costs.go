package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/view"
)

// costs sums up the calls of models by day, formula or alert.
func (c *Control) costs(ctx context.Context, call Call) (any, error) {
	by := cmp.Or(call.Ask("by"), "day")
	key, ok := costKeys()[by]
	if !ok {
		return nil, api.AsBadInput(fmt.Errorf("cannot sum up by %q: want day, formula or alert", fleet.Line(by, 40)))
	}
	from, err := sinceOf(cmp.Or(call.Ask("since"), "7d"), c.Now())
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	list, err := c.Costs(ctx, from)
	if err != nil {
		return nil, err
	}
	out := api.Costs{Since: from.Wall.UTC(), By: by, Rows: []api.CostRow{}, Total: api.CostRow{Key: "total"}}
	for _, c := range list {
		name := key(c)
		i := slices.IndexFunc(out.Rows, func(r api.CostRow) bool { return r.Key == name })
		if i < 0 {
			i = len(out.Rows)
			out.Rows = append(out.Rows, api.CostRow{Key: name})
		}
		view.AddCost(&out.Rows[i], c)
		view.AddCost(&out.Total, c)
	}
	slices.SortFunc(out.Rows, func(a, b api.CostRow) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// costKeys are the ways to sum up. What belongs to no formula, or to no alert,
// is one row.
func costKeys() map[string]func(fleet.Cost) string {
	return map[string]func(fleet.Cost) string{
		"day":     func(c fleet.Cost) string { return c.Day },
		"formula": func(c fleet.Cost) string { return cmp.Or(c.Formula, "(triage)") },
		"alert":   func(c fleet.Cost) string { return cmp.Or(fleet.Line(c.Alert, 200), "(formulas)") },
	}
}

// sinceOf reads "7d", "36h" or a day like 2006-01-02.
func sinceOf(text string, now fleet.Instant) (fleet.Instant, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return now.Add(-now.Wall.Sub(day)), nil
	}
	number, days := strings.CutSuffix(text, "d")
	unit := time.Duration(1)
	if days {
		number, unit = number+"h", 24
	}
	d, err := time.ParseDuration(number)
	if err != nil || d <= 0 || d > 400*24*time.Hour/unit {
		return fleet.Instant{}, fmt.Errorf("cannot look back to %q: want a time like 7d or 36h, or a day like 2006-01-02", fleet.Line(text, 40))
	}
	return now.Add(-d * unit), nil
}
