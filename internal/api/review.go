package api

import (
	"context"
	"net/url"
	"time"
)

// Review is a branch of a merge queue that somebody is to read, or has read, as it is at one commit.
type Review struct {
	Ref      string    `json:"ref"` // of the work that it is
	Title    string    `json:"title"`
	Item     string    `json:"item"` // of the merge queue
	Queue    string    `json:"queue,omitempty"`
	Source   string    `json:"source,omitempty"` // the branch
	Commit   string    `json:"commit"`
	Author   string    `json:"author,omitempty"` // agent; empty where that is a person
	Round    int       `json:"round"`
	State    string    `json:"state"`             // open, in progress, closed
	Agent    string    `json:"agent,omitempty"`   // who has it
	Verdict  string    `json:"verdict,omitempty"` // approved, blocked; empty until it is given
	Findings []Finding `json:"findings"`
	Why      string    `json:"why,omitempty"`
	Since    time.Time `json:"since"` // of its state
	Task     string    `json:"task,omitempty"`
	Diff     string    `json:"diff,omitempty"`
	Cut      bool      `json:"cut,omitempty"`     // the difference is longer
	Missing  string    `json:"missing,omitempty"` // why there is none
	Earlier  []Review  `json:"earlier,omitempty"` // rounds
}

// Finding is one thing that a review says is wrong.
type Finding struct {
	Grade string `json:"grade"`           // blocker, major, nit
	Where string `json:"where,omitempty"` // FILE or FILE:LINE
	Text  string `json:"text"`
}

// ReviewList is the reviews there are.
type ReviewList struct {
	At      time.Time `json:"at"`
	Reviews []Review  `json:"reviews"`
	Next    []Hint    `json:"next"`
}

// ReviewGiven ends a review. Without a blocker it is approved.
type ReviewGiven struct {
	Findings []Finding `json:"findings,omitempty"`
	Approve  bool      `json:"approve,omitempty"` // nothing keeps it from being merged; needed where nothing was found
}

// Reviews lists the reviews that are not given; with all those that were, too.
func (c *Client) Reviews(ctx context.Context, all bool) (ReviewList, error) {
	q := ""
	if all {
		q = "?all=1"
	}
	return get[ReviewList](ctx, c, "/v1/reviews"+q)
}

// Review returns one review, with the task and the difference.
func (c *Client) Review(ctx context.Context, ref string) (Review, error) {
	return get[Review](ctx, c, "/v1/reviews/"+url.PathEscape(ref))
}

// GiveReview ends a review. The same again changes nothing.
func (c *Client) GiveReview(ctx context.Context, ref string, r ReviewGiven) (Review, error) {
	return post[Review](ctx, c, same, "/v1/reviews/"+url.PathEscape(ref), r)
}
