// Package ci is a client of CI systems, over plain HTTP: Woodpecker, and the Actions of Forgejo,
// Gitea and GitHub; others are in folders beneath it. A Reader looks and a Writer runs a pipeline
// again or cancels it. What a server writes is handed on as it is: what shows
// it makes it safe first.
package ci

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The states of a pipeline or of a step. A word of the server that is none of
// them is the state "".
const (
	Pending   = "pending"
	Running   = "running"
	Success   = "success"
	Failure   = "failure"
	Cancelled = "cancelled"
	Blocked   = "blocked" // it waits for a person
)

// Pipeline is one pipeline, or one run of a workflow. Times are by the server's
// clock; zero: it has not happened, or the server does not tell.
type Pipeline struct {
	ID       int64 // what its server asks for it by
	Number   int64 // what people call it; unique in its project
	Attempt  int   // from 1; 0: the server does not tell
	Repeats  bool  // it is another one begun again, of a kind that makes a new one (Kind.Anew)
	Title    string
	Workflow string // its file or its name; "" where a pipeline is all workflows
	Event    string // push, pull_request, …
	Branch   string // its own one, not the one it is to be merged into
	Head     string // commit
	Pull     int    // number of its pull request
	URL      string
	State    string
	Said     string // the state in the server's own word
	Created  time.Time
	Started  time.Time
	Ended    time.Time
}

// Open says whether the pipeline may still run.
func (p Pipeline) Open() bool {
	return !slices.Contains([]string{Success, Failure, Cancelled}, p.State)
}

// Group names what a newer pipeline replaces: the same workflow on the same
// branch, or of the same pull request. Tags, deployments and what a clock starts
// are each a thing of their own.
func (p Pipeline) Group() string {
	where := p.Branch
	switch {
	case p.Pull > 0:
		where = "#" + strconv.Itoa(p.Pull)
	case p.Branch == "":
		where = p.Head
	}
	sort := "push"
	switch {
	case p.IsPull():
		sort = "pull"
	case slices.Contains([]string{"tag", "release", "deployment", "cron", "schedule"}, p.Event):
		sort = p.Event
	}
	return strings.Join([]string{p.Workflow, sort, where}, "\x00")
}

// IsPull says whether it runs for a pull request.
func (p Pipeline) IsPull() bool { return p.Pull > 0 || strings.HasPrefix(p.Event, "pull_request") }

// Listing is what a project's CI has to do: the newest pipelines, newest first,
// and older ones that were not over when they were last listed.
type Listing struct {
	Pipelines []Pipeline
	Primary   string // the server's idea of the primary branch
	At        time.Time
}

// Step is a step of a pipeline, or a whole job, that failed.
type Step struct {
	Name  string // JOB/STEP
	Error string // what the server says about it
	Exit  int    // status; -1: not told
	Log   string // its last 64 KiB
	// Unread says why its log could not be read; "" when it could.
	Unread string
}

// Worker is one agent or runner.
type Worker struct {
	Name    string
	Contact time.Time // when it last spoke to its server; zero: not told
	Online  bool      // the server calls it online; of woodpecker always
	Paused  bool      // a person has taken it out of service
}

// Options say which project of which server is meant.
type Options struct {
	Kind    Kind
	URL     string // of the server, as people open it
	Project string // OWNER/NAME
	HTTP    *http.Client
	Clock   func() time.Time // the server's clock, as well as it is known
	// Elsewhere follows a log to where GitHub stores it, without the token. nil: one
	// that speaks only HTTPS.
	Elsewhere *http.Client
	Roots     *x509.CertPool // who vouches for that place; nil: whom the machine believes
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	if o.Kind.Open == nil {
		return errors.New("kind: there is none")
	}
	if err := o.Kind.CheckRepo(o.Project); err != nil {
		return fmt.Errorf("repo: %w", err)
	}
	return nil
}

// CheckRepo says what is wrong with the name of a project; nil when nothing is.
func (k Kind) CheckRepo(repo string) error {
	parts, most, want := strings.Split(repo, "/"), 2, `want OWNER/NAME, like "acme/shop"`
	if k.Nested {
		most, want = 21, `want GROUP/NAME, like "acme/shop" or "acme/web/shop"`
	}
	if len(parts) < 2 || len(parts) > most || slices.ContainsFunc(parts, isOdd) {
		return errors.New(want)
	}
	return nil
}

// isOdd says whether something is no part of a project's name.
func isOdd(part string) bool {
	return strings.Trim(part, ".") == "" || strings.Trim(part, nameRunes) != ""
}

const nameRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// Reader looks at one project. It is safe for concurrent use.
type Reader struct {
	d     System
	clock func() time.Time

	mu      sync.Mutex
	anew    bool    // its server makes a new pipeline of each attempt
	open    []int64 // listed last, and not over then
	primary string
}

// NewReader returns a reader, or what is wrong with the options.
func NewReader(o Options) (*Reader, error) {
	d, err := open(o)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Reader{d: d, clock: o.Clock, anew: o.Kind.Anew}, nil
}

// Limits of one listing.
const (
	pages   = 2  // of pipelines
	mostOld = 20 // pipelines older than those pages that are asked for one by one
)

// Pipelines lists the project's pipelines. It asks for two pages at most, and for
// each older pipeline that was not over the last time.
func (r *Reader) Pipelines(ctx context.Context) (Listing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.primary == "" {
		var err error
		if r.primary, err = r.d.Primary(ctx); err != nil {
			return Listing{}, fmt.Errorf("cannot ask for the project: %w", err)
		}
	}
	found := map[int64]Pipeline{}
	for n := 1; n <= pages; n++ {
		page, more, err := r.d.Page(ctx, n)
		if err != nil {
			return Listing{}, fmt.Errorf("cannot list pipelines: %w", err)
		}
		for _, p := range page {
			if p.ID > 0 {
				found[p.ID] = p
			}
		}
		if !more {
			break
		}
	}
	if err := r.older(ctx, found); err != nil {
		return Listing{}, err
	}
	return Listing{Pipelines: r.settle(found), Primary: r.primary, At: r.clock()}, nil
}

// older adds the pipelines that were not over the last time and are on no page any more.
func (r *Reader) older(ctx context.Context, found map[int64]Pipeline) error {
	asked := 0
	for _, id := range r.open {
		if _, there := found[id]; there || asked == mostOld {
			continue
		}
		asked++
		p, err := r.d.One(ctx, id)
		switch {
		case errors.Is(err, ErrGone):
		case err != nil:
			return fmt.Errorf("cannot ask for pipeline %d: %w", id, err)
		default:
			found[id] = p
		}
	}
	return nil
}

// settle sorts what was found, newest first, and remembers what is not over.
func (r *Reader) settle(found map[int64]Pipeline) []Pipeline {
	out := make([]Pipeline, 0, len(found))
	r.open = nil
	for _, p := range found {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Pipeline) int { return -compare(a, b) })
	for _, p := range out {
		if p.Open() {
			r.open = append(r.open, p.ID)
		}
	}
	if r.anew {
		countAttempts(out)
	}
	return out
}

func compare(a, b Pipeline) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

// countAttempts numbers the attempts of a server that makes a new pipeline of
// each: all of one workflow, branch and commit count, whichever of them a server
// says that one repeats. pp is sorted, newest first. One that repeats another which is
// not listed is the second at least.
func countAttempts(pp []Pipeline) {
	tried := map[string]int{}
	for i := range slices.Backward(pp) {
		p := &pp[i]
		key := p.Group() + "\x00" + p.Head
		if p.Repeats {
			tried[key] = max(tried[key], 1)
		}
		tried[key]++
		p.Attempt = tried[key]
	}
}

// Pipeline returns one pipeline as it is now; ErrGone when there is none. Of one
// that repeats another (woodpecker) the attempt is 0: only a listing tells.
func (r *Reader) Pipeline(ctx context.Context, id int64) (Pipeline, error) {
	p, err := r.d.One(ctx, id)
	if err != nil {
		return Pipeline{}, fmt.Errorf("cannot ask for pipeline %d: %w", id, err)
	}
	return p, nil
}

// Failed returns what failed in a pipeline: its failed steps with the ends of
// their logs, at most ten. None: the server names no step.
func (r *Reader) Failed(ctx context.Context, p Pipeline) ([]Step, error) {
	steps, err := r.d.Failed(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("cannot ask what failed in pipeline %d: %w", p.Number, err)
	}
	return steps, nil
}

// Workers lists the agents or runners. ErrForbidden and ErrGone: the server does
// not tell this account.
func (r *Reader) Workers(ctx context.Context) ([]Worker, time.Time, error) {
	w, err := r.d.Workers(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot list workers: %w", err)
	}
	return w, r.clock(), nil
}

// Writer changes pipelines of one project.
type Writer struct{ d Doer }

// NewWriter returns a writer, or what is wrong with the options.
func NewWriter(o Options) (*Writer, error) {
	d, err := open(o)
	if err != nil {
		return nil, err
	}
	return &Writer{d: d}, nil
}

// Again runs a pipeline again: a new one (woodpecker), or another attempt of it.
func (w *Writer) Again(ctx context.Context, p Pipeline) error {
	if err := w.d.Again(ctx, p); err != nil {
		return fmt.Errorf("cannot run pipeline %d again: %w", p.Number, err)
	}
	return nil
}

// Cancel asks for the end of a pipeline. It may take a while.
func (w *Writer) Cancel(ctx context.Context, p Pipeline) error {
	if err := w.d.Cancel(ctx, p); err != nil {
		return fmt.Errorf("cannot cancel pipeline %d: %w", p.Number, err)
	}
	return nil
}
