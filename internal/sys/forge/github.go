package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v84/github"
)

// hub reads GitHub, or a GitHub Enterprise Server.
type hub struct {
	owner, name string
	c           *github.Client
}

// GitHub is the kind "github".
func GitHub() Kind {
	return Kind{Name: "github", Title: "GitHub", Site: "https://github.com", Scheme: "Bearer", Lazy: true, At: hubAPI, Open: newHub}
}

func hubAPI(site string) string {
	switch strings.ToLower(site) {
	case "https://github.com", "https://www.github.com", "https://api.github.com":
		return "https://api.github.com/"
	}
	return site + "/api/v3/" // GitHub Enterprise Server
}

func newHub(o Options, owner, name string) (Repository, error) {
	base, err := url.Parse(o.Kind.API(o.URL))
	if err != nil {
		return nil, errors.New("url: it is none")
	}
	c := github.NewClient(o.HTTP)
	c.BaseURL = base
	c.DisableRateLimitCheck = true // the HTTP client heeds limits, of all accounts of the host together
	return &hub{owner: owner, name: name, c: c}, nil
}

func hubOf(r *github.Response) *http.Response {
	if r == nil {
		return nil
	}
	return r.Response
}

// hubSheet reads the headers of a page: GitHub sends Link, and no count. What comes
// through a proxy that strips it is read on while the pages are full.
func hubSheet(r *github.Response, n int) sheet {
	return sheet{n: n, next: r.NextPage, total: -1, full: 2 * perPage}
}

// hubIssue is GitHub's issue with what go-github does not have yet.
type hubIssue struct {
	github.Issue
	Dependencies *struct {
		BlockedBy int `json:"blocked_by"` // open ones
		Total     int `json:"total_blocked_by"`
	} `json:"issue_dependencies_summary"`
}

func (h *hub) list(ctx context.Context, path string, query url.Values) (out []Issue, err error) {
	err = all(func(page int) (sheet, error) {
		query.Set("page", strconv.Itoa(page))
		query.Set("per_page", strconv.Itoa(2*perPage))
		req, err := h.c.NewRequest(http.MethodGet, h.path(path)+"?"+query.Encode(), nil)
		if err != nil {
			return sheet{}, err
		}
		var list []*hubIssue
		resp, err := h.c.Do(ctx, req, &list)
		if err != nil {
			return sheet{}, fault(hubOf(resp), err)
		}
		for _, i := range list {
			if i == nil {
				return sheet{}, errOdd
			}
			issue, err := i.plain()
			if err != nil {
				return sheet{}, err
			}
			out = append(out, issue)
		}
		return hubSheet(resp, len(list)), nil
	})
	return out, err
}

func (h *hub) path(rest string) string {
	return fmt.Sprintf("repos/%s/%s/%s", url.PathEscape(h.owner), url.PathEscape(h.name), rest)
}

func (h *hub) Issues(ctx context.Context, closedSince time.Time) ([]Issue, error) {
	query := url.Values{"state": {"open"}}
	if !closedSince.IsZero() {
		query = url.Values{"state": {"closed"}, "since": {closedSince.UTC().Format(time.RFC3339)}}
	}
	return h.list(ctx, "issues", query)
}

func (h *hub) Blockers(ctx context.Context, number int) ([]Issue, error) {
	return h.list(ctx, fmt.Sprintf("issues/%d/dependencies/blocked_by", number), url.Values{})
}

func (h *hub) Issue(ctx context.Context, number int) (Issue, error) {
	req, err := h.c.NewRequest(http.MethodGet, h.path(fmt.Sprintf("issues/%d", number)), nil)
	if err != nil {
		return Issue{}, err
	}
	var i hubIssue
	resp, err := h.c.Do(ctx, req, &i)
	if err != nil {
		return Issue{}, fault(hubOf(resp), err)
	}
	out, err := i.plain()
	if err == nil && out.Number != number {
		err = errOdd
	}
	return out, err
}

func (h *hub) Pulls(ctx context.Context) (out []Pull, err error) {
	err = all(func(page int) (sheet, error) {
		o := &github.PullRequestListOptions{State: "open", ListOptions: github.ListOptions{Page: page, PerPage: 2 * perPage}}
		list, resp, err := h.c.PullRequests.List(ctx, h.owner, h.name, o)
		if err != nil {
			return sheet{}, fault(hubOf(resp), err)
		}
		for _, p := range list {
			if p != nil {
				out = append(out, hubPull(p))
			}
		}
		return hubSheet(resp, len(list)), nil
	})
	return out, err
}

func (h *hub) Ended(ctx context.Context) (out []Ended, err error) {
	o := &github.PullRequestListOptions{State: "closed", Sort: "updated", Direction: "desc", ListOptions: github.ListOptions{Page: 1, PerPage: perPage}}
	list, resp, err := h.c.PullRequests.List(ctx, h.owner, h.name, o)
	if err != nil {
		return nil, fault(hubOf(resp), err)
	}
	for _, p := range list {
		if p.GetState() != "closed" {
			return nil, errOdd
		}
		e := Ended{Pull: hubPull(p), Merged: p.MergedAt != nil, At: p.GetClosedAt().Time}
		if e.Merged {
			e.At = p.GetMergedAt().Time
		}
		out = append(out, e)
	}
	return out, nil
}

func (h *hub) Merges(ctx context.Context, number int) (string, error) {
	p, resp, err := h.c.PullRequests.Get(ctx, h.owner, h.name, number)
	if err != nil {
		return "", fault(hubOf(resp), err)
	}
	switch {
	case p.Mergeable == nil:
		return "", nil
	case *p.Mergeable:
		return "yes", nil
	}
	return "no", nil
}

// Checks are commit statuses and check runs together.
func (h *hub) Checks(ctx context.Context, _ int, commit string) (Checks, error) {
	o := github.ListOptions{PerPage: 2 * perPage}
	s, resp, err := h.c.Repositories.GetCombinedStatus(ctx, h.owner, h.name, commit, &o)
	if err != nil {
		return Checks{}, fault(hubOf(resp), err)
	}
	out := Checks{Whole: s.GetTotalCount() <= len(s.Statuses)}
	for _, x := range s.Statuses {
		out.Checks = append(out.Checks, status(x.GetContext(), x.GetState(), x.GetCreatedAt().Time, x.GetUpdatedAt().Time))
	}
	runs, resp, err := h.c.Checks.ListCheckRunsForRef(ctx, h.owner, h.name, commit, &github.ListCheckRunsOptions{ListOptions: o})
	if IsMissing(fault(hubOf(resp), err)) {
		return out, nil // an older Enterprise Server
	}
	if err != nil {
		return Checks{}, fault(hubOf(resp), err)
	}
	out.Whole = out.Whole && runs.GetTotal() <= len(runs.CheckRuns)
	for _, r := range runs.CheckRuns {
		out.Checks = append(out.Checks, checkRun(r))
	}
	return out, nil
}

func checkRun(r *github.CheckRun) Check {
	c := Check{Context: r.GetName(), State: "pending", Began: r.GetStartedAt().Time}
	if r.GetStatus() != "completed" {
		return c
	}
	c.Ended = r.GetCompletedAt().Time
	switch r.GetConclusion() {
	case "success", "neutral", "skipped":
		c.State = "success"
	default: // failure, cancelled, timed_out, action_required, stale, startup_failure
		c.State = "failure"
	}
	return c
}

func (h *hub) Reviews(ctx context.Context, number int) (out []Review, err error) {
	err = all(func(page int) (sheet, error) {
		list, resp, err := h.c.PullRequests.ListReviews(ctx, h.owner, h.name, number, &github.ListOptions{Page: page, PerPage: 2 * perPage})
		if err != nil {
			return sheet{}, fault(hubOf(resp), err)
		}
		for _, r := range list {
			out = append(out, Review{Author: r.GetUser().GetLogin(), State: hubReview(r.GetState()), At: r.GetSubmittedAt().Time})
		}
		return hubSheet(resp, len(list)), nil
	})
	return out, err
}

func hubReview(state string) string {
	switch strings.ToUpper(state) {
	case "APPROVED":
		return "approved"
	case "CHANGES_REQUESTED":
		return "changes requested"
	case "DISMISSED", "PENDING":
		return "dismissed"
	}
	return "commented"
}

func (h *hub) Committed(ctx context.Context, commit string) (time.Time, error) {
	c, resp, err := h.c.Git.GetCommit(ctx, h.owner, h.name, commit)
	if err != nil {
		return time.Time{}, fault(hubOf(resp), err)
	}
	return c.GetCommitter().GetDate().Time, nil
}

func (h *hub) Primary(ctx context.Context) (string, error) {
	r, resp, err := h.c.Repositories.Get(ctx, h.owner, h.name)
	if err != nil {
		return "", fault(hubOf(resp), err)
	}
	return r.GetDefaultBranch(), nil
}

// Required joins what the protection of a branch requires, and its rulesets.
func (h *hub) Required(ctx context.Context, branch string) (out []string, err error) {
	req, err := h.c.NewRequest(http.MethodGet, h.path("branches/"+url.PathEscape(branch)), nil)
	if err != nil {
		return nil, err
	}
	var b github.Branch
	if resp, err := h.c.Do(ctx, req, &b); err != nil {
		return nil, fault(hubOf(resp), err)
	}
	if s := b.GetProtection().GetRequiredStatusChecks(); s != nil && s.Contexts != nil {
		out = append(out, *s.Contexts...)
	}
	rules, resp, err := h.c.Repositories.GetRulesForBranch(ctx, h.owner, h.name, branch, nil)
	if IsMissing(fault(hubOf(resp), err)) {
		return out, nil // an older Enterprise Server
	}
	if err != nil {
		return nil, fault(hubOf(resp), err)
	}
	for _, r := range rules.RequiredStatusChecks {
		for _, c := range r.Parameters.RequiredStatusChecks {
			out = append(out, c.Context)
		}
	}
	return out, nil
}

func (h *hub) Me(ctx context.Context) (string, error) {
	u, resp, err := h.c.Users.Get(ctx, "")
	if err != nil {
		return "", fault(hubOf(resp), err)
	}
	return u.GetLogin(), nil
}

func (i *hubIssue) plain() (Issue, error) {
	out := Issue{Repo: repoOf(i.GetRepositoryURL()), Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), URL: i.GetHTMLURL(),
		Author: i.GetUser().GetLogin(), Labels: hubLabels(i.Labels), IsPull: i.IsPullRequest(),
		Created: i.GetCreatedAt().Time, Updated: i.GetUpdatedAt().Time, Closed: i.GetClosedAt().Time, Native: -1}
	for _, u := range i.Assignees {
		out.Assignees = append(out.Assignees, u.GetLogin())
	}
	if i.Dependencies != nil {
		out.Native = min(i.Dependencies.BlockedBy, 1)
	}
	return out.Checked(i.GetState())
}

// repoOf takes OWNER/NAME out of an address like https://api.github.com/repos/acme/shop.
func repoOf(address string) string {
	_, repo, _ := strings.Cut(address, "/repos/")
	return repo
}

func hubPull(p *github.PullRequest) Pull {
	return Pull{Number: p.GetNumber(), Title: p.GetTitle(), Body: p.GetBody(), URL: p.GetHTMLURL(), Author: p.GetUser().GetLogin(),
		Labels: hubLabels(p.Labels), Base: p.GetBase().GetRef(), Branch: p.GetHead().GetRef(), Head: p.GetHead().GetSHA(), Draft: p.GetDraft(),
		Fork:      p.GetHead().GetRepo().GetFullName() == "" || p.GetHead().GetRepo().GetFullName() != p.GetBase().GetRepo().GetFullName(),
		Requested: len(p.RequestedReviewers)+len(p.RequestedTeams) > 0, Created: p.GetCreatedAt().Time, Updated: p.GetUpdatedAt().Time}
}

func hubLabels(list []*github.Label) (out []string) {
	for _, l := range list {
		out = append(out, l.GetName())
	}
	return out
}
