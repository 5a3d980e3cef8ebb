// Package gitlab speaks the REST API of GitLab, version 4. GitLab's own client for Go would make
// Custos 4.5 MB larger (v1.46.0), so these few calls are asked by plain HTTP. What they answer is
// said in GitLab's doc/api; package forgetest names the pages.
package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"custos/internal/sys/forge"
	"custos/internal/sys/httpjson"
)

// Kind is the kind "gitlab".
func Kind() forge.Kind {
	return forge.Kind{Name: "gitlab", Title: "GitLab", Site: "https://gitlab.com", Scheme: "PRIVATE-TOKEN:", Lazy: true, Nested: true, Apart: true,
		At: func(site string) string { return site + "/api/v4" },
		Open: func(o forge.Options, owner, name string) (forge.Repository, error) {
			l := &lab{http: o.HTTP, whole: o.Repo, things: "issues"}
			l.project = o.Kind.API(o.URL) + "/projects/" + url.PathEscape(owner+"/"+name)
			l.root = o.Kind.API(o.URL)
			if o.Pulls {
				l.things = "merge_requests"
			}
			return l, nil
		}}
}

type lab struct {
	http          *http.Client
	root, project string // addresses: of the API, and of the project there
	whole         string // GROUP/NAME
	things        string // what the numbers of Issue, and of all that changes something, are of
}

// maxAnswer is in bytes.
const maxAnswer = 8 << 20

// ask asks for an address, and reads what is answered into out, which may be nil.
func (l *lab) ask(ctx context.Context, method, where string, in, out any) error {
	req, err := httpjson.Request(ctx, method, where, in)
	if err != nil {
		return err
	}
	_, err = l.send(req, out)
	return err
}

func (l *lab) send(req *http.Request, out any) (http.Header, error) {
	resp, body, err := httpjson.Ask(l.http, req, maxAnswer)
	switch {
	case resp != nil && resp.StatusCode/100 != 2:
		return nil, &forge.Error{Status: resp.StatusCode}
	case err != nil:
		return nil, err
	case out != nil && json.Unmarshal(body, out) != nil:
		return nil, errors.New("its answer is no JSON as it should be: is that a forge?")
	}
	return resp.Header, nil
}

func (l *lab) get(ctx context.Context, path string, out any) error {
	return l.ask(ctx, http.MethodGet, l.project+path, nil, out)
}

// thing is the path of an issue, or of a merge request where those are meant.
func (l *lab) thing(number int) string { return fmt.Sprintf("/%s/%d", l.things, number) }

func merge(number int) string { return fmt.Sprintf("/merge_requests/%d", number) }

var errOdd = errors.New("its answer is not what it should be")

// user is an account; nil: it is gone.
type user struct {
	ID       int
	Username string
}

func (u *user) name() string {
	if u == nil {
		return ""
	}
	return u.Username
}

func names(users []*user) (out []string) {
	for _, u := range users {
		if u != nil {
			out = append(out, u.Username)
		}
	}
	return out
}

// issue is what GitLab says of one, and of a merge request as well.
type issue struct {
	IID         int
	Title       string
	Description string // null where there is none
	State       string
	WebURL      string `json:"web_url"`
	Author      *user
	Labels      []string
	Assignees   []*user
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	ClosedAt    *time.Time `json:"closed_at"`
	MergedAt    *time.Time `json:"merged_at"`
	References  struct{ Full string }
	LinkType    string `json:"link_type"` // of one that another is linked to
}

func (i issue) number() int { return i.IID }

// states are GitLab's words. A merge request is locked while it is being merged.
var states = map[string]string{"opened": "open", "locked": "open", "closed": "closed", "merged": "closed"}

// words are an issue in the words that all forges share.
func (l *lab) words(i issue, isPull bool) (forge.Issue, error) {
	out := forge.Issue{Repo: l.whole, Number: i.IID, Title: i.Title, Body: i.Description, URL: i.WebURL, Author: i.Author.name(), Labels: i.Labels, Assignees: names(i.Assignees),
		IsPull: isPull, Created: i.CreatedAt, Updated: i.UpdatedAt, Closed: first(i.MergedAt, i.ClosedAt), Native: -1}
	if repo, _, ok := strings.Cut(i.References.Full, "#"); ok {
		out.Repo = repo
	}
	return out.Checked(states[i.State])
}

// first is the first time that is told.
func first(times ...*time.Time) time.Time {
	for _, t := range times {
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

func (l *lab) wordsOf(list []issue) (out []forge.Issue, err error) {
	for _, i := range list {
		one, err := l.words(i, false)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// newest has a list come with what was made last first.
func newest(state string) url.Values {
	return url.Values{"state": {state}, "scope": {"all"}, "order_by": {"created_at"}, "sort": {"desc"}}
}

// Issues lists issues that are open, or those closed that changed since. A GitLab before 18.3
// takes no notice of what is asked of the pages.
func (l *lab) Issues(ctx context.Context, closedSince time.Time) ([]forge.Issue, error) {
	q := newest("opened")
	if !closedSince.IsZero() {
		q = newest("closed")
		q.Set("updated_after", closedSince.UTC().Format(time.RFC3339))
	}
	q.Set("pagination", "keyset")
	all, err := list[issue](ctx, l, "/issues", q)
	if err != nil {
		return nil, err
	}
	return l.wordsOf(all)
}

// Issue is one issue, or one merge request where those are meant.
func (l *lab) Issue(ctx context.Context, number int) (forge.Issue, error) {
	i, err := l.one(ctx, number)
	if err != nil {
		return forge.Issue{}, err
	}
	return l.words(i, l.things != "issues")
}

func (l *lab) one(ctx context.Context, number int) (i issue, err error) {
	if err = l.get(ctx, l.thing(number), &i); err == nil && i.IID != number {
		err = errOdd
	}
	return i, err
}

// Blockers lists what an issue waits for. GitLab leaves out what the token may not see, without
// a word; and all of them where its licence has no such links.
func (l *lab) Blockers(ctx context.Context, number int) ([]forge.Issue, error) {
	var links, waits []issue
	if err := l.get(ctx, fmt.Sprintf("/issues/%d/links", number), &links); err != nil {
		return nil, err
	}
	for _, i := range links {
		switch i.LinkType {
		case "is_blocked_by":
			waits = append(waits, i)
		case "blocks", "relates_to":
		default:
			return nil, errOdd
		}
	}
	return l.wordsOf(waits)
}

// Committed is when a commit was made.
func (l *lab) Committed(ctx context.Context, sha string) (time.Time, error) {
	var c struct {
		At time.Time `json:"committed_date"`
	}
	err := l.get(ctx, "/repository/commits/"+url.PathEscape(sha), &c)
	return c.At, err
}

// Primary is the primary branch.
func (l *lab) Primary(ctx context.Context) (string, error) {
	var p struct {
		Branch string `json:"default_branch"`
	}
	err := l.get(ctx, "", &p)
	return p.Branch, err
}

// Required is nothing: GitLab asks for the pipeline as a whole, and never for one job of it.
func (l *lab) Required(context.Context, string) ([]string, error) { return nil, nil }

// Me is the account that the token is of.
func (l *lab) Me(ctx context.Context) (string, error) {
	var me user
	err := l.ask(ctx, http.MethodGet, l.root+"/user", nil, &me)
	return me.Username, err
}
