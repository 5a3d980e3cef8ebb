package api

import (
	"context"
	"net/url"
	"time"
)

// Report is the morning page: what agents did since a moment, what waits for a
// person, and what Custos did and refused.
type Report struct {
	At      time.Time       `json:"at"`
	Since   time.Time       `json:"since"`
	From    From            `json:"from"`
	Watched bool            `json:"watched"` // a daemon runs
	Patrols int             `json:"patrols"` // since then
	Agents  []ReportAgent   `json:"agents"`  // what may wait for a person first
	Waits   []Need          `json:"waits"`   // for a person, worst first
	Did     []ReportDeed    `json:"did"`     // what Custos did, oldest first
	Refused []ReportRefusal `json:"refused"` // what it did not do, and why; the newest first
	Alerts  []ReportAlert   `json:"alerts"`  // that began or ended, oldest first
	Models  CostRow         `json:"models"`  // calls on behalf of Custos: its judge, its formulas
	NotSeen []PartSeen      `json:"not_seen"`
	Cut     bool            `json:"cut,omitempty"` // the event log begins later than Since, or holds more than is read
	Next    []Hint          `json:"next"`
}

// ReportAgent is what became of one agent. What is nil is not known.
type ReportAgent struct {
	Name     string       `json:"name"`
	Kind     string       `json:"kind"`
	State    string       `json:"state"`
	Since    string       `json:"since,omitempty"` // how long in this state
	Reason   string       `json:"reason"`
	Owner    string       `json:"owner"`
	Project  string       `json:"project,omitempty"`
	Task     string       `json:"task,omitempty"`
	Ended    string       `json:"ended,omitempty"`  // how, in words
	Failed   string       `json:"failed,omitempty"` // why it is not started again by itself
	Worktree string       `json:"worktree,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	Commits  *int         `json:"commits"`            // made in its worktree since then
	Made     []string     `json:"made"`               // their subjects, the newest few
	Blind    string       `json:"blind,omitempty"`    // why Commits is not known
	Unpushed *int         `json:"unpushed"`           // commits that are on no remote
	Dirty    *int         `json:"dirty"`              // files that are not committed
	Merged   *bool        `json:"merged"`             // what it made is in the primary branch
	Pulls    []ReportPull `json:"pulls"`              // open ones of its branch, and those that ended since then
	NoForge  string       `json:"no_forge,omitempty"` // why Pulls is not known
	Dollars  *float64     `json:"dollars"`            // of its newest instance, as it reported
	Tokens   *int64       `json:"tokens"`
	Failures int          `json:"failures"` // since then
}

// ReportPull is a pull request: an open one and its checks, or one that ended.
type ReportPull struct {
	Name     string   `json:"name"` // PROJECT!7
	Title    string   `json:"title"`
	URL      string   `json:"url"`
	Checks   string   `json:"checks"` // none, pending, success, failure; "" when not known
	Failed   []string `json:"failed,omitempty"`
	Review   string   `json:"review,omitempty"`
	Conflict *bool    `json:"conflict"`
	Draft    bool     `json:"draft,omitempty"`
	// Ended is merged or closed, since then; "" for an open one.
	Ended   string     `json:"ended,omitempty"`
	EndedAt *time.Time `json:"ended_at,omitempty"`
}

// ReportDeed is an action that ended.
type ReportDeed struct {
	At      time.Time `json:"at"`
	ID      string    `json:"id,omitempty"`
	Do      string    `json:"do"`
	Subject string    `json:"subject"`
	Rule    string    `json:"rule,omitempty"`
	Result  string    `json:"result"` // done, unneeded, refused, failed, unverified, in_doubt
	Text    string    `json:"text,omitempty"`
}

// ReportRefusal is an action that a guard held back.
type ReportRefusal struct {
	At      time.Time `json:"at"` // the last time
	Do      string    `json:"do"`
	Subject string    `json:"subject"`
	Rule    string    `json:"rule,omitempty"`
	Guard   string    `json:"guard"`
	Why     string    `json:"why,omitempty"`
	Times   int       `json:"times"`          // that it was noted; a refusal that goes on is noted once
	Hint    string    `json:"hint,omitempty"` // what would change it, where it still holds
	Now     bool      `json:"now,omitempty"`  // it still holds
}

// ReportAlert is an alert that began or ended.
type ReportAlert struct {
	Rule    string     `json:"rule"`
	Subject string     `json:"subject"`
	Times   int        `json:"times"`           // that it began
	Began   *time.Time `json:"began,omitempty"` // the first time; nil: before
	Ended   *time.Time `json:"ended,omitempty"` // the last time; nil: it goes on
}

// Report says what happened since a moment: "12h", "7d", or a day like 2006-01-02.
func (c *Client) Report(ctx context.Context, since string) (Report, error) {
	return get[Report](ctx, c, "/v1/report?"+url.Values{"since": {since}}.Encode())
}
