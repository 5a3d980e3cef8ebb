package forgetest

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"slices"
	"time"
)

// A test sets what a forge thinks of a merge in the fields of Repo and Pull, asks by HTTP, and
// has the rest happen with Report, Settle, Push, Drop and Land.

// Auto is a merge that the forge was asked for and has not done, or, with GitHub and GitLab,
// had not done until the pull request was merged: both go on telling of it then.
type Auto struct {
	By     string    // who asked
	Style  string    // merge, squash, rebase
	Head   string    // the head when it was asked; only a GitLab holds on to it
	At     time.Time // when it was asked
	Queued bool      // it is in the merge queue of GitHub, or on the merge train of a GitLab
}

// Event is something that the forge wrote down of an issue or a pull request.
type Event struct {
	Kind string // in the words of the forge: pull_scheduled_merge of a Gitea, removed_from_merge_queue of GitHub
	By   string
	Text string // the note of a GitLab; why, of GitHub
	At   time.Time
}

// ErrQueued is why nobody can push to a branch that is in GitHub's queue: what git says then
// (SharezoneApp/sharezone-app#605).
var ErrQueued = errors.New("GH006: A pull request for this branch has been added to a merge queue. Branches that are queued for merging cannot be updated")

// Report has checks of the head come out in a state (pending, success, failure), those that are
// named, or all that the head has or its target requires. The forge does what it does then,
// unless it is Lazy.
func (r *Repo) Report(number int, state string, contexts ...string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p := r.Pulls[number]
	if len(contexts) == 0 {
		contexts = r.contexts(p)
	}
	for _, c := range contexts {
		run := r.replaced(p, c)
		p.Checks = append(p.Checks, Check{Context: c, State: state, At: r.s.Clock(), Run: run})
	}
	p.Updated = r.s.Clock()
	if !r.Lazy {
		r.settle(number)
	}
}

// replaced takes the last result of a context away where the forge tells of the newest only,
// and says whether it was a check run.
func (r *Repo) replaced(p *Pull, context string) (run bool) {
	is := func(c Check) bool { return c.Context == context }
	if i := slices.IndexFunc(p.Checks, is); i >= 0 {
		run = p.Checks[i].Run
	}
	if r.s.Kind == "github" {
		p.Checks = slices.DeleteFunc(p.Checks, is)
	}
	return run
}

// contexts are those of the checks that a head has, and that its target requires.
func (r *Repo) contexts(p *Pull) []string {
	out := slices.Clone(r.Required[p.Base])
	for _, c := range p.Checks {
		out = append(out, c.Context)
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		return []string{"ci"}
	}
	return out
}

// Settle has the forge look again at what it was asked to merge.
func (r *Repo) Settle(number int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.settle(number)
}

func (r *Repo) settle(n int) {
	p := r.Pulls[n]
	switch {
	case p.Auto == nil || p.Auto.Queued || !p.Closed.IsZero():
	case r.s.Kind == "github":
		r.hubSettle(n)
	case r.s.Kind == "gitlab":
		r.labSettle(n)
	default:
		r.teaSettle(n)
	}
}

// Push moves the head of a pull request, which has no checks then. The error is ErrQueued.
func (r *Repo) Push(number int, by, head string) error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	p := r.Pulls[number]
	if r.s.Kind == "github" && p.Auto != nil && p.Auto.Queued {
		return ErrQueued
	}
	p.Head, p.Checks, p.Committed, p.Updated = head, nil, r.s.Clock(), r.s.Clock()
	switch r.s.Kind {
	case "github":
		r.hubPushed(p, by)
	case "gitlab":
		r.labPushed(p, by)
	default: // a Gitea and a Forgejo keep what was scheduled, for whatever the head is
		r.write(p, by, "pull_push", "")
	}
	return nil
}

// Drop has GitHub take a pull request out of its queue, or a GitLab off its train, for a
// reason: failed_checks, merge_conflict, manual and others of GitHub, and a sentence of a GitLab.
func (r *Repo) Drop(number int, reason string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.drop(r.Pulls[number], "", reason)
}

func (r *Repo) drop(p *Pull, by, reason string) {
	p.Auto = nil
	if r.s.Kind == "github" {
		r.write(p, by, "removed_from_merge_queue", reason)
		return
	}
	r.write(p, by, "", "removed this merge request from the merge train because "+reason)
}

// Land has the queue of GitHub, or the train of a GitLab, come through: what is in it is merged.
func (r *Repo) Land(number int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if p := r.Pulls[number]; p.Auto != nil && p.Auto.Queued {
		r.finish(number, p.Auto.By)
	}
}

// finish merges a pull request.
func (r *Repo) finish(n int, by string) {
	p := r.Pulls[n]
	p.Merged, p.MergedBy, p.Closed, p.Updated = true, by, r.s.Clock(), r.s.Clock()
	switch queued := p.Auto != nil && p.Auto.Queued; {
	case r.s.Kind == "gitlab":
		r.write(p, by, "", "merged")
	case r.s.Kind != "github":
		p.Auto = nil
		r.write(p, by, "merge_pull", "")
	case queued:
		r.drop(p, by, "merged")
		fallthrough
	default:
		r.write(p, by, "merged", "")
		r.write(p, by, "closed", "")
	}
}

func (r *Repo) write(p *Pull, by, kind, text string) {
	p.Events = append(p.Events, Event{Kind: kind, By: by, Text: text, At: r.s.Clock()})
	p.Updated = r.s.Clock()
}

// ask writes down that somebody asked for a merge.
func (r *Repo) ask(p *Pull, by, style string) {
	p.Auto = &Auto{By: by, Style: cmp.Or(style, "merge"), Head: p.Head, At: r.s.Clock()}
}

// may says whether an account may merge, and push.
func (r *Repo) may(login string) bool { return r.Mergers == nil || slices.Contains(r.Mergers, login) }

// What comes of checks.
const (
	green   = "green"
	pending = "pending"
	red     = "red"
)

// verdict is what a check comes to. What was skipped, or is only a warning, does not hold up a merge.
func verdict(state string) string {
	switch state {
	case "success", "neutral", "skipped", "warning":
		return green
	case "failure", "error":
		return red
	}
	return pending
}

// check is what the newest result of a context comes to; one that there is not is pending.
func (p *Pull) check(context string) string {
	for _, c := range slices.Backward(p.Checks) {
		if c.Context == context {
			return verdict(c.State)
		}
	}
	return pending
}

// worst is what several contexts come to.
func (p *Pull) worst(contexts []string) string {
	out := green
	for _, c := range contexts {
		switch p.check(c) {
		case red:
			return red
		case pending:
			out = pending
		}
	}
	return out
}

// commit is what a pull request was merged as; nil before.
func (p *Pull) commit() any {
	if !p.Merged {
		return nil
	}
	return p.MergeCommit()
}

// MergeCommit is the commit that a merge of the head makes.
func (p *Pull) MergeCommit() string { return digest("merge " + p.Head) }

func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// maybe is an account, or null.
func (s *Server) maybe(login string) any {
	if login == "" {
		return nil
	}
	return s.user(login)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// timeline is what happened to an issue, of which a Gitea and GitHub tell in a list. Here it
// has only what the forge wrote down, and comments are left out.
func (r *Repo) timeline(i *Issue) []any {
	out := []any{}
	for n, e := range i.Events {
		one := map[string]any{"id": 4000 + n, "created_at": r.s.stamp(e.At)}
		if r.s.Kind == "github" { // it does not say why: only GraphQL does
			one["event"], one["actor"] = e.Kind, r.s.maybe(e.By)
		} else {
			one["type"], one["user"], one["body"], one["updated_at"] = e.Kind, r.s.maybe(e.By), e.Text, r.s.stamp(e.At)
		}
		out = append(out, one)
	}
	return out
}
