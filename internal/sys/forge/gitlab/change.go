package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"custos/internal/sys/forge"
)

// note is a comment, or what GitLab itself wrote down.
type note struct {
	ID     int
	Body   string
	System bool
	Author *user
}

func (n note) number() int { return n.ID }

// Comments lists all comments under an issue, oldest first: none slips when another is written.
func (l *lab) Comments(ctx context.Context, number int) (out []forge.Comment, err error) {
	all, err := list[note](ctx, l, l.thing(number)+"/notes", url.Values{"sort": {"asc"}, "order_by": {"created_at"}})
	for _, n := range all {
		if !n.System {
			out = append(out, forge.Comment{Author: n.Author.name(), Text: n.Body})
		}
	}
	return out, err
}

// Say comments.
func (l *lab) Say(ctx context.Context, number int, text string) error {
	return l.ask(ctx, http.MethodPost, l.project+l.thing(number)+"/notes", map[string]string{"body": plain(text)}, nil)
}

// plain is a text of which GitLab does nothing: a line that begins with a slash is a command
// to it ("/close").
func plain(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := strings.TrimLeft(line, " \t\r\v\f\u00a0")
		if strings.HasPrefix(rest, "/") {
			lines[i] = line[:len(line)-len(rest)] + `\` + rest
		}
	}
	return strings.Join(lines, "\n")
}

// put changes one thing of an issue, and returns what it is then.
func (l *lab) put(ctx context.Context, number int, what string, value any) (i issue, err error) {
	err = l.ask(ctx, http.MethodPut, l.project+l.thing(number), map[string]any{what: value}, &i)
	return i, err
}

// SetLabel asks first whether there is such a label, in the project or a group that it is in:
// GitLab makes one that there is not.
func (l *lab) SetLabel(ctx context.Context, number int, label string, on bool) error {
	if !on {
		_, err := l.put(ctx, number, "remove_labels", label)
		return err
	}
	var there struct{ Name string }
	err := l.get(ctx, "/labels/"+url.PathEscape(label), &there)
	if forge.IsMissing(err) || err == nil && there.Name != label { // a number is taken for one's ID
		return fmt.Errorf("%s has no label %q", l.whole, label)
	}
	if err == nil {
		_, err = l.put(ctx, number, "add_labels", label)
	}
	return err
}

// SetAssignee names accounts by their numbers, and holds the answer against what was asked:
// whom GitLab may not assign, or where one is assigned already and its licence knows but one, it leaves out
// without a word.
func (l *lab) SetAssignee(ctx context.Context, i forge.Issue, name string, on bool) error {
	now, err := l.one(ctx, i.Number)
	if err != nil {
		return err
	}
	ids := []int{}
	for _, u := range now.Assignees {
		if u != nil && !strings.EqualFold(u.Username, name) {
			ids = append(ids, u.ID)
		}
	}
	if on {
		id, err := l.account(ctx, name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		ids = []int{0} // nobody
	}
	then, err := l.put(ctx, i.Number, "assignee_ids", ids)
	if err == nil && on != slices.ContainsFunc(names(then.Assignees), func(a string) bool { return strings.EqualFold(a, name) }) {
		return fmt.Errorf("the forge left out %q: they may not be assigned there, or no second one may be", name)
	}
	return err
}

// account is the number of an account.
func (l *lab) account(ctx context.Context, name string) (int, error) {
	var found []user
	err := l.ask(ctx, http.MethodGet, l.root+"/users?username="+url.QueryEscape(name), nil, &found)
	for _, u := range found {
		if strings.EqualFold(u.Username, name) {
			return u.ID, err
		}
	}
	if err == nil {
		err = fmt.Errorf("the forge knows of no account %q", name)
	}
	return 0, err
}

// SetOpen opens an issue, or closes it.
func (l *lab) SetOpen(ctx context.Context, number int, on bool) error {
	event := "close"
	if on {
		event = "reopen"
	}
	_, err := l.put(ctx, number, "state_event", event)
	return err
}

// Merge merges at once; on a project with merge trains GitLab may put it on one instead, and says so by its state.
func (l *lab) Merge(ctx context.Context, number int, head string) (forge.Merged, error) {
	var m struct {
		State  string
		Merge  string `json:"merge_commit_sha"`
		Squash string `json:"squash_commit_sha"`
		SHA    string
	}
	err := l.ask(ctx, http.MethodPut, l.project+l.thing(number)+"/merge", map[string]any{"sha": head}, &m)
	if err != nil || m.State != "merged" {
		return forge.Merged{}, err
	}
	return forge.Merged{Commit: cmp.Or(m.Merge, m.Squash, m.SHA)}, nil // fast-forward: neither is told
}

// LeaveQueue takes a merge request off a merge train. What there is not to cancel GitLab answers with 201, or 406 within.
func (l *lab) LeaveQueue(ctx context.Context, number int) error {
	return l.ask(ctx, http.MethodPost, l.project+l.thing(number)+"/cancel_merge_when_pipeline_succeeds", nil, nil)
}
