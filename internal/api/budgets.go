package api

import (
	"context"
	"time"
)

// Budgets are what models may cost, and what of it is used.
type Budgets struct {
	Unknown string   `json:"unknown,omitempty"` // why it is not known what was spent
	Rows    []Budget `json:"rows"`
}

// Budget is one allowance of a budget.
type Budget struct {
	Name        string     `json:"name"`
	Budget      string     `json:"budget"` // its section in custos.toml
	Scope       string     `json:"scope"`
	Of          string     `json:"of,omitempty"`
	Window      string     `json:"window"`
	Ends        *time.Time `json:"ends,omitempty"`
	Stage       string     `json:"stage"` // under, warn, hold, pause or stop
	Metric      string     `json:"metric"`
	Used        *float64   `json:"used"` // null where it is not known
	Limit       float64    `json:"limit"`
	Percent     *float64   `json:"percent"`
	Says        string     `json:"says"`
	Blind       string     `json:"blind,omitempty"`
	Raised      string     `json:"raised,omitempty"`
	PerHour     *float64   `json:"per_hour"`
	TimeToLimit string     `json:"time_to_limit,omitempty"`
	Agents      []string   `json:"agents,omitempty"`
	Foreign     []string   `json:"foreign,omitempty"` // told of, and never touched
	Hint        string     `json:"hint,omitempty"`    // the command that raises it, where it holds something
}

// RaiseOrder raises a budget for a while, or ends what it was raised by.
type RaiseOrder struct {
	Name  string `json:"name"`          // of a budget, or of one allowance of it
	By    string `json:"by,omitempty"`  // +10usd, +500ktokens, +2h, +20%
	For   string `json:"for,omitempty"` // a duration
	Why   string `json:"why,omitempty"`
	Lower bool   `json:"lower,omitempty"`
}

// Raised is the answer to a RaiseOrder.
type Raised struct {
	Name  string    `json:"name"`
	By    string    `json:"by,omitempty"`    // the amount
	Until time.Time `json:"until,omitzero"`  // when it ends by itself
	Ended int       `json:"ended,omitempty"` // how many raises were ended
	Who   string    `json:"who"`
}

// Budgets lists the budgets.
func (c *Client) Budgets(ctx context.Context) (Budgets, error) {
	return get[Budgets](ctx, c, "/v1/budgets")
}

// Raise raises or lowers a budget.
func (c *Client) Raise(ctx context.Context, o RaiseOrder) (Raised, error) {
	return post[Raised](ctx, c, once, "/v1/budgets", o)
}
