package forge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"code.gitea.io/sdk/gitea"
	"github.com/google/go-github/v84/github"
)

// Writer changes one repository. Each of its deeds may be asked for twice and is
// done once: what is there already is left as it is. Numbers are those of issues
// and of pull requests alike.
type Writer struct {
	look    Reader
	changer Changer
}

// NewWriter returns the writer of a repository.
func NewWriter(o Options) (*Writer, error) {
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	return &Writer{look: r, changer: r}, nil
}

// Issue looks at an issue at the instant of acting.
func (w *Writer) Issue(ctx context.Context, number int) (Issue, error) {
	return w.look.Issue(ctx, number)
}

var goodKey = regexp.MustCompile(`^[A-Za-z0-9._:/#!@-]{1,150}$`)

// Marker is what hides in a comment so that it is written once.
func Marker(key string) string { return "<!-- custos:" + key + " -->" }

// maxComment is in bytes; GitHub takes 65536 letters.
const maxComment = 32 << 10

// Comment says something under an issue, and says whether it did. key makes it
// idempotent: a comment of our own account with its marker is that comment.
func (w *Writer) Comment(ctx context.Context, number int, key, text string) (bool, error) {
	if len(text) > maxComment || strings.TrimSpace(text) == "" || strings.Contains(text, "<!-- custos:") {
		return false, errors.New("cannot comment: the text is empty, too long, or holds a marker of its own")
	}
	if there, err := w.Said(ctx, number, key); err != nil || there {
		return false, err
	}
	return true, wrap("comment on", number, w.changer.Say(ctx, number, text+"\n\n"+Marker(key)))
}

// Said says whether a comment of our own account carries the marker of a key:
// anybody may write one.
func (w *Writer) Said(ctx context.Context, number int, key string) (bool, error) {
	if !goodKey.MatchString(key) || strings.Contains(key, "--") {
		return false, fmt.Errorf("cannot comment: %q is no key", key)
	}
	me, err := w.look.Me(ctx)
	if err != nil {
		return false, wrap("find out who comments on", number, err)
	}
	list, err := w.changer.Comments(ctx, number)
	return slices.ContainsFunc(list, func(c Comment) bool {
		return strings.EqualFold(c.Author, me) && strings.Contains(c.Text, Marker(key))
	}), wrap("look for the comment on", number, err)
}

// Label puts a label on, or takes it off, and says whether it did. The repository
// must know it.
func (w *Writer) Label(ctx context.Context, number int, label string, on bool) (bool, error) {
	i, err := w.look.Issue(ctx, number)
	if err != nil {
		return false, wrap("look at the labels of", number, err)
	}
	at := slices.IndexFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, label) })
	if on == (at >= 0) {
		return false, nil
	}
	if at >= 0 {
		label = i.Labels[at]
	}
	return true, wrap("label", number, w.changer.SetLabel(ctx, number, label, on))
}

// Assign assigns an issue to a user, or takes it from them, and says whether it did.
func (w *Writer) Assign(ctx context.Context, number int, user string, on bool) (bool, error) {
	i, err := w.look.Issue(ctx, number)
	if err != nil {
		return false, wrap("look at the assignees of", number, err)
	}
	if on == slices.ContainsFunc(i.Assignees, func(a string) bool { return strings.EqualFold(a, user) }) {
		return false, nil
	}
	return true, wrap("assign", number, w.changer.SetAssignee(ctx, i, user, on))
}

func wrap(what string, number int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s #%d: %w", what, number, err)
}

// Comments asks once: Gitea gives all of them and knows no pages here
// (go-gitea/gitea, routers/api/v1/repo/issue_comment.go).
func (t *tea) Comments(ctx context.Context, number int) (out []Comment, err error) {
	c, err := t.api(ctx)
	if err != nil {
		return nil, err
	}
	list, resp, err := c.ListIssueComments(t.owner, t.name, int64(number), gitea.ListIssueCommentOptions{})
	if err != nil {
		return nil, fault(plainOf(resp), err)
	}
	for _, x := range list {
		out = append(out, Comment{teaUser(x.Poster), x.Body})
	}
	return out, nil
}

func (t *tea) Say(ctx context.Context, number int, text string) error {
	c, err := t.api(ctx)
	if err != nil {
		return err
	}
	_, resp, err := c.CreateIssueComment(t.owner, t.name, int64(number), gitea.CreateIssueCommentOption{Body: text})
	return fault(plainOf(resp), err)
}

func (t *tea) SetAssignee(ctx context.Context, i Issue, user string, on bool) error {
	c, err := t.api(ctx)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(i.Assignees), func(a string) bool { return strings.EqualFold(a, user) })
	if on {
		list = append(list, user)
	}
	if list == nil {
		list = []string{}
	}
	_, resp, err := c.EditIssue(t.owner, t.name, int64(i.Number), gitea.EditIssueOption{Assignees: list})
	return fault(plainOf(resp), err)
}

func (h *hub) Comments(ctx context.Context, number int) (out []Comment, err error) {
	err = all(func(page int) (sheet, error) {
		o := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{Page: page, PerPage: 2 * perPage}}
		list, resp, err := h.c.Issues.ListComments(ctx, h.owner, h.name, number, o)
		if err != nil {
			return sheet{}, fault(hubOf(resp), err)
		}
		for _, x := range list {
			out = append(out, Comment{x.GetUser().GetLogin(), x.GetBody()})
		}
		return hubSheet(resp, len(list)), nil
	})
	return out, err
}

func (h *hub) Say(ctx context.Context, number int, text string) error {
	_, resp, err := h.c.Issues.CreateComment(ctx, h.owner, h.name, number, &github.IssueComment{Body: &text})
	return fault(hubOf(resp), err)
}

// SetLabel asks first whether there is such a label: GitHub makes one that there is not.
func (h *hub) SetLabel(ctx context.Context, number int, label string, on bool) error {
	if !on {
		resp, err := h.c.Issues.RemoveLabelForIssue(ctx, h.owner, h.name, number, label)
		return fault(hubOf(resp), err)
	}
	if _, resp, err := h.c.Issues.GetLabel(ctx, h.owner, h.name, label); err != nil {
		if err = fault(hubOf(resp), err); IsMissing(err) {
			return fmt.Errorf("%s/%s has no label %q", h.owner, h.name, label)
		}
		return err
	}
	_, resp, err := h.c.Issues.AddLabelsToIssue(ctx, h.owner, h.name, number, []string{label})
	return fault(hubOf(resp), err)
}

// SetAssignee holds the answer against what was asked: whom GitHub may not assign it leaves
// out without a word.
func (h *hub) SetAssignee(ctx context.Context, i Issue, user string, on bool) error {
	change := h.c.Issues.RemoveAssignees
	if on {
		change = h.c.Issues.AddAssignees
	}
	now, resp, err := change(ctx, h.owner, h.name, i.Number, []string{user})
	if err != nil {
		return fault(hubOf(resp), err)
	}
	if on != slices.ContainsFunc(now.Assignees, func(a *github.User) bool { return strings.EqualFold(a.GetLogin(), user) }) {
		return fmt.Errorf("the forge left out %q: they may not be assigned there", user)
	}
	return nil
}
