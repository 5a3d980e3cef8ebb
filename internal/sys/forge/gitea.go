package forge

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"
)

// tea reads a Forgejo or a Gitea. The SDK ties a context to a client, so each
// question has a client of its own, which costs nothing.
type tea struct {
	url, owner, name string
	http             *http.Client
}

// Forgejo is the kind "forgejo".
func Forgejo() Kind { return Kind{Name: "forgejo", Title: "Forgejo", Scheme: "token", Open: newTea} }

// Gitea is the kind "gitea".
func Gitea() Kind { return Kind{Name: "gitea", Title: "Gitea", Scheme: "token", Open: newTea} }

func newTea(o Options, owner, name string) (Repository, error) {
	return &tea{url: strings.TrimSuffix(o.URL, "/"), owner: owner, name: name, http: o.HTTP}, nil
}

// api never asks for the version of the server: Forgejo's is none of Gitea's.
func (t *tea) api(ctx context.Context) (*gitea.Client, error) {
	return gitea.NewClient(t.url, gitea.SetGiteaVersion(""), gitea.SetHTTPClient(t.http), gitea.SetContext(ctx))
}

func plainOf(r *gitea.Response) *http.Response {
	if r == nil {
		return nil
	}
	return r.Response
}

// teaSheet reads the headers of a page. Gitea sends Link with issues, pull requests
// and statuses; with labels and reviews only X-Total-Count, and with dependencies
// neither (package forgetest names the sources). A proxy may strip Link from all. How
// many things a page holds at most is the server's to say ([api] MAX_RESPONSE_ITEMS),
// so that without a count only an empty one ends a list.
func teaSheet(r *gitea.Response, n int) sheet {
	s := sheet{n: n, next: r.NextPage, total: -1, full: 1}
	if total, err := strconv.Atoi(r.Header.Get("X-Total-Count")); err == nil {
		s.total = total
	}
	return s
}

func (t *tea) Issues(ctx context.Context, closedSince time.Time) (out []Issue, err error) {
	o := gitea.ListIssueOption{State: gitea.StateOpen, Type: gitea.IssueTypeIssue}
	if !closedSince.IsZero() {
		o.State, o.Since = gitea.StateClosed, closedSince.UTC()
	}
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	err = all(func(page int) (sheet, error) {
		o.ListOptions = gitea.ListOptions{Page: page, PageSize: perPage}
		list, resp, err := c.ListRepoIssues(t.owner, t.name, o)
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		if out, err = teaIssues(out, list); err != nil {
			return sheet{}, err
		}
		return teaSheet(resp, len(list)), nil
	})
	return out, err
}

func (t *tea) Issue(ctx context.Context, number int) (Issue, error) {
	c, err := t.api(ctx)
	if err != nil {
		return Issue{}, err
	}
	i, resp, err := c.GetIssue(t.owner, t.name, int64(number))
	if err != nil {
		return Issue{}, fault(plainOf(resp), err)
	}
	out, err := teaIssue(i)
	if err == nil && out.Number != number {
		err = errOdd
	}
	return out, err
}

func (t *tea) Blockers(ctx context.Context, number int) (out []Issue, err error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	err = all(func(page int) (sheet, error) {
		o := gitea.ListIssueDependenciesOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: perPage}}
		list, resp, err := c.ListIssueDependencies(t.owner, t.name, int64(number), o)
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		if slices.ContainsFunc(list, isHidden) {
			return sheet{}, errHidden
		}
		if out, err = teaIssues(out, list); err != nil {
			return sheet{}, err
		}
		return teaSheet(resp, len(list)), nil
	})
	return out, err
}

var errHidden = errors.New("it waits for something that the token may not see")

// isHidden knows what a Gitea puts in the place of an issue that the token may not see:
// it has no number, and calls itself open whether it is or not (go-gitea/gitea at
// 093150d, routers/api/v1/repo/issue_dependency.go).
func isHidden(i *gitea.Issue) bool { return i != nil && i.Index == 0 && i.Title == "HIDDEN" }

func (t *tea) Pulls(ctx context.Context) (out []Pull, err error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	err = all(func(page int) (sheet, error) {
		o := gitea.ListPullRequestsOptions{State: gitea.StateOpen, ListOptions: gitea.ListOptions{Page: page, PageSize: perPage}}
		list, resp, err := c.ListRepoPullRequests(t.owner, t.name, o)
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		for _, p := range list {
			if p != nil {
				out = append(out, teaPull(p))
			}
		}
		return teaSheet(resp, len(list)), nil
	})
	return out, err
}

func (t *tea) Ended(ctx context.Context) (out []Ended, err error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	o := gitea.ListPullRequestsOptions{State: gitea.StateClosed, Sort: "recentupdate", ListOptions: gitea.ListOptions{Page: 1, PageSize: perPage}}
	list, resp, err := c.ListRepoPullRequests(t.owner, t.name, o)
	if err != nil {
		return nil, fault(plainOf(resp), err)
	}
	for _, p := range list {
		if p == nil || p.State != gitea.StateClosed {
			return nil, errOdd
		}
		e := Ended{Pull: teaPull(p), Merged: p.HasMerged}
		switch {
		case p.Merged != nil:
			e.At = *p.Merged
		case p.Closed != nil:
			e.At = *p.Closed
		}
		out = append(out, e)
	}
	return out, nil
}

func (t *tea) Merges(ctx context.Context, number int) (string, error) {
	c, err := t.api(ctx)
	if err != nil {
		return "", err
	}
	p, resp, err := c.GetPullRequest(t.owner, t.name, int64(number))
	if err != nil {
		return "", fault(plainOf(resp), err)
	}
	return teaPull(p).Merges, nil
}

// Checks reads every status of a commit, page by page, and keeps the newest of each
// context. Gitea's own summary of them (…/commits/SHA/status) is no use: it holds one
// page, total_count counts that page (go-gitea/gitea at 083e0ba, services/convert/status.go:
// TotalCount: len(statuses)), and the SDK takes an answer that it cannot read for none.
func (t *tea) Checks(ctx context.Context, _ int, commit string) (Checks, error) {
	c, err := t.api(ctx)
	if err != nil {
		return Checks{}, err
	}
	newest := map[string]*gitea.Status{}
	err = all(func(page int) (sheet, error) {
		o := gitea.ListStatusesOption{ListOptions: gitea.ListOptions{Page: page, PageSize: perPage}}
		list, resp, err := c.ListStatuses(t.owner, t.name, commit, o)
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		return teaSheet(resp, len(list)), newer(newest, list)
	})
	if err != nil {
		return Checks{}, err
	}
	out := Checks{Whole: true}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		x := newest[name]
		out.Checks = append(out.Checks, status(x.Context, string(x.State), x.Created, x.Updated))
	}
	return out, nil
}

// newer keeps the newest status of each context: the id of one is its index among
// those of the commit, which only grows (the same file: ID: status.Index).
func newer(newest map[string]*gitea.Status, list []*gitea.Status) error {
	for _, x := range list {
		if x == nil || x.ID <= 0 {
			return errOdd
		}
		if old := newest[x.Context]; old == nil || old.ID < x.ID {
			newest[x.Context] = x
		}
	}
	return nil
}

// status is a commit status in our words. "warning" is Gitea's for what may be merged.
func status(context, state string, created, updated time.Time) Check {
	c := Check{Context: context, State: "failure", Began: created, Ended: updated}
	if updated.IsZero() {
		c.Ended = created
	}
	switch state {
	case "success", "warning", "skipped":
		c.State = "success"
	case "pending", "":
		c.State, c.Ended = "pending", time.Time{}
	}
	return c
}

func (t *tea) Reviews(ctx context.Context, number int) (out []Review, err error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	err = all(func(page int) (sheet, error) {
		o := gitea.ListPullReviewsOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: perPage}}
		list, resp, err := c.ListPullReviews(t.owner, t.name, int64(number), o)
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		for _, r := range list {
			if r != nil {
				out = append(out, teaReview(r))
			}
		}
		return teaSheet(resp, len(list)), nil
	})
	return out, err
}

func teaReview(r *gitea.PullReview) Review {
	out := Review{Author: teaUser(r.Reviewer), State: "commented", At: r.Submitted}
	switch r.State {
	case gitea.ReviewStateApproved:
		out.State = "approved"
	case gitea.ReviewStateRequestChanges:
		out.State = "changes requested"
	case gitea.ReviewStateRequestReview:
		out.State = "requested"
	case gitea.ReviewStatePending: // written and not yet sent: the author's own business
		out.State = "dismissed"
	}
	if r.Dismissed {
		out.State = "dismissed"
	}
	return out
}

func (t *tea) Committed(ctx context.Context, commit string) (time.Time, error) {
	c, err := t.api(ctx)
	if err != nil {
		return time.Time{}, err
	}
	got, resp, err := c.GetSingleCommit(t.owner, t.name, commit)
	if err != nil {
		return time.Time{}, fault(plainOf(resp), err)
	}
	if got.RepoCommit == nil || got.RepoCommit.Committer == nil {
		return time.Time{}, nil
	}
	at, _ := time.Parse(time.RFC3339, got.RepoCommit.Committer.Date)
	return at, nil
}

func (t *tea) Primary(ctx context.Context) (string, error) {
	c, err := t.api(ctx)
	if err != nil {
		return "", err
	}
	r, resp, err := c.GetRepo(t.owner, t.name)
	if err != nil {
		return "", fault(plainOf(resp), err)
	}
	return r.DefaultBranch, nil
}

func (t *tea) Required(ctx context.Context, branch string) ([]string, error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	b, resp, err := c.GetRepoBranch(t.owner, t.name, branch)
	if err != nil {
		return nil, fault(plainOf(resp), err)
	}
	if !b.EnableStatusCheck {
		return nil, nil
	}
	return b.StatusCheckContexts, nil
}

func (t *tea) Me(ctx context.Context) (string, error) {
	c, err := t.api(ctx)
	if err != nil {
		return "", err
	}
	u, resp, err := c.GetMyUserInfo()
	if err != nil {
		return "", fault(plainOf(resp), err)
	}
	return u.UserName, nil
}

// teaIssues adds a page of issues.
func teaIssues(out []Issue, list []*gitea.Issue) ([]Issue, error) {
	for _, i := range list {
		if i == nil {
			return nil, errOdd
		}
		issue, err := teaIssue(i)
		if err != nil {
			return nil, err
		}
		out = append(out, issue)
	}
	return out, nil
}

func teaIssue(i *gitea.Issue) (Issue, error) {
	out := Issue{Number: int(i.Index), Title: i.Title, Body: i.Body, URL: i.HTMLURL, Author: teaUser(i.Poster), Labels: teaLabels(i.Labels),
		IsPull: i.PullRequest != nil, Created: i.Created, Updated: i.Updated, Native: -1}
	for _, u := range i.Assignees {
		out.Assignees = append(out.Assignees, teaUser(u))
	}
	if i.Closed != nil {
		out.Closed = *i.Closed
	}
	if i.Repository != nil {
		out.Repo = i.Repository.FullName
		if out.Repo == "" && i.Repository.Owner != "" {
			out.Repo = i.Repository.Owner + "/" + i.Repository.Name
		}
	}
	return out.Checked(string(i.State))
}

func teaPull(p *gitea.PullRequest) Pull {
	out := Pull{Number: int(p.Index), Title: p.Title, Body: p.Body, URL: p.HTMLURL, Author: teaUser(p.Poster), Labels: teaLabels(p.Labels),
		Draft: p.Draft || isDraft(p.Title), Requested: len(p.RequestedReviewers)+len(p.RequestedReviewersTeams) > 0}
	if p.Base != nil {
		out.Base = p.Base.Ref
	}
	if p.Head != nil {
		out.Branch, out.Head = teaBranch(p.Head), p.Head.Sha
	}
	out.Fork = p.Head == nil || p.Base == nil || p.Head.Repository == nil || p.Base.Repository == nil || p.Head.Repository.FullName != p.Base.Repository.FullName
	switch {
	case p.Mergeable:
		out.Merges = "yes"
	case !out.Draft: // of a draft Gitea says no, whatever else is so
		out.Merges = "no"
	}
	if p.Created != nil {
		out.Created = *p.Created
	}
	if p.Updated != nil {
		out.Updated = *p.Updated
	}
	return out
}

// teaBranch is the branch of a head. Once it is gone ref is refs/pull/N/head, and only
// label has its name (go-gitea/gitea at 0518d0d, services/convert/pull.go); what was
// pushed to refs/for has never had one.
func teaBranch(h *gitea.PRBranchInfo) string {
	if strings.HasPrefix(h.Ref, "refs/pull/") && h.Name != "" {
		return h.Name
	}
	return h.Ref
}

// isDraft knows what Gitea takes for a draft by default.
func isDraft(title string) bool {
	title = strings.ToUpper(title)
	return strings.HasPrefix(title, "WIP:") || strings.HasPrefix(title, "[WIP]")
}

func teaUser(u *gitea.User) string {
	if u == nil {
		return ""
	}
	return u.UserName
}

func teaLabels(list []*gitea.Label) (out []string) {
	for _, l := range list {
		if l != nil {
			out = append(out, l.Name)
		}
	}
	return out
}
