package api

import (
	"context"
	"net/url"
	"time"
)

// Merge is a branch in a merge queue, at one commit of it.
type Merge struct {
	ID       string       `json:"id"`
	Queue    string       `json:"queue"`
	Source   string       `json:"source"` // its branch
	Commit   string       `json:"commit"`
	Title    string       `json:"title,omitempty"`
	Project  string       `json:"project,omitempty"`
	Work     []string     `json:"work,omitempty"` // what is closed once it is merged
	Agent    string       `json:"agent,omitempty"`
	Priority string       `json:"priority"`
	Needs    []string     `json:"needs,omitempty"`
	State    string       `json:"state"`              // waiting, conflict, failed, held, merged, withdrawn
	Position int          `json:"position,omitempty"` // among those that wait, from 1
	Why      string       `json:"why,omitempty"`      // it is so; why it is not merged yet
	Files    []string     `json:"files,omitempty"`    // that conflict
	Merged   string       `json:"merged,omitempty"`   // the commit that the target moved to with it
	By       string       `json:"by"`
	At       time.Time    `json:"at"`
	Since    time.Time    `json:"since"`
	Groups   []MergeGroup `json:"groups,omitempty"` // it was tested in, of those known
}

// MergeGroup is what was, or is, tested together.
type MergeGroup struct {
	ID     string    `json:"id"`
	Items  []string  `json:"items"` // empty: the target itself
	State  string    `json:"state"` // building, testing, green, red, landed, dropped
	Base   string    `json:"base,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Why    string    `json:"why,omitempty"`
	Run    string    `json:"run,omitempty"` // of its gates, the last one
	Runs   int       `json:"runs"`
	Failed []string  `json:"failed,omitempty"` // gates that failed last
	Flaky  []string  `json:"flaky,omitempty"`  // gates that failed, and passed on the same tree
	At     time.Time `json:"at"`
	Since  time.Time `json:"since"`

	Settled []MergeSettled `json:"settled,omitempty"`    // conflicts of its items that were settled without their authors
	Tests   []MergeTest    `json:"tests,omitempty"`      // that failed in its runs, where gates have reports
	More    int            `json:"more_tests,omitempty"` // how many more failed last
	Notes   []string       `json:"notes,omitempty"`      // what is to be said of the reports of its last run
}

// MergeSettled is what was settled of an item's conflicts.
type MergeSettled struct {
	Item     string   `json:"item"`
	Again    []string `json:"again,omitempty"`    // files that were made anew
	Recorded []string `json:"recorded,omitempty"` // files that were resolved as git rerere had recorded it
}

// MergeTest is a test that failed, by the report of a gate.
type MergeTest struct {
	Gate  string `json:"gate"`
	Name  string `json:"name"`
	Reds  int    `json:"reds"`            // runs that failed with it
	Flaky bool   `json:"flaky,omitempty"` // it failed, and passed on the same tree
}

// MergeQueue is a merge queue as custos.toml says, and how it is.
type MergeQueue struct {
	Name    string   `json:"name"`
	Repo    string   `json:"repo"`
	Target  string   `json:"target"`
	Remote  string   `json:"remote,omitempty"`
	Project string   `json:"project,omitempty"`
	Mode    string   `json:"mode"` // who moves the target: own (Custos), forge or watch
	Gates   []string `json:"gates"`
	Held    string   `json:"held,omitempty"` // why nothing lands
	HeldBy  string   `json:"held_by,omitempty"`
	Broken  string   `json:"broken,omitempty"`  // commit of the target on which the gates fail by themselves
	Missing bool     `json:"missing,omitempty"` // there is no repository in Repo
	Waiting int      `json:"waiting"`
	Unready int      `json:"unready,omitempty"` // wait for something else first: a review, their pull request
	Batch   int      `json:"batch"`             // items that are tested together now
	Group   string   `json:"group,omitempty"`   // that is under way
	Gone    bool     `json:"gone,omitempty"`    // custos.toml does not have it any more; what waits is what is not over
	Left    []string `json:"left,omitempty"`    // of such a one: worktrees of its groups that are not cleared yet
}

// MergeList is what is in the merge queues.
type MergeList struct {
	At     time.Time    `json:"at"`
	Merges []Merge      `json:"merges"`
	Queues []MergeQueue `json:"queues"`
	Next   []Hint       `json:"next"`
}

// MergeRequest adds a branch to a merge queue, or what is there at another commit.
type MergeRequest struct {
	Queue    string   `json:"queue,omitempty"`  // not needed where Dir tells it, or there is one
	Branch   string   `json:"branch,omitempty"` // that is checked out in Dir
	Dir      string   `json:"dir,omitempty"`    // where it is asked from
	Title    string   `json:"title,omitempty"`  // of its newest commit
	Work     []string `json:"work,omitempty"`
	Needs    []string `json:"needs,omitempty"`
	Priority string   `json:"priority,omitempty"`
}

// MergeChange is done to an item, or to a whole queue.
type MergeChange struct {
	Do  string `json:"do"` // hold, release; of an item withdraw
	Why string `json:"why,omitempty"`
}

// MergeChanged is what became of that.
type MergeChanged struct {
	Merge *Merge      `json:"merge,omitempty"`
	Queue *MergeQueue `json:"queue,omitempty"`
}

// Merges lists the merge queues and what is in them; with all what was merged or withdrawn, too.
func (c *Client) Merges(ctx context.Context, queue string, all bool) (MergeList, error) {
	q := url.Values{}
	if queue != "" {
		q.Set("queue", queue)
	}
	if all {
		q.Set("all", "1")
	}
	return get[MergeList](ctx, c, "/v1/merges?"+q.Encode())
}

// Merge returns one item of a merge queue.
func (c *Client) Merge(ctx context.Context, id string) (Merge, error) {
	return get[Merge](ctx, c, "/v1/merges/"+url.PathEscape(id))
}

// AddMerge adds a branch to a merge queue.
func (c *Client) AddMerge(ctx context.Context, r MergeRequest) (Merge, error) {
	return post[Merge](ctx, c, same, "/v1/merges", r)
}

// ChangeMerge holds, releases or withdraws.
func (c *Client) ChangeMerge(ctx context.Context, id string, r MergeChange) (MergeChanged, error) {
	return post[MergeChanged](ctx, c, same, "/v1/merges/"+url.PathEscape(id), r)
}
