package forge

import (
	"context"
	"fmt"
	"strings"

	"code.gitea.io/sdk/gitea"
)

// SetLabel names a label by its number: older Giteas take names for nothing, without a word.
func (t *tea) SetLabel(ctx context.Context, number int, label string, on bool) error {
	c, err := t.api(ctx)
	if err != nil {
		return err
	}
	if !on {
		return t.unlabel(c, number, label)
	}
	id, err := t.labelID(c, label)
	if err != nil {
		return err
	}
	_, resp, err := c.AddIssueLabels(t.owner, t.name, int64(number), gitea.IssueLabelsOption{Labels: []int64{id}})
	return fault(plainOf(resp), err)
}

// unlabel takes the number from the issue itself, whatever the label belongs to.
func (t *tea) unlabel(c *gitea.Client, number int, label string) error {
	i, resp, err := c.GetIssue(t.owner, t.name, int64(number))
	if err != nil {
		return fault(plainOf(resp), err)
	}
	for _, l := range i.Labels {
		if strings.EqualFold(l.Name, label) {
			resp, err := c.DeleteIssueLabel(t.owner, t.name, int64(number), l.ID)
			return fault(plainOf(resp), err)
		}
	}
	return nil
}

// labelID looks a label up: in the repository, and in the organization that it belongs
// to, whose labels its own list does not have (routers/api/v1/{repo,org}/label.go).
func (t *tea) labelID(c *gitea.Client, label string) (int64, error) {
	id, err := labelIn(label, func(o gitea.ListOptions) ([]*gitea.Label, *gitea.Response, error) {
		return c.ListRepoLabels(t.owner, t.name, gitea.ListLabelsOptions{ListOptions: o})
	})
	if err != nil || id > 0 {
		return id, err
	}
	id, err = labelIn(label, func(o gitea.ListOptions) ([]*gitea.Label, *gitea.Response, error) {
		return c.ListOrgLabels(t.owner, gitea.ListOrgLabelsOptions{ListOptions: o})
	})
	if err != nil && !IsMissing(err) { // 404: the owner is a person
		return 0, err
	}
	if id == 0 {
		return 0, fmt.Errorf("%s/%s has no label %q", t.owner, t.name, label)
	}
	return id, nil
}

// labelIn finds the number of a label in a list; 0: it is not there.
func labelIn(label string, list func(gitea.ListOptions) ([]*gitea.Label, *gitea.Response, error)) (id int64, err error) {
	err = all(func(page int) (sheet, error) {
		labels, resp, err := list(gitea.ListOptions{Page: page, PageSize: perPage})
		if err != nil {
			return sheet{}, fault(plainOf(resp), err)
		}
		for _, l := range labels {
			if strings.EqualFold(l.Name, label) {
				id = l.ID
				return sheet{}, nil
			}
		}
		return teaSheet(resp, len(labels)), nil
	})
	return id, err
}
