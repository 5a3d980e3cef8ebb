package forge

import (
	"context"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-github/v84/github"
)

// Open opens an issue again, or closes it, and says whether it did.
func (w *Writer) Open(ctx context.Context, number int, on bool) (bool, error) {
	i, err := w.look.Issue(ctx, number)
	if err != nil {
		return false, wrap("look at", number, err)
	}
	if i.Open == on {
		return false, nil
	}
	return true, wrap("open or close", number, w.changer.SetOpen(ctx, number, on))
}

// Head is the newest commit of a pull request; "" while it is not open.
func (w *Writer) Head(ctx context.Context, number int) (string, error) {
	list, err := w.look.Pulls(ctx)
	for _, p := range list {
		if p.Number == number {
			return p.Head, wrap("look at the head of", number, err)
		}
	}
	return "", wrap("look at the head of", number, err)
}

// SetOpen leaves the assignees out: an absent list is kept, an empty one is none.
func (t *tea) SetOpen(ctx context.Context, number int, on bool) error {
	c, err := t.api(ctx)
	if err != nil {
		return err
	}
	state := gitea.StateClosed
	if on {
		state = gitea.StateOpen
	}
	_, resp, err := c.EditIssue(t.owner, t.name, int64(number), gitea.EditIssueOption{State: &state})
	return fault(plainOf(resp), err)
}

func (h *hub) SetOpen(ctx context.Context, number int, on bool) error {
	state := "closed"
	if on {
		state = "open"
	}
	_, resp, err := h.c.Issues.Edit(ctx, h.owner, h.name, number, &github.IssueRequest{State: &state})
	return fault(hubOf(resp), err)
}
