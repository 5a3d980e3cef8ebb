package ci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// actions speaks the Actions API of GitHub, and what Gitea and Forgejo made of it.
type actions struct {
	c       *Client
	words   dialectWords
	project string

	mu    sync.Mutex
	begun map[attempt]time.Time // when attempts began, of servers that do not say so of a run
}

type attempt struct {
	run    int64
	number int
	state  string
}

// dialectWords are in what the three differ.
type dialectWords struct {
	size    string // the parameter for the size of a page; it counts only beside "page"
	page    int    // forgejo puts the whole repository into each run: a page is smaller there
	again   string // the call that runs a run again
	waiting string // what the state "waiting" means
	byID    bool   // its numbers are only unique in a workflow: runs go by their ID
	starts  bool   // of a run that runs it tells when its attempt was asked for, not when its first job began
}

// ForgejoActions is the kind "forgejo-actions".
func ForgejoActions() Kind {
	return Kind{Name: "forgejo-actions", Scheme: "token", At: teaAPI,
		Open:  speaks(dialectWords{size: "limit", page: 30, again: "rerun", waiting: Pending}),
		Tried: "the fake", Needs: "`repository` read and write",
		Can: "looking (15 can, 9 cannot), telling infra failures apart from 16, cancelling since about then; for running again it has no call that we know of: `rerun` is tried"}
}

// GiteaActions is the kind "gitea-actions".
func GiteaActions() Kind {
	return Kind{Name: "gitea-actions", Scheme: "token", At: teaAPI,
		Open:  speaks(dialectWords{size: "limit", page: 50, again: "rerun-failed-jobs", waiting: Blocked}),
		Tried: "the fake", Can: "looking from 1.25, running again from 1.26, cancelling from 1.28", Needs: "`repository` read and write"}
}

// GitHubActions is the kind "github-actions".
func GitHubActions() Kind {
	return Kind{Name: "github-actions", Site: "https://github.com", Scheme: "Bearer", At: hubAPI,
		Open:  speaks(dialectWords{size: "per_page", page: 50, again: "rerun-failed-jobs", waiting: Blocked, byID: true, starts: true}),
		Tried: "the fake", Can: "everything; only runners of the project are listed, not the organisation's or GitHub's own",
		Needs: "`actions` read and write; runners: `administration` read"}
}

func teaAPI(site string) string { return site + "/api/v1" }

func hubAPI(site string) string {
	_, host, _ := strings.Cut(site, "://")
	switch strings.ToLower(host) {
	case "github.com":
		return "https://api.github.com"
	case "api.github.com":
		return site
	}
	return site + "/api/v3"
}

func speaks(w dialectWords) func(Options, *Client) System {
	return func(o Options, c *Client) System {
		return &actions{c: c, words: w, project: o.Project, begun: map[attempt]time.Time{}}
	}
}

// acRun is a run in the words of all three.
type acRun struct {
	ID           int64
	Name         string // GitHub: of the workflow
	DisplayTitle string `json:"display_title"`
	Title        string // Forgejo
	Path         string
	WorkflowID   json.RawMessage `json:"workflow_id"` // Forgejo: its file; GitHub: a number
	RunNumber    int64           `json:"run_number"`
	Index        int64           `json:"index_in_repo"` // Forgejo
	RunAttempt   int             `json:"run_attempt"`
	Event        string
	HeadBranch   string `json:"head_branch"`
	PrettyRef    string // Forgejo: a branch, a tag, or #12
	HeadSHA      string `json:"head_sha"`
	CommitSHA    string `json:"commit_sha"` // Forgejo
	Status       string
	Conclusion   string
	NeedApproval bool                   `json:"need_approval"` // Forgejo
	EventPayload string                 `json:"event_payload"` // Forgejo: JSON, as text
	HTMLURL      string                 `json:"html_url"`
	PullRequests []struct{ Number int } `json:"pull_requests"`

	CreatedAt    stamp `json:"created_at"`
	UpdatedAt    stamp `json:"updated_at"`
	RunStartedAt stamp `json:"run_started_at"`
	StartedAt    stamp `json:"started_at"`
	CompletedAt  stamp `json:"completed_at"`
	Created      stamp
	Started      stamp
	Stopped      stamp
}

// stamp is a time that may be missing, null, or the beginning of an era.
type stamp struct{ time.Time }

// UnmarshalJSON takes what is no time for none.
func (s *stamp) UnmarshalJSON(b []byte) error {
	t, err := time.Parse(time.RFC3339, strings.Trim(string(b), `"`))
	if err == nil && t.Year() > 1970 {
		s.Time = t.UTC()
	}
	return nil
}

// first is the first of them that is told.
func first(tt ...stamp) time.Time {
	for _, t := range tt {
		if !t.IsZero() {
			return t.Time
		}
	}
	return time.Time{}
}

type acJob struct {
	ID         int64
	Name       string
	Status     string
	Conclusion string
	CreatedAt  stamp `json:"created_at"`
	StartedAt  stamp `json:"started_at"`
	Steps      []struct{ Name, Status, Conclusion string }
}

// state is what a status and a conclusion mean together. Forgejo has one word for
// both.
func (a *actions) state(status, conclusion string) string {
	switch status {
	case "in_progress", "running":
		return Running
	case "queued", "pending", "requested":
		return Pending
	case "waiting":
		return a.words.waiting
	case "completed":
		status = conclusion
	}
	switch status {
	case "success", "neutral", "skipped":
		return Success
	case "failure", "timed_out", "startup_failure":
		return Failure
	case "cancelled", "canceled", "stale":
		return Cancelled
	case "action_required":
		return Blocked
	case "blocked":
		return Pending // on another job, or on its group's turn
	}
	return ""
}

func (a *actions) at(path string, arg ...any) string {
	return "/repos/" + a.project + fmt.Sprintf(path, arg...)
}

func (a *actions) Primary(ctx context.Context) (string, error) {
	var repo struct {
		DefaultBranch string `json:"default_branch"`
	}
	err := a.c.Get(ctx, a.at(""), &repo)
	return repo.DefaultBranch, err
}

func (a *actions) Page(ctx context.Context, n int) ([]Pipeline, bool, error) {
	var page struct {
		Runs []acRun `json:"workflow_runs"`
	}
	if err := a.c.Get(ctx, a.at("/actions/runs?page=%d&%s=%d", n, a.words.size, a.words.page), &page); err != nil {
		return nil, false, err
	}
	out := make([]Pipeline, 0, len(page.Runs))
	for _, r := range page.Runs[:min(len(page.Runs), a.words.page)] { // not more than was asked for
		out = append(out, a.pipeline(r))
	}
	a.complete(ctx, out)
	return out, len(page.Runs) >= a.words.page, nil
}

func (a *actions) One(ctx context.Context, id int64) (Pipeline, error) {
	var r acRun
	if err := a.c.Get(ctx, a.at("/actions/runs/%d", id), &r); err != nil {
		return Pipeline{}, err
	}
	if r.ID != id {
		return Pipeline{}, fmt.Errorf("it answered with another run")
	}
	out := []Pipeline{a.pipeline(r)}
	a.complete(ctx, out)
	return out[0], nil
}

var pretty = regexp.MustCompile(`^(?:#|refs/pull/)(\d{1,9})(?:/.*)?$`)

// pipeline turns a run into ours.
func (a *actions) pipeline(r acRun) Pipeline {
	p := Pipeline{ID: r.ID, Number: max(r.RunNumber, r.Index), Attempt: r.RunAttempt, Event: r.Event, URL: r.HTMLURL,
		Title: r.DisplayTitle + r.Title, Head: r.HeadSHA + r.CommitSHA, Branch: r.HeadBranch + r.PrettyRef,
		State: a.state(r.Status, r.Conclusion), Said: strings.TrimSpace(r.Status + " " + r.Conclusion)}
	if a.words.byID {
		p.Number = r.ID
	}
	if r.NeedApproval && p.Open() {
		p.State = Blocked
	}
	workflow, ref, _ := strings.Cut(r.Path, "@")
	if p.Workflow = workflow; p.Branch == "" && pretty.MatchString(ref) {
		p.Branch = ref // of a pull request's run Gitea tells nothing else
	}
	if p.Workflow == "" && json.Unmarshal(r.WorkflowID, &p.Workflow) != nil {
		p.Workflow = r.Name
	}
	if len(r.PullRequests) > 0 && strings.HasPrefix(p.Event, "pull_request") {
		p.Pull = r.PullRequests[0].Number
	}
	if m := pretty.FindStringSubmatch(p.Branch); m != nil {
		p.Pull, _ = strconv.Atoi(m[1]) // at most nine digits
		p.Branch = branchOf(r.EventPayload)
	}
	a.times(&p, r)
	return p
}

// branchOf is a pull request's own branch, from the event that Forgejo hands on.
func branchOf(payload string) string {
	var event struct {
		PullRequest struct {
			Head struct{ Ref string }
		} `json:"pull_request"`
	}
	if json.Unmarshal([]byte(payload), &event) != nil {
		return ""
	}
	return event.PullRequest.Head.Ref
}

// times fills what the run tells. GitHub says of a run that is over only when it
// was last changed, which is when it ended.
func (a *actions) times(p *Pipeline, r acRun) {
	p.Created = first(r.RunStartedAt, r.Created, r.CreatedAt)
	if !a.words.starts {
		p.Started = first(r.Started, r.StartedAt)
	}
	if !p.Open() {
		p.Ended = first(r.Stopped, r.CompletedAt, r.UpdatedAt)
	}
}

// mostAsked is how many runs of one page have their jobs asked for times.
const mostAsked = 10

// complete asks the jobs for the times that a run does not tell. Each answer is
// remembered: a beginning does not change. What cannot be told stays zero.
func (a *actions) complete(ctx context.Context, pp []Pipeline) {
	asked := 0
	for i := range pp {
		p := &pp[i]
		lacks := p.State == Running && p.Started.IsZero() || p.State == Pending && p.Created.IsZero()
		if !lacks || asked == mostAsked {
			continue
		}
		key := attempt{p.ID, p.Attempt, p.State}
		a.mu.Lock()
		at, known := a.begun[key]
		a.mu.Unlock()
		if !known {
			asked++
			if at = a.earliest(ctx, *p); !at.IsZero() {
				a.remember(key, at)
			}
		}
		if p.State == Running {
			p.Started = at
		} else {
			p.Created = at
		}
	}
}

func (a *actions) remember(key attempt, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.begun) > 1000 {
		clear(a.begun)
	}
	a.begun[key] = at
}

// earliest is when the first job of a run began, or of one that waits, was made.
func (a *actions) earliest(ctx context.Context, p Pipeline) (at time.Time) {
	jobs, err := a.jobs(ctx, p.ID)
	if err != nil {
		return at
	}
	for _, j := range jobs {
		t := j.CreatedAt
		if p.State == Running {
			t = j.StartedAt
			if a.state(j.Status, j.Conclusion) == Pending {
				continue
			}
		}
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t.Time
		}
	}
	return at
}

// acPage is one page of a list, in the words of all three.
type acPage struct {
	Total   int `json:"total_count"`
	Jobs    []acJob
	Older   []acJob `json:"workflow_jobs"` // Gitea before 1.25
	Runners []acRunner
}

type acRunner struct {
	ID           int64
	Name, Status string
	Disabled     bool
}

// Limits of a list that is a run's or a project's: so many pages of so many.
const (
	acPages = 5
	acSize  = 50
)

// paged asks for page after page of a list, until as many were seen as it is said to
// have. GitHub and Gitea wrap a list, and say; Forgejo gives a bare one, which is all.
func (a *actions) paged(ctx context.Context, path string, bare func(*acPage) any, add func(acPage) int) error {
	for n, seen := 1, 0; n <= acPages; n++ {
		var raw json.RawMessage
		if err := a.c.Get(ctx, fmt.Sprintf("%s?page=%d&%s=%d", path, n, a.words.size, acSize), &raw); err != nil {
			return err
		}
		var page acPage
		into, whole := any(&page), bytes.HasPrefix(raw, []byte("["))
		if whole {
			into = bare(&page)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
		got := add(page)
		if seen += got; whole || got == 0 || seen >= page.Total {
			return nil
		}
	}
	return nil
}

// jobs lists the jobs of a run.
func (a *actions) jobs(ctx context.Context, run int64) (out []acJob, err error) {
	err = a.paged(ctx, a.at("/actions/runs/%d/jobs", run), func(p *acPage) any { return &p.Jobs }, func(p acPage) int {
		out = append(append(out, p.Jobs...), p.Older...)
		return len(p.Jobs) + len(p.Older)
	})
	return out, err
}

func (a *actions) Failed(ctx context.Context, p Pipeline) (out []Step, err error) {
	jobs, err := a.jobs(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if a.state(j.Status, j.Conclusion) != Failure || len(out) == mostSteps {
			continue
		}
		s := Step{Name: clip(j.Name), Exit: -1}
		if step := a.brokeAt(j); step != "" {
			s.Name += "/" + clip(step)
		}
		if s.Log, err = a.c.Text(ctx, a.at("/actions/jobs/%d/logs", j.ID)); err != nil {
			s.Unread = err.Error()
		}
		s.Exit = exitOf(s.Log)
		out = append(out, s)
	}
	return out, ctx.Err()
}

// brokeAt is the step at which a job failed; "": it does not tell. A Gitea says of every
// step what it says of the job (services/convert/convert.go at 00ca8c6), which names none.
func (a *actions) brokeAt(j acJob) string {
	at, failed := "", 0
	for _, step := range j.Steps {
		if a.state(step.Status, step.Conclusion) != Failure {
			continue
		}
		if failed++; failed == 1 {
			at = step.Name
		}
	}
	if failed > 1 && failed == len(j.Steps) {
		return ""
	}
	return at
}

func (a *actions) Workers(ctx context.Context) (out []Worker, err error) {
	err = a.paged(ctx, a.at("/actions/runners"), func(p *acPage) any { return &p.Runners }, func(p acPage) int {
		for _, r := range p.Runners {
			if r.Name == "" {
				r.Name = "runner-" + strconv.FormatInt(r.ID, 10)
			}
			out = append(out, Worker{Name: r.Name, Online: r.Status != "offline", Paused: r.Disabled})
		}
		return len(p.Runners)
	})
	return distinct(out), err
}

func (a *actions) Again(ctx context.Context, p Pipeline) error {
	return a.c.Send(ctx, http.MethodPost, a.at("/actions/runs/%d/%s", p.ID, a.words.again))
}

func (a *actions) Cancel(ctx context.Context, p Pipeline) error {
	return a.c.Send(ctx, http.MethodPost, a.at("/actions/runs/%d/cancel", p.ID))
}
