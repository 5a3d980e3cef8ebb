package api

import (
	"context"
	"net/url"
	"time"
)

// Gate holds back what waits for it until one thing has happened.
type Gate struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"` // timer, event, condition, gh:run, gh:pr, human, mail
	Title    string    `json:"title"`
	Project  string    `json:"project,omitempty"`
	State    string    `json:"state"`             // open, closed
	Outcome  string    `json:"outcome,omitempty"` // passed, failed, cancelled
	Why      string    `json:"why,omitempty"`     // why it is closed; of an open one what it waits for, or what hides that
	Blind    bool      `json:"blind"`             // what it waits for cannot be seen
	Closing  bool      `json:"closing,omitempty"` // the next pass closes it
	Until    time.Time `json:"until,omitzero"`
	On       string    `json:"on,omitempty"`
	When     string    `json:"when,omitempty"`
	Check    []string  `json:"check,omitempty"`
	Timeout  string    `json:"timeout,omitempty"` // of the command
	Of       string    `json:"of,omitempty"`
	Run      string    `json:"run,omitempty"`
	From     string    `json:"from,omitempty"`
	To       string    `json:"to,omitempty"`
	Subject  string    `json:"subject,omitempty"`
	Waiters  []string  `json:"waiters"`
	Step     string    `json:"step,omitempty"` // RUN/STEP of a formula that waits
	Due      time.Time `json:"due,omitzero"`
	Overdue  string    `json:"overdue,omitempty"` // how long
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	ClosedBy string    `json:"closed_by,omitempty"`
	ClosedAt time.Time `json:"closed_at,omitzero"`
}

// GateList is the gates there are.
type GateList struct {
	At    time.Time `json:"at"`
	Gates []Gate    `json:"gates"`
	Next  []Hint    `json:"next"`
}

// GateRequest is a new gate. A moment is either given, or so long from now.
type GateRequest struct {
	Key     string    `json:"key,omitempty"` // the same key again is the same gate
	Type    string    `json:"type"`
	Title   string    `json:"title"`
	Project string    `json:"project,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	For     string    `json:"for,omitempty"` // instead of until: "2h0m0s"
	On      string    `json:"on,omitempty"`
	When    string    `json:"when,omitempty"`
	Check   []string  `json:"check,omitempty"`
	Timeout string    `json:"timeout,omitempty"`
	Of      string    `json:"of,omitempty"`
	Run     string    `json:"run,omitempty"`
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Waiters []string  `json:"waiters,omitempty"`
	Due     time.Time `json:"due,omitzero"`
	DueIn   string    `json:"due_in,omitempty"` // instead of due
}

// GateClosing closes a gate by hand.
type GateClosing struct {
	As  string `json:"as,omitempty"` // passed (default), failed, cancelled
	Why string `json:"why"`
}

// Gates lists the gates that are open; with all those closed within a month, too.
func (c *Client) Gates(ctx context.Context, all bool) (GateList, error) {
	path := "/v1/gates"
	if all {
		path += "?all=1"
	}
	return get[GateList](ctx, c, path)
}

// Gate returns one gate.
func (c *Client) Gate(ctx context.Context, id string) (Gate, error) {
	return get[Gate](ctx, c, "/v1/gates/"+url.PathEscape(id))
}

// AddGate writes a new gate down.
func (c *Client) AddGate(ctx context.Context, r GateRequest) (Gate, error) {
	return post[Gate](ctx, c, keyed(r.Key), "/v1/gates", r)
}

// CloseGate closes a gate, and notifies who waits for it.
func (c *Client) CloseGate(ctx context.Context, id string, r GateClosing) (Gate, error) {
	return post[Gate](ctx, c, once, "/v1/gates/"+url.PathEscape(id)+"/close", r)
}
