package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// RunRequest asks for a run of a formula. The same ID twice is one run.
type RunRequest struct {
	ID      string            `json:"id,omitempty"`   // chosen by who asks; made up when empty
	Name    string            `json:"name,omitempty"` // of the formula
	File    string            `json:"file,omitempty"` // or its file, absolute,
	Text    string            `json:"text,omitempty"` // and what is in it
	Project string            `json:"project,omitempty"`
	Dir     string            `json:"dir,omitempty"` // where its steps run when there is no project; absolute
	Vars    map[string]string `json:"vars,omitempty"`
	Detach  bool              `json:"detach,omitempty"` // only write it down: a daemon carries it out
}

// Run is a formula being carried out.
type Run struct {
	ID       string     `json:"id"`
	Formula  string     `json:"formula"`
	Project  string     `json:"project,omitempty"`
	By       string     `json:"by"`
	At       time.Time  `json:"at"`
	For      string     `json:"for"` // how long it takes, or took
	Mode     string     `json:"mode"`
	State    string     `json:"state"` // running, needs a person, done, failed, skipped or cancelled
	Over     bool       `json:"over"`
	Why      string     `json:"why,omitempty"`
	Done     int        `json:"done"` // steps that are
	Steps    []RunStep  `json:"steps"`
	Schedule string     `json:"schedule,omitempty"`
	Dir      string     `json:"dir,omitempty"` // of the run: its phase, scratch file and outputs
	Work     string     `json:"work,omitempty"`
	Source   string     `json:"source,omitempty"`
	Vars     []string   `json:"vars,omitempty"` // NAME=value
	Agent    string     `json:"agent,omitempty"`
	Phase    string     `json:"phase,omitempty"`
	Kept     string     `json:"kept,omitempty"`  // worktree that was kept, and why
	Stop     string     `json:"stop,omitempty"`  // order that ends its agent
	Locks    bool       `json:"locks,omitempty"` // it is over, and the factory's lock is not given back yet
	EndedAt  *time.Time `json:"ended_at,omitempty"`
	Tokens   int64      `json:"tokens,omitempty"`
	Dollars  float64    `json:"dollars,omitempty"`
	Watched  bool       `json:"watched"` // a daemon runs, so that it goes on
	Next     []Hint     `json:"next"`
}

// RunStep is a step of a run.
type RunStep struct {
	ID      string     `json:"id"`
	Title   string     `json:"title,omitempty"`
	Do      string     `json:"do"`
	Needs   []string   `json:"needs,omitempty"`
	State   string     `json:"state"` // waiting, ready, running, done, failed, skipped or needs a person
	Why     string     `json:"why,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	For     string     `json:"for,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Exit    *int       `json:"exit,omitempty"`
	Output  string     `json:"output,omitempty"` // where it is kept, or what a built-in said
	Note    string     `json:"note,omitempty"`
	By      string     `json:"by,omitempty"` // who reported it
}

// Runs are runs of formulas, the newest last.
type Runs struct {
	At   time.Time `json:"at"`
	Runs []Run     `json:"runs"`
	Next []Hint    `json:"next"`
}

// RunChange is what a person, or the agent of a run, says of it.
type RunChange struct {
	Do   string `json:"do"`             // cancel, resume, done or fail
	Step string `json:"step,omitempty"` // of a resume, done or fail
	As   string `json:"as,omitempty"`   // of a resume: done or again
	Note string `json:"note,omitempty"`
	// Reply, of a resume, answers what the agent asked by PHASE:escalate: the next
	// session is sent it. It is written into the file of the run's replies.
	Reply string `json:"reply,omitempty"`
}

// RunFormula asks for a run.
func (c *Client) RunFormula(ctx context.Context, r RunRequest) (Run, error) {
	return post[Run](ctx, c, keyed(r.ID), "/v1/runs", r)
}

// Runs lists the runs that are not over; with all, those that ended too.
func (c *Client) Runs(ctx context.Context, all bool) (Runs, error) {
	return get[Runs](ctx, c, "/v1/runs?all="+strconv.FormatBool(all))
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return get[Run](ctx, c, "/v1/runs/"+url.PathEscape(id))
}

// ChangeRun cancels or resumes a run, or reports a step of it.
func (c *Client) ChangeRun(ctx context.Context, id string, r RunChange) (Run, error) {
	return post[Run](ctx, c, once, "/v1/runs/"+url.PathEscape(id), r)
}
