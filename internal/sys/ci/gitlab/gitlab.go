// Package gitlab speaks the API of GitLab CI: pipelines, their jobs with the reason why one failed,
// and runners. What it says is in GitLab's doc/api; package citest names the pages.
package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/sys/ci"
)

// Kind is the kind "gitlab-ci".
func Kind() ci.Kind {
	return ci.Kind{Name: "gitlab-ci", Site: "https://gitlab.com", Scheme: "PRIVATE-TOKEN:", Nested: true,
		At: func(site string) string { return site + "/api/v4" },
		Open: func(o ci.Options, c *ci.Client) ci.System {
			u, err := url.Parse(o.URL)
			return &lab{c: c, project: "/projects/" + url.PathEscape(o.Project), public: err == nil && strings.EqualFold(u.Host, "gitlab.com")}
		},
		Tried: "the fake", Can: "everything; a child pipeline is not looked into, and which failed makes its parent's failure unknown",
		Needs: "`read_api`, and of a maintainer for runners; running again and cancelling: `api`"}
}

type lab struct {
	c       *ci.Client
	project string // its path
	public  bool   // it is gitlab.com, whose own runners are nobody's here
}

// pipeline is what GitLab says of one, in a list as well as alone.
type pipeline struct {
	ID        int64
	Status    string
	Source    string
	Ref       string
	SHA       string
	Name      string
	WebURL    string    `json:"web_url"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// states are GitLab's words. What waits for its hour is as what waits for a person: nothing is
// stuck, and nobody is to end it.
var states = map[string]string{"created": ci.Pending, "waiting_for_resource": ci.Pending, "preparing": ci.Pending, "waiting_for_callback": ci.Pending, "pending": ci.Pending,
	"running": ci.Running, "canceling": ci.Running, "success": ci.Success, "failed": ci.Failure, "canceled": ci.Cancelled, "skipped": ci.Cancelled, "manual": ci.Blocked, "scheduled": ci.Blocked}

// events are its words for what began a pipeline, where others have another.
var events = map[string]string{"merge_request_event": "pull_request", "external_pull_request_event": "pull_request"}

var reRequest = regexp.MustCompile(`^refs/merge-requests/(\d{1,9})/`)

// words are a pipeline in the words that all systems share. People call it by its ID, which is in
// its address. What failed in it is begun again in the same pipeline, whose beginning stays what it
// was: it has been in its state since it was last changed, and its end is the last change.
func words(p pipeline) ci.Pipeline {
	out := ci.Pipeline{ID: p.ID, Number: p.ID, Title: p.Name, Event: p.Source, Branch: p.Ref, Head: p.SHA, URL: p.WebURL, State: states[p.Status], Said: p.Status, Created: p.CreatedAt}
	if event := events[p.Source]; event != "" {
		out.Event = event
	}
	if m := reRequest.FindStringSubmatch(p.Ref); m != nil {
		out.Pull, _ = strconv.Atoi(m[1]) // at most nine digits
		out.Branch = ""                  // its own one is not told
	}
	switch {
	case !out.Open():
		out.Ended = p.UpdatedAt
	case out.State == ci.Running:
		out.Started = p.UpdatedAt
	case p.UpdatedAt.After(p.CreatedAt):
		out.Created = p.UpdatedAt
	}
	return out
}

// Primary is the primary branch.
func (l *lab) Primary(ctx context.Context) (string, error) {
	var p struct {
		Branch string `json:"default_branch"`
	}
	err := l.c.Get(ctx, l.project, &p)
	return p.Branch, err
}

const perPage = 50

// Page is one page of pipelines.
func (l *lab) Page(ctx context.Context, n int) (out []ci.Pipeline, more bool, err error) {
	var page []pipeline
	if err := l.c.Get(ctx, fmt.Sprintf("%s/pipelines?page=%d&per_page=%d", l.project, n, perPage), &page); err != nil {
		return nil, false, err
	}
	for _, p := range page[:min(len(page), perPage)] { // not more than was asked for
		out = append(out, words(p))
	}
	return out, len(page) >= perPage, nil
}

func (l *lab) at(id int64) string { return fmt.Sprintf("%s/pipelines/%d", l.project, id) }

// One is one pipeline.
func (l *lab) One(ctx context.Context, id int64) (ci.Pipeline, error) {
	var p pipeline
	err := l.c.Get(ctx, l.at(id), &p)
	if err == nil && p.ID != id {
		err = errors.New("it answered with another pipeline")
	}
	return words(p), err
}

// job is one job; a bridge is one that began another pipeline.
type job struct {
	ID      int64
	Name    string
	Status  string
	Allowed bool   `json:"allow_failure"`
	Reason  string `json:"failure_reason"`
}

// Limits of a list that is a pipeline's or a project's, and of logs that are read.
const (
	mostPages = 5
	pageSize  = 100
	mostSteps = 10
)

// list reads page after page of a list, until one is not full.
func list[T any](ctx context.Context, l *lab, path string) (out []T, err error) {
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	for n := 1; n <= mostPages; n++ {
		var page []T
		if err := l.c.Get(ctx, fmt.Sprintf("%s%sper_page=%d&page=%d", path, join, pageSize, n), &page); err != nil {
			return nil, err
		}
		if out = append(out, page...); len(page) < pageSize {
			break
		}
	}
	return out, nil
}

// Failed lists the failed jobs, and what failed without one: the configuration, and
// pipelines that it began.
func (l *lab) Failed(ctx context.Context, p ci.Pipeline) (out []ci.Step, err error) {
	jobs, err := list[job](ctx, l, l.at(p.ID)+"/jobs?scope[]=failed")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.ID, b.ID) })
	for _, j := range jobs {
		if !j.Allowed && len(out) < mostSteps {
			out = append(out, l.step(ctx, j))
		}
	}
	children, err := list[job](ctx, l, l.at(p.ID)+"/bridges?scope[]=failed")
	if err != nil && !errors.Is(err, ci.ErrGone) {
		return nil, err
	}
	for _, j := range children {
		if !j.Allowed && states[j.Status] == ci.Failure && len(out) < mostSteps {
			out = append(out, ci.Step{Name: clip(j.Name), Error: clip(j.Reason), Exit: -1, Unread: "it failed in another pipeline"})
		}
	}
	if len(out) > 0 {
		return out, ctx.Err()
	}
	return l.configuration(ctx, p)
}

// configuration is what is wrong with it; none: nothing is.
func (l *lab) configuration(ctx context.Context, p ci.Pipeline) ([]ci.Step, error) {
	var whole struct {
		Errors string `json:"yaml_errors"`
	}
	if err := l.c.Get(ctx, l.at(p.ID), &whole); err != nil || whole.Errors == "" {
		return nil, err
	}
	return []ci.Step{{Name: "configuration", Error: clip(whole.Errors), Exit: -1}}, nil
}

// reExit is how a runner ends a log, whatever it runs jobs in.
var reExit = regexp.MustCompile(`Job failed\b.{0,80}\bexit (?:code|status) (\d{1,3})\b`)

// step is a failed job. An empty log is none: GitLab answers so where one was erased, too.
func (l *lab) step(ctx context.Context, j job) ci.Step {
	out := ci.Step{Name: clip(j.Name), Error: clip(j.Reason), Exit: -1}
	var err error
	if out.Log, err = l.c.Text(ctx, fmt.Sprintf("%s/jobs/%d/trace", l.project, j.ID)); err == nil && out.Log == "" {
		err = ci.ErrGone
	}
	if err != nil {
		out.Unread = err.Error()
	}
	if all := reExit.FindAllStringSubmatch(out.Log, -1); len(all) > 0 {
		out.Exit, _ = strconv.Atoi(all[len(all)-1][1]) // at most three digits
	}
	return out
}

// clip cuts what a server writes where a few words belong.
func clip(s string) string { return s[:min(len(s), 4<<10)] }

// Workers lists the runners that the project may use, but for GitLab's own on gitlab.com. One is
// called by its description; those that are called alike are one.
func (l *lab) Workers(ctx context.Context) (out []ci.Worker, err error) {
	all, err := list[struct {
		ID             int64
		Description    string
		Status         string
		Online, Paused bool
		Shared         bool `json:"is_shared"`
	}](ctx, l, l.project+"/runners")
	named := map[string]ci.Worker{}
	for _, r := range all {
		if r.Shared && l.public {
			continue
		}
		name := cmp.Or(r.Description, fmt.Sprintf("runner-%d", r.ID))
		w, there := named[name]
		named[name] = ci.Worker{Name: name, Online: w.Online || r.Online || r.Status == "online", Paused: r.Paused && (w.Paused || !there)}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out = append(out, named[name])
	}
	return out, err
}

// Again begins again what failed in a pipeline, or was cancelled.
func (l *lab) Again(ctx context.Context, p ci.Pipeline) error {
	return l.c.Send(ctx, http.MethodPost, l.at(p.ID)+"/retry")
}

// Cancel asks for the end of a pipeline. GitLab is content with one that is over already.
func (l *lab) Cancel(ctx context.Context, p ci.Pipeline) error {
	now, err := l.One(ctx, p.ID)
	if err != nil {
		return err
	}
	if !now.Open() {
		return fmt.Errorf("it is over already: %s", now.State)
	}
	return l.c.Send(ctx, http.MethodPost, l.at(p.ID)+"/cancel")
}
