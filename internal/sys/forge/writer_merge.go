package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-github/v84/github"
)

// Merge merges a pull request while its head is the one that is named, or has it wait in the forge's own queue. It is never
// scheduled to be merged later otherwise: what a Gitea or GitHub has been told to merge once its checks pass it merges at whatever
// head there is then (go-gitea, services/automerge/automerge.go; GitHub keeps auto-merge on when somebody pushes who may).
func (w *Writer) Merge(ctx context.Context, number int, head string) (Merged, error) {
	if head == "" {
		return Merged{}, fmt.Errorf("cannot merge #%d: it is not said at which commit", number)
	}
	m, err := w.changer.Merge(ctx, number, head)
	return m, wrap("merge", number, err)
}

// longestRefusal is how much of what a forge says is passed on, in bytes.
const longestRefusal = 300

// refusal is why a forge does not merge, in its own words: they say what is wanting. Its status stays that of an error.
func refusal(status int, said string) error {
	said = strings.Join(strings.Fields(strings.ToValidUTF8(said, "")), " ")
	if len(said) > longestRefusal {
		said = strings.ToValidUTF8(said[:longestRefusal], "") + "…"
	}
	if said == "" {
		return &Error{Status: status}
	}
	return fmt.Errorf("the forge says %q: %w", said, &Error{Status: status})
}

// Merge merges in the repository's own style: a Gitea must be told one.
func (t *tea) Merge(ctx context.Context, number int, head string) (Merged, error) {
	c, err := t.api(ctx)
	if err != nil {
		return Merged{}, err
	}
	repo, resp, err := c.GetRepo(t.owner, t.name)
	if err != nil {
		return Merged{}, fault(plainOf(resp), err)
	}
	style := repo.DefaultMergeStyle
	if style == "" { // a Forgejo before 1.17 tells none
		style = gitea.MergeStyleMerge
	}
	_, resp, err = c.MergePullRequest(t.owner, t.name, int64(number), gitea.MergePullRequestOption{Style: style, HeadCommitId: head})
	if resp != nil && resp.StatusCode/100 != 2 {
		return Merged{}, teaRefusal(resp, err)
	}
	if err != nil {
		return Merged{}, fault(plainOf(resp), err)
	}
	p, resp, err := c.GetPullRequest(t.owner, t.name, int64(number))
	if err != nil {
		return Merged{}, fault(plainOf(resp), err)
	}
	if !p.HasMerged || p.MergedCommitID == nil {
		return Merged{}, errors.New("the forge says that it has merged it, and shows it unmerged")
	}
	return Merged{Commit: *p.MergedCommitID}, nil
}

// teaRefusal has the server's message, which the SDK gives as its error's text where it reads the answer.
func teaRefusal(resp *gitea.Response, err error) error {
	if err == nil {
		return &Error{Status: resp.StatusCode}
	}
	return refusal(resp.StatusCode, err.Error())
}

// Merge merges by the first of the methods that the repository allows; where its target has a merge queue, which GitHub says by
// refusing, it is put in that.
func (h *hub) Merge(ctx context.Context, number int, head string) (Merged, error) {
	repo, resp, err := h.c.Repositories.Get(ctx, h.owner, h.name)
	if err != nil {
		return Merged{}, fault(hubOf(resp), err)
	}
	m, resp, err := h.c.PullRequests.Merge(ctx, h.owner, h.name, number, "", &github.PullRequestOptions{SHA: head, MergeMethod: hubMethod(repo)})
	var no *github.ErrorResponse
	switch {
	case err == nil:
		return Merged{Commit: m.GetSHA()}, nil
	case !errors.As(err, &no):
		return Merged{}, fault(hubOf(resp), err)
	case no.Response.StatusCode == http.StatusMethodNotAllowed && strings.Contains(no.Message, "is in the merge queue"):
		return Merged{}, nil
	case no.Response.StatusCode == http.StatusMethodNotAllowed && strings.Contains(no.Message, "merge queue"):
		return Merged{}, h.enqueue(ctx, number, head)
	}
	return Merged{}, refusal(no.Response.StatusCode, no.Message)
}

// hubMethod is a method that a repository allows; what GitHub does not tell, to a token that may not know, is a merge.
func hubMethod(r *github.Repository) string {
	switch {
	case r.AllowMergeCommit == nil || r.GetAllowMergeCommit():
		return "merge"
	case r.GetAllowSquashMerge():
		return "squash"
	}
	return "rebase"
}

// enqueue puts a pull request into the merge queue of its target, which only GraphQL can.
func (h *hub) enqueue(ctx context.Context, number int, head string) error {
	p, resp, err := h.c.PullRequests.Get(ctx, h.owner, h.name, number)
	if err != nil {
		return fault(hubOf(resp), err)
	}
	const mutation = `mutation($input: EnqueuePullRequestInput!) { enqueuePullRequest(input: $input) { mergeQueueEntry { state } } }`
	ask := map[string]any{"query": mutation, "variables": map[string]any{"input": map[string]any{"pullRequestId": p.GetNodeID(), "expectedHeadOid": head}}}
	req, err := h.c.NewRequest(http.MethodPost, h.graph(), ask)
	if err != nil {
		return err
	}
	var out struct{ Errors []struct{ Message string } }
	if resp, err = h.c.Do(ctx, req, &out); err != nil {
		return fault(hubOf(resp), err)
	}
	for _, e := range out.Errors {
		if !strings.Contains(e.Message, "already in the queue") && !strings.Contains(e.Message, "already in the merge queue") {
			return refusal(http.StatusMethodNotAllowed, e.Message)
		}
	}
	return nil
}

// graph is where GraphQL is asked, from where REST is: beside /api/v3/ of an Enterprise Server.
func (h *hub) graph() string {
	if strings.HasSuffix(h.c.BaseURL.Path, "/api/v3/") {
		return "../graphql"
	}
	return "graphql"
}
