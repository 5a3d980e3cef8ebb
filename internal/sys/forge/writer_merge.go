package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-github/v84/github"

	"custos/internal/sys/httpjson"
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

// LeaveQueue takes a pull request out of the forge's own queue, where it is in that.
func (w *Writer) LeaveQueue(ctx context.Context, number int) error {
	return wrap("take out of the queue", number, w.changer.LeaveQueue(ctx, number))
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
	if err := t.merge(ctx, number, string(style), head); err != nil {
		return Merged{}, err
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

// merge asks without the SDK, which does not read why a server refuses.
func (t *tea) merge(ctx context.Context, number int, style, head string) error {
	where := fmt.Sprintf("%s/api/v1/repos/%s/%s/pulls/%d/merge", t.url, url.PathEscape(t.owner), url.PathEscape(t.name), number)
	req, err := httpjson.Request(ctx, http.MethodPost, where, map[string]string{"Do": style, "head_commit_id": head})
	if err != nil {
		return err
	}
	resp, body, err := httpjson.Ask(t.http, req, maxComment)
	if resp != nil && resp.StatusCode/100 != 2 {
		var said struct{ Message string }
		_ = json.Unmarshal(body, &said) // what is none says nothing
		return refusal(resp.StatusCode, said.Message)
	}
	return err
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
	return h.queued(ctx, number, "already in the", "mutation($input: EnqueuePullRequestInput!) { enqueuePullRequest(input: $input) { clientMutationId } }",
		func(id string) map[string]any { return map[string]any{"pullRequestId": id, "expectedHeadOid": head} })
}

// LeaveQueue implements Changer.
func (h *hub) LeaveQueue(ctx context.Context, number int) error {
	return h.queued(ctx, number, "not in the queue", "mutation($input: DequeuePullRequestInput!) { dequeuePullRequest(input: $input) { clientMutationId } }",
		func(id string) map[string]any { return map[string]any{"id": id} })
}

// queued asks for a change of the queue; a refusal that says so means that nothing is to be done.
func (h *hub) queued(ctx context.Context, number int, done, mutation string, input func(id string) map[string]any) error {
	p, resp, err := h.c.PullRequests.Get(ctx, h.owner, h.name, number)
	if err != nil {
		return fault(hubOf(resp), err)
	}
	req, err := h.c.NewRequest(http.MethodPost, h.graph(), map[string]any{"query": mutation, "variables": map[string]any{"input": input(p.GetNodeID())}})
	if err != nil {
		return err
	}
	var out struct{ Errors []struct{ Message string } }
	if resp, err = h.c.Do(ctx, req, &out); err != nil {
		return fault(hubOf(resp), err)
	}
	for _, e := range out.Errors {
		if !strings.Contains(e.Message, done) {
			return refusal(http.StatusMethodNotAllowed, e.Message)
		}
	}
	return nil
}

// LeaveQueue implements Changer: a Gitea has no queue of its own.
func (t *tea) LeaveQueue(context.Context, int) error { return nil }

// graph is where GraphQL is asked, from where REST is: beside /api/v3/ of an Enterprise Server.
func (h *hub) graph() string {
	if strings.HasSuffix(h.c.BaseURL.Path, "/api/v3/") {
		return "../graphql"
	}
	return "graphql"
}
