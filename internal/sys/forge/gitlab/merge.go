package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"custos/internal/sys/forge"
)

// request is what GitLab says of a merge request.
type request struct {
	issue
	Target    string `json:"target_branch"`
	Source    string `json:"source_branch"`
	SHA       string
	From      int `json:"source_project_id"`
	Into      int `json:"target_project_id"`
	Draft     bool
	WIP       bool   `json:"work_in_progress"` // before 14.0
	Status    string `json:"merge_status"`
	Detailed  string `json:"detailed_merge_status"`
	Reviewers []*user
	Head      *pipeline `json:"head_pipeline"`
}

type pipeline struct {
	ID      int
	SHA     string
	Ref     string
	Status  string
	Created time.Time  `json:"created_at"`
	Ended   *time.Time `json:"finished_at"`
}

func (r request) pull() (forge.Pull, error) {
	if r.IID <= 0 || states[r.State] == "" {
		return forge.Pull{}, errOdd
	}
	return forge.Pull{Number: r.IID, Title: r.Title, Body: r.Description, URL: r.WebURL, Author: r.Author.name(), Labels: r.Labels, Base: r.Target, Branch: r.Source, Head: r.SHA, Fork: r.From == 0 || r.From != r.Into,
		Draft: r.Draft || r.WIP, Requested: len(r.Reviewers) > 0, Created: r.CreatedAt, Updated: r.UpdatedAt}, nil
}

// Pulls lists open merge requests.
func (l *lab) Pulls(ctx context.Context) (out []forge.Pull, err error) {
	all, err := list[request](ctx, l, "/merge_requests", newest("opened"))
	for _, r := range all {
		p, err := r.pull()
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, err
}

// Ended lists those that were merged or closed, of the page of those that changed last.
func (l *lab) Ended(ctx context.Context) (out []forge.Ended, err error) {
	var page []request
	if err := l.get(ctx, fmt.Sprintf("/merge_requests?state=all&scope=all&order_by=updated_at&sort=desc&per_page=%d", perPage), &page); err != nil {
		return nil, err
	}
	if page == nil {
		return nil, errOdd
	}
	for _, r := range page {
		p, err := r.pull()
		if err != nil {
			return nil, err
		}
		if states[r.State] == "closed" {
			out = append(out, forge.Ended{Pull: p, Merged: r.State == "merged", At: first(r.MergedAt, r.ClosedAt)})
		}
	}
	return out, nil
}

func (l *lab) request(ctx context.Context, number int) (r request, err error) {
	if err = l.get(ctx, merge(number), &r); err == nil && r.IID != number {
		err = errOdd
	}
	return r, err
}

// Merges says whether the branches can be joined: "" while GitLab has not tried, which asking
// for a single merge request has it do. The newer status names the first reason against merging, and a
// conflict may stand behind a draft or a running pipeline.
func (l *lab) Merges(ctx context.Context, number int) (string, error) {
	r, err := l.request(ctx, number)
	switch {
	case err != nil:
		return "", err
	case r.Status == "can_be_merged", r.Status == "" && r.Detailed == "mergeable":
		return "yes", nil
	case r.Status == "cannot_be_merged", r.Status == "" && r.Detailed == "conflict":
		return "no", nil
	}
	return "", nil
}

// status is a job, or what another system said of a commit.
type status struct {
	ID      int
	Name    string
	Status  string
	May     bool       `json:"allow_failure"`
	Created time.Time  `json:"created_at"`
	Ended   *time.Time `json:"finished_at"`
}

func (s status) number() int { return s.ID }

// results are GitLab's words for how jobs and pipelines stand. One that waits for a person
// (manual) is not done, unless it need not be.
var results = map[string]string{"created": "pending", "waiting_for_resource": "pending", "preparing": "pending", "waiting_for_callback": "pending", "pending": "pending", "running": "pending",
	"scheduled": "pending", "manual": "pending", "canceling": "pending", "success": "success", "skipped": "success", "failed": "failure", "canceled": "failure"}

func (s status) check() (forge.Check, error) {
	c := forge.Check{Context: s.Name, State: results[s.Status], Began: s.Created}
	if s.May && (s.Status == "failed" || s.Status == "canceled" || s.Status == "manual") {
		c.State = "success"
	}
	if c.State == "" {
		return c, fmt.Errorf("a job of its pipeline is in a state that is not known here")
	}
	if c.State != "pending" {
		c.Ended = cmp.Or(first(s.Ended), s.Created)
	}
	return c, nil
}

// reJoined is the ref of a pipeline of what both branches come to together.
var reJoined = regexp.MustCompile(`^refs/merge-requests/\d+/(merge|train)$`)

// Checks are the jobs of the head pipeline, which is what GitLab itself goes by. It may be of
// what both branches come to together, or in the project of a fork, whose jobs are not told: where
// no job says what the pipeline does, the pipeline stands for them.
func (l *lab) Checks(ctx context.Context, number int, commit string) (forge.Checks, error) {
	r, err := l.request(ctx, number)
	if err != nil {
		return forge.Checks{}, err
	}
	if r.SHA != commit {
		return forge.Checks{}, fmt.Errorf("it has a newer commit than the one that is asked about")
	}
	p, out := r.Head, forge.Checks{Whole: true}
	if p == nil || p.Status == "skipped" || p.SHA != commit && !reJoined.MatchString(p.Ref) {
		return out, nil // none, or of a commit before
	}
	jobs, err := list[status](ctx, l, "/repository/commits/"+url.PathEscape(p.SHA)+"/statuses", url.Values{"pipeline_id": {strconv.Itoa(p.ID)}})
	if err != nil && !forge.IsMissing(err) {
		return forge.Checks{}, err
	}
	for _, j := range append(jobs, status{Name: "pipeline", Status: p.Status, Created: p.Created, Ended: p.Ended}) {
		c, err := j.check()
		if err != nil {
			return forge.Checks{}, err
		}
		if j.ID > 0 || !slices.ContainsFunc(out.Checks, func(o forge.Check) bool { return o.State == c.State }) {
			out.Checks = append(out.Checks, c)
		}
	}
	slices.SortStableFunc(out.Checks, func(a, b forge.Check) int { return cmp.Compare(a.Context, b.Context) })
	return out, nil
}

// reviews are GitLab's words for how a reviewer stands.
var reviews = map[string]string{"unreviewed": "requested", "review_started": "requested", "reviewed": "commented", "requested_changes": "changes requested", "approved": "approved", "unapproved": "dismissed"}

// Reviews joins who was asked for one, and who approved: either may do so without the other.
// When somebody asked for changes is not told.
func (l *lab) Reviews(ctx context.Context, number int) ([]forge.Review, error) {
	var given struct {
		By []struct {
			User *user
			At   *time.Time `json:"approved_at"`
		} `json:"approved_by"`
	}
	if err := l.get(ctx, merge(number)+"/approvals", &given); err != nil {
		return nil, err
	}
	out, err := l.reviewers(ctx, number)
	if err != nil {
		return nil, err
	}
	for _, a := range given.By {
		i := slices.IndexFunc(out, func(r forge.Review) bool { return r.Author == a.User.name() })
		switch {
		case i < 0:
			out = append(out, forge.Review{Author: a.User.name(), State: "approved", At: first(a.At)})
		case out[i].State != "changes requested":
			out[i].State, out[i].At = "approved", first(a.At)
		}
	}
	return out, nil
}

// reviewers are those who were asked. A GitLab before 15.3 does not list them.
func (l *lab) reviewers(ctx context.Context, number int) (out []forge.Review, err error) {
	var asked []struct {
		User  *user
		State string
	}
	if err := l.get(ctx, merge(number)+"/reviewers", &asked); err != nil && !forge.IsMissing(err) {
		return nil, err
	}
	for _, a := range asked {
		r := forge.Review{Author: a.User.name(), State: reviews[a.State]}
		if r.State == "" {
			return nil, fmt.Errorf("a reviewer of it is in a state that is not known here")
		}
		out = append(out, r)
	}
	return out, nil
}
