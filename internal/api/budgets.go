package api

import (
	"context"
	"net/url"
	"time"
)

// Budgets are what models may cost, and what of it is used.
type Budgets struct {
	Unknown string   `json:"unknown,omitempty"`  // why it is not known what was spent: it is what the rows say, at least
	AtLeast string   `json:"at_least,omitempty"` // which conversations cannot be read, so that more may be used
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
	Stage       string     `json:"stage"` // under, warn, hold, pause, stop; unknown where what is known reaches nothing, and not all is known
	Metric      string     `json:"metric"`
	Used        *float64   `json:"used"` // null where it is not known
	Limit       float64    `json:"limit"`
	Percent     *float64   `json:"percent"`
	Says        string     `json:"says"`
	Left        string     `json:"left,omitempty"` // in words
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
	Key   string `json:"key,omitempty"` // two orders with one key are one raise
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

// SpendLeft is what an agent has spent, and what is left for it.
type SpendLeft struct {
	Agent   string   `json:"agent"`
	Tokens  *int64   `json:"tokens"`            // that it used so far; null where that is not known, as below
	Dollars *float64 `json:"dollars"`           // that it cost so far, as told or at list prices
	Budgets []Budget `json:"budgets"`           // that it spends of
	Says    []string `json:"says"`              // the same in words
	Unknown string   `json:"unknown,omitempty"` // why it is not known what is left
}

// SpendLeft returns what an agent has spent, and what is left for it; without a name, the agent that calls.
func (c *Client) SpendLeft(ctx context.Context, agent string) (SpendLeft, error) {
	return get[SpendLeft](ctx, c, "/v1/left?"+url.Values{"agent": {agent}}.Encode())
}

// Raise raises or lowers a budget.
func (c *Client) Raise(ctx context.Context, o RaiseOrder) (Raised, error) {
	return post[Raised](ctx, c, keyed(o.Key), "/v1/budgets", o)
}
