package api

import (
	"context"
	"net/url"
	"time"
)

// Convoy is work that is tracked together, across projects and trackers.
type Convoy struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	State   string    `json:"state"` // open, done, closed
	Why     string    `json:"why,omitempty"`
	Members []Member  `json:"members"`
	Closed  int       `json:"closed"`
	Ready   *int      `json:"ready,omitempty"` // members that may be taken up; null: it is not known
	Taken   *int      `json:"taken,omitempty"` // members that are worked on; the same
	Unseen  int       `json:"unseen"`          // members that no tracker shows
	Notify  []string  `json:"notify"`
	Due     time.Time `json:"due,omitzero"`
	Overdue string    `json:"overdue,omitempty"` // how long
	Times   int       `json:"times"`             // how often it was done
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Since   time.Time `json:"since"` // of its state
}

// Member is one piece of work of a convoy, as it was last seen.
type Member struct {
	Ref     string    `json:"ref"`
	Title   string    `json:"title,omitempty"`
	State   string    `json:"state"` // open, in progress, closed; unknown: it was never seen
	Outcome string    `json:"outcome,omitempty"`
	SeenAt  time.Time `json:"seen_at,omitzero"` // when it was first seen so
}

// ConvoyList is the convoys there are.
type ConvoyList struct {
	At      time.Time `json:"at"`
	Convoys []Convoy  `json:"convoys"`
	Next    []Hint    `json:"next"`
}

// ConvoyRequest is a new convoy.
type ConvoyRequest struct {
	Key     string    `json:"key,omitempty"` // the same key again is the same convoy
	Title   string    `json:"title"`
	Members []string  `json:"members,omitempty"`
	Notify  []string  `json:"notify,omitempty"` // addresses; none: as [coordination] says, else people
	Due     time.Time `json:"due,omitzero"`
	DueIn   string    `json:"due_in,omitempty"` // instead of due: "48h0m0s"
}

// ConvoyChange is what becomes of a convoy.
type ConvoyChange struct {
	Do      string   `json:"do"` // add, remove, close, reopen
	Members []string `json:"members,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// Convoys lists convoys: what is not closed, and was not done for more than a day;
// with all every one of a month.
func (c *Client) Convoys(ctx context.Context, all bool) (ConvoyList, error) {
	path := "/v1/convoys"
	if all {
		path += "?all=1"
	}
	return get[ConvoyList](ctx, c, path)
}

// Convoy returns one convoy.
func (c *Client) Convoy(ctx context.Context, id string) (Convoy, error) {
	return get[Convoy](ctx, c, "/v1/convoys/"+url.PathEscape(id))
}

// AddConvoy makes a convoy.
func (c *Client) AddConvoy(ctx context.Context, r ConvoyRequest) (Convoy, error) {
	return post[Convoy](ctx, c, keyed(r.Key), "/v1/convoys", r)
}

// ChangeConvoy changes one convoy.
func (c *Client) ChangeConvoy(ctx context.Context, id string, r ConvoyChange) (Convoy, error) {
	return post[Convoy](ctx, c, once, "/v1/convoys/"+url.PathEscape(id), r)
}
