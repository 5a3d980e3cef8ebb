package ci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// woodpecker speaks the API of Woodpecker 2 and 3: six calls and the look-up of
// the project's number. The fields are those of woodpecker-ci/woodpecker 2.x and 3.x:
// server/model/{pipeline,workflow,step,log,agent}.go, pipeline/errors/types/errors.go.
type woodpecker struct {
	c       *Client
	site    string
	project string

	mu   sync.Mutex
	repo int64 // the project's number; 0: not asked for
}

// Woodpecker is the kind "woodpecker".
func Woodpecker() Kind {
	return Kind{Name: "woodpecker", Scheme: "Bearer", Anew: true, Tells: true,
		At: func(site string) string { return site + "/api" },
		Open: func(o Options, c *Client) System {
			return &woodpecker{c: c, site: strings.TrimSuffix(o.URL, "/"), project: o.Project}
		},
		Tried: "the fake, of 2.x and 3.x", Can: "everything", Needs: "a user that may push; workers: an admin"}
}

// wpPipeline is what the API says of a pipeline. Times are seconds; 0: not yet.
// Parent is not 0 when it repeats another: that one's ID until 2.4, its number from 2.5
// on (server/pipeline/restart.go), so that it says no more than this. A deployment has
// One too, and repeats nothing.
type wpPipeline struct {
	Number, Parent             int64
	Event, Status              string
	Created, Started, Finished int64
	Commit, Branch, Ref        string
	Refspec, Title, Message    string
	Sender                     string
	Errors                     []wpError
	Workflows                  []wpWorkflow
}

// wpError is what Woodpecker has to say of the configuration.
type wpError struct {
	Message string
	Warning bool `json:"is_warning"`
}

type wpWorkflow struct {
	Name, State, Error string
	Children           []wpStep
}

type wpStep struct {
	ID                 int64
	Name, State, Error string
	ExitCode           int `json:"exit_code"`
	Type               string
}

// wpStates are Woodpecker's words.
var wpStates = map[string]string{
	"created": Pending, "pending": Pending, "running": Running, "success": Success, "failure": Failure, "error": Failure,
	"killed": Cancelled, "canceled": Cancelled, "cancelled": Cancelled, "declined": Cancelled, "skipped": Cancelled, "blocked": Blocked,
}

func (w *woodpecker) Primary(ctx context.Context) (string, error) {
	var repo struct {
		ID            int64
		DefaultBranch string `json:"default_branch"`
	}
	owner, name, _ := strings.Cut(w.project, "/")
	if err := w.c.Get(ctx, "/repos/lookup/"+url.PathEscape(owner)+"/"+url.PathEscape(name), &repo); err != nil {
		return "", err
	}
	if repo.ID <= 0 {
		return "", errors.New("it does not tell the number of the project")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.repo = repo.ID
	return repo.DefaultBranch, nil
}

// at is the path of something of the project. The number of a project changes
// when it is taken out of Woodpecker and put in again: it is asked for anew when
// it is not found.
func (w *woodpecker) at(ctx context.Context, call func(path string) error) error {
	w.mu.Lock()
	repo := w.repo
	w.mu.Unlock()
	var gone error
	if repo > 0 {
		if gone = call("/repos/" + strconv.FormatInt(repo, 10)); !errors.Is(gone, ErrGone) {
			return gone
		}
	}
	if _, err := w.Primary(ctx); err != nil {
		return fmt.Errorf("cannot ask for the project: %w", err)
	}
	w.mu.Lock()
	now := w.repo
	w.mu.Unlock()
	if now == repo {
		return gone
	}
	return call("/repos/" + strconv.FormatInt(now, 10))
}

const wpPage = 50

func (w *woodpecker) Page(ctx context.Context, n int) ([]Pipeline, bool, error) {
	var page []wpPipeline
	err := w.at(ctx, func(path string) error {
		page = nil
		return w.c.Get(ctx, fmt.Sprintf("%s/pipelines?page=%d&perPage=%d", path, n, wpPage), &page)
	})
	out := make([]Pipeline, 0, len(page))
	for _, p := range page[:min(len(page), wpPage)] { // not more than was asked for
		out = append(out, w.words(p))
	}
	return out, len(page) >= wpPage, err
}

func (w *woodpecker) One(ctx context.Context, id int64) (Pipeline, error) {
	p, err := w.whole(ctx, id)
	return w.words(p), err
}

func (w *woodpecker) whole(ctx context.Context, number int64) (p wpPipeline, err error) {
	err = w.at(ctx, func(path string) error { return w.c.Get(ctx, fmt.Sprintf("%s/pipelines/%d", path, number), &p) })
	if err == nil && p.Number != number {
		err = errors.New("it answered with another pipeline")
	}
	return p, err
}

var pullRef = regexp.MustCompile(`^refs/(?:pull|merge-requests|pull-requests)/(\d{1,9})/`)

// words turns a pipeline into ours. The branch of a pull request is Woodpecker's
// name for the one it is to be merged into; its own is in the refspec.
func (w *woodpecker) words(p wpPipeline) Pipeline {
	out := Pipeline{ID: p.Number, Number: p.Number, Event: p.Event, Branch: p.Branch, Head: p.Commit, State: wpStates[p.Status], Said: p.Status,
		Created: seconds(p.Created), Started: seconds(p.Started), Ended: seconds(p.Finished), Title: p.Title, Attempt: 1, Repeats: p.Parent > 0 && p.Event != "deployment"}
	if m := pullRef.FindStringSubmatch(p.Ref); m != nil {
		out.Pull, _ = strconv.Atoi(m[1]) // at most nine digits
		if own, _, ok := strings.Cut(p.Refspec, ":"); ok && own != "" {
			out.Branch = own
		}
	}
	if out.Title == "" {
		out.Title, _, _ = strings.Cut(p.Message, "\n")
	}
	if p.Event == "cron" {
		out.Workflow = p.Sender // the name of the cron job
	}
	if out.Repeats {
		out.Attempt = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out.URL = fmt.Sprintf("%s/repos/%d/pipeline/%d", w.site, w.repo, p.Number)
	return out
}

func seconds(n int64) time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// Failed lists the failed steps, and each workflow that failed without one, as
// when its worker was lost.
func (w *woodpecker) Failed(ctx context.Context, p Pipeline) (out []Step, err error) {
	whole, err := w.whole(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, e := range whole.Errors {
		if e.Warning {
			continue
		}
		out = append(out, Step{Name: "configuration", Error: clip(e.Message), Exit: -1})
	}
	for _, f := range whole.Workflows {
		before := len(out)
		for _, s := range f.Children {
			if wpStates[s.State] == Failure && len(out) < mostSteps {
				out = append(out, w.step(ctx, p, f, s))
			}
		}
		if len(out) == before && wpStates[f.State] == Failure {
			out = append(out, Step{Name: clip(f.Name), Error: clip(f.Error), Exit: -1})
		}
	}
	return out[:min(len(out), mostSteps)], ctx.Err()
}

func (w *woodpecker) step(ctx context.Context, p Pipeline, f wpWorkflow, s wpStep) Step {
	out := Step{Name: clip(f.Name) + "/" + clip(s.Name), Error: strings.TrimSpace(clip(s.Error) + " " + clip(f.Error)), Exit: s.ExitCode}
	if s.Type == "clone" {
		out.Name = clip(f.Name) + "/clone"
	}
	var lines []struct{ Data []byte }
	err := w.at(ctx, func(path string) error { return w.c.Get(ctx, fmt.Sprintf("%s/logs/%d/%d", path, p.ID, s.ID), &lines) })
	if err != nil {
		out.Unread = err.Error()
		return out
	}
	size, from := 0, len(lines)
	for from > 0 && size < tailBytes {
		from--
		size += len(lines[from].Data) + 1
	}
	var b strings.Builder
	for _, l := range lines[from:] {
		b.Write(l.Data)
		b.WriteByte('\n')
	}
	text := b.String()
	out.Log = text[max(0, len(text)-tailBytes):]
	return out
}

func (w *woodpecker) Workers(ctx context.Context) (out []Worker, err error) {
	for n := 1; n <= pages; n++ {
		var page []struct {
			ID          int64
			Name        string
			LastContact int64 `json:"last_contact"`
			NoSchedule  bool  `json:"no_schedule"`
		}
		if err := w.c.Get(ctx, fmt.Sprintf("/agents?page=%d&perPage=%d", n, wpPage), &page); err != nil {
			return nil, err
		}
		for _, a := range page[:min(len(page), wpPage)] {
			if a.Name == "" {
				a.Name = "agent-" + strconv.FormatInt(a.ID, 10)
			}
			out = append(out, Worker{Name: a.Name, Contact: seconds(a.LastContact), Online: true, Paused: a.NoSchedule})
		}
		if len(page) < wpPage {
			break
		}
	}
	return distinct(out), nil
}

// distinct keeps the first of workers with the same name, the one that spoke last.
func distinct(all []Worker) []Worker {
	slices.SortStableFunc(all, func(a, b Worker) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return b.Contact.Compare(a.Contact)
	})
	return slices.CompactFunc(all, func(a, b Worker) bool { return a.Name == b.Name })
}

func (w *woodpecker) Again(ctx context.Context, p Pipeline) error {
	return w.at(ctx, func(path string) error {
		return w.c.Send(ctx, http.MethodPost, fmt.Sprintf("%s/pipelines/%d", path, p.ID))
	})
}

func (w *woodpecker) Cancel(ctx context.Context, p Pipeline) error {
	return w.at(ctx, func(path string) error {
		return w.c.Send(ctx, http.MethodPost, fmt.Sprintf("%s/pipelines/%d/cancel", path, p.ID))
	})
}
