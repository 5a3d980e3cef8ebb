package api

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// CV is what is on record of what an agent did, or of what all agents of one role, kind or model did. What
// is null is not on record: it is unknown, and not 0.
type CV struct {
	Key     string `json:"key"`    // the agent; or the role, kind or model
	Agents  int    `json:"agents"` // how many it is of
	Role    string `json:"role,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Model   string `json:"model,omitempty"` // that answered it most
	Project string `json:"project,omitempty"`
	Retired bool   `json:"retired,omitempty"`

	Has       int  `json:"has"`        // work that it has now
	Completed int  `json:"completed"`  // work that was closed as completed while it had it
	Otherwise int  `json:"otherwise"`  // work that was closed with another outcome while it had it
	GivenBack *int `json:"given_back"` // always null: the record does not say who gave work back

	Merges *CVMerges `json:"merges"` // its branches in merge queues; null: none of any agent is on record

	Took   string `json:"took,omitempty"` // the median from taking work to its close as completed; "": not known
	TookOf int    `json:"took_of"`        // of how much work that is known

	Cost     *CostRow   `json:"cost"`      // null: no response of a model is on record
	PerMerge *float64   `json:"per_merge"` // dollars for each branch that was merged; null: not known
	Deaths   *int       `json:"deaths"`
	Restarts *int       `json:"restarts"` // since log_since
	Worked   *time.Time `json:"worked"`   // when anything of it last moved
}

// CVMerges is what became of branches in merge queues.
type CVMerges struct {
	Waiting   int `json:"waiting"` // held ones, too
	Merged    int `json:"merged"`
	Failed    int `json:"failed"`
	Conflict  int `json:"conflict"`
	Withdrawn int `json:"withdrawn"`
	Tested    int `json:"tested"`       // whose first commit got a verdict that is on record
	First     int `json:"first"`        // of these: merged at that commit
	FailedAt  int `json:"failed_first"` // of these: the gates failed with it alone at that commit
}

// CVs are what is on record of agents.
type CVs struct {
	At       time.Time `json:"at"`
	By       string    `json:"by"`                  // agent, role, kind or model
	Since    time.Time `json:"since"`               // what was over before is not on record any more
	LogSince time.Time `json:"log_since"`           // the same of the log, by which times and restarts are known
	None     bool      `json:"none,omitempty"`      // no work and no branch of an agent is on record
	AtLeast  []string  `json:"more_used,omitempty"` // why more may have been used
	CVs      []CV      `json:"cvs"`
	Next     []Hint    `json:"next"`
}

// CVs returns what is on record of agents: of one, or of all, added up by agent, role, kind or model.
func (c *Client) CVs(ctx context.Context, agent, by string) (CVs, error) {
	return get[CVs](ctx, c, "/v1/cv?"+url.Values{"of": {agent}, "by": {by}}.Encode())
}

// unknownWord stands for what is not on record.
const unknownWord = "unknown"

// WorkWords are what became of its work.
func (v CV) WorkWords() string {
	return fmt.Sprintf("%d closed as completed, %d with another outcome, has %d; given back: %s", v.Completed, v.Otherwise, v.Has, orUnknown(v.GivenBack))
}

// TookWords is how long its work took; "unknown" where that is not on record.
func (v CV) TookWords() string {
	if v.TookOf == 0 {
		return unknownWord
	}
	return Span(v.Took) + fmt.Sprintf(" (median of %d)", v.TookOf)
}

// MergeWords are what became of its branches.
func (v CV) MergeWords() string {
	if m := v.Merges; m != nil {
		return fmt.Sprintf("%d merged, %d failed, %d in conflict, %d withdrawn, %d waiting", m.Merged, m.Failed, m.Conflict, m.Withdrawn, m.Waiting)
	}
	return unknownWord
}

// FirstWords is how many of its branches were merged at the first commit that was tested, of those of which that is known.
func (v CV) FirstWords() string { return v.ofTested(func(m CVMerges) int { return m.First }) }

// FailedWords is of how many the gates failed at that commit.
func (v CV) FailedWords() string { return v.ofTested(func(m CVMerges) int { return m.FailedAt }) }

func (v CV) ofTested(count func(CVMerges) int) string {
	if v.Merges == nil || v.Merges.Tested == 0 {
		return unknownWord
	}
	n, all := count(*v.Merges), v.Merges.Tested
	return fmt.Sprintf("%d of %d (%d %%)", n, all, (100*n+all/2)/all)
}

// CostWords is what models cost for it: money, responses and tokens.
func (v CV) CostWords() string {
	if v.Cost == nil {
		return unknownWord
	}
	money := cmp.Or(Dollars(v.Cost.Dollars), "0")
	if v.Cost.Unpriced > 0 {
		money += fmt.Sprintf(" and %d of unknown price", v.Cost.Unpriced)
	}
	return fmt.Sprintf("%s, %d responses, %s tokens", money, v.Cost.Calls, cmp.Or(Tokens(v.Cost.Tokens), "0"))
}

// PerMergeWords is what a branch that was merged cost.
func (v CV) PerMergeWords() string {
	if v.PerMerge == nil {
		return unknownWord
	}
	return cmp.Or(Dollars(*v.PerMerge), "0")
}

// EndWords are its deaths and restarts.
func (v CV) EndWords() string {
	return fmt.Sprintf("%s deaths, %s restarts", orUnknown(v.Deaths), orUnknown(v.Restarts))
}

// WorkedWords is when anything of it last moved.
func (v CV) WorkedWords(at time.Time) string {
	if v.Worked == nil {
		return unknownWord
	}
	return SpanOf(at.Sub(*v.Worked)) + " ago"
}

// Reach is how far back the record goes.
func (v CVs) Reach() string {
	const day = "2006-01-02 15:04 UTC"
	return fmt.Sprintf("Of what is over, the record goes back to %s; of takings and restarts, to %s.", v.Since.Format(day), v.LogSince.Format(day))
}

func orUnknown(n *int) string {
	if n == nil {
		return unknownWord
	}
	return strconv.Itoa(*n)
}
