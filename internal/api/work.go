package api

import (
	"context"
	"net/url"
	"time"
)

// Work is one piece of work, whichever tracker keeps it.
type Work struct {
	Ref       string    `json:"ref"`     // w12, PROJECT#12, PROJECT!7, bd:ID
	Tracker   string    `json:"tracker"` // custos, issue, pr, beads
	Title     string    `json:"title"`
	Body      string    `json:"body,omitempty"`
	Project   string    `json:"project,omitempty"`
	Role      string    `json:"role,omitempty"`
	Labels    []string  `json:"labels,omitempty"`
	Priority  string    `json:"priority,omitempty"`
	State     string    `json:"state"` // open, in progress, closed; unknown: its tracker does not show it
	Why       string    `json:"why,omitempty"`
	Outcome   string    `json:"outcome,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Ready     bool      `json:"ready"`
	Held      string    `json:"held,omitempty"` // why its tracker says that it waits, though nothing is left
	Gone      bool      `json:"gone,omitempty"` // the agent that has it is seen to be gone
	BlockedBy []string  `json:"blocked_by,omitempty"`
	Unseen    []string  `json:"unseen,omitempty"` // of these, what no tracker shows
	Blocks    []string  `json:"blocks,omitempty"`
	Cycle     []string  `json:"cycle,omitempty"`
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Since     time.Time `json:"since,omitzero"`   // of its state
	Part      string    `json:"part,omitempty"`   // work that it is a part of
	Parts     []string  `json:"parts,omitempty"`  // of which it consists
	Team      string    `json:"team,omitempty"`   // that brings it to its end
	Files     []string  `json:"files,omitempty"`  // that it changes
	Result    string    `json:"result,omitempty"` // what came of it
	Left      string    `json:"left,omitempty"`   // branch of the agent that had it last, of open work
	Tries     int       `json:"tries,omitempty"`  // how often Custos itself has handed it out, since a person said something of it
	// Begun is the action that changes it where it is kept: what became of it shows
	// with a later look.
	Begun *ApprovedThing `json:"begun,omitempty"`
}

// WorkList is the work there is.
type WorkList struct {
	At   time.Time `json:"at"`
	Work []Work    `json:"work"`
	Next []Hint    `json:"next"`
}

// WorkRequest is new work.
type WorkRequest struct {
	Key      string   `json:"key,omitempty"` // the same key again is the same work
	Title    string   `json:"title"`
	Body     string   `json:"body,omitempty"`
	Project  string   `json:"project,omitempty"`
	Role     string   `json:"role,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	Priority string   `json:"priority,omitempty"`
	Agent    string   `json:"agent,omitempty"`
	Needs    []string `json:"needs,omitempty"` // what it waits for
	Part     string   `json:"part,omitempty"`  // work that it is a part of
	Files    []string `json:"files,omitempty"` // that it changes: files, folders or patterns
}

// WorkChange is what becomes of work.
type WorkChange struct {
	Do      string `json:"do"`                // take, release, close, reopen, needs, needs-not
	Agent   string `json:"agent,omitempty"`   // who takes it; an agent itself
	Outcome string `json:"outcome,omitempty"` // of a close
	Why     string `json:"why,omitempty"`
	Result  string `json:"result,omitempty"` // of a close: what came of it, for whoever goes on from there
	Needs   string `json:"needs,omitempty"`  // what it waits for, or no longer
}

// WorkQuery chooses work. Zero fields choose what is not closed, in every tracker.
type WorkQuery struct {
	Which   string // all: what of the ledger was closed within a month, too; ready; blocked
	Tracker string // custos, issue, pr, beads
	Project string
	Agent   string
}

// Work lists work.
func (c *Client) Work(ctx context.Context, q WorkQuery) (WorkList, error) {
	v := url.Values{}
	for key, value := range map[string]string{"which": q.Which, "tracker": q.Tracker, "project": q.Project, "agent": q.Agent} {
		if value != "" {
			v.Set(key, value)
		}
	}
	return get[WorkList](ctx, c, "/v1/work?"+v.Encode())
}

// WorkItem returns one piece of work.
func (c *Client) WorkItem(ctx context.Context, ref string) (Work, error) {
	return get[Work](ctx, c, "/v1/work/"+url.PathEscape(ref))
}

// AddWork writes new work down.
func (c *Client) AddWork(ctx context.Context, r WorkRequest) (Work, error) {
	return post[Work](ctx, c, keyed(r.Key), "/v1/work", r)
}

// ChangeWork changes one piece of work.
func (c *Client) ChangeWork(ctx context.Context, ref string, r WorkChange) (Work, error) {
	return post[Work](ctx, c, once, "/v1/work/"+url.PathEscape(ref), r)
}
