// Package mergegroup holds the actions on merge groups: "build-merge" makes the commit of one
// in the object store and a worktree for its gates, "land-merge" moves the target to it, and
// "clear-merge" takes away what was made for it. No checkout of anybody's is touched.
package mergegroup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// The names of the actions.
const (
	Build = "build-merge"
	Land  = "land-merge"
	Clear = "clear-merge"
)

// refs begins the names of the refs that keep the commits of groups.
const refs = "refs/custos/merge/"

// Options is what the composition root knows.
type Options struct {
	// Git is the reader; default git.New.
	Git *git.Reader
	// Room refuses where the disk is nearly full; nil asks nothing.
	Room func(dirs ...string) error
	// Barred says why a group is not to land at this very instant: its queue is held, an item was taken
	// back. Nil: nothing is asked.
	Barred func(ctx context.Context, t fleet.MergeTarget) (string, error)
	// Start and End start a command and end all that is left of it, as the actions "run-step" and "end-step" do with
	// those of gates. Nil: no file is made anew.
	Start, End act.Action
}

type base struct {
	o Options
	w *git.Writer
}

func newBase(o Options) base {
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	return base{o, git.NewWriter(o.Git, git.WriterOptions{})}
}

// job is a group at the instant of acting.
type job struct {
	base
	fleet.MergeTarget
	repo string // folder, raw
}

// open reads a target, and looks whether its repository is there.
func (b base) open(ctx context.Context, a fleet.Action) (*job, error) {
	t := a.Target.Merge
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t == nil || t.Group.ID == "" || t.Queue.Repo == "" || t.Queue.Target == "" {
		return nil, errors.New("cannot act on a merge group: the target is none")
	}
	j := &job{b, *t, fleet.RawPath(t.Queue.Repo)}
	if _, err := git.Find(j.repo); err != nil {
		return nil, fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	return j, nil
}

// ref keeps the commit of the group.
func (j *job) ref() string { return refs + j.Queue.Name + "/" + j.Group.ID }

// worktree is the folder for the next run of the gates, raw.
func worktree(t *fleet.MergeTarget) string {
	return filepath.Join(fleet.RawPath(t.Queue.Dir), t.Group.ID+"-"+strconv.Itoa(t.Group.Runs+1))
}

// where is the target in words: "main of origin".
func where(q fleet.MergeQueue) string {
	if q.Remote == "" {
		return q.Target
	}
	return q.Target + " of " + q.Remote
}

// tip is where the target stands, and has that commit in the repository.
func (j *job) tip(ctx context.Context) (commit string, err error) {
	if j.Queue.Remote == "" {
		commit, err = j.named(ctx, "refs/heads/"+j.Queue.Target)
	} else {
		commit, err = j.remote(ctx, j.Queue.Target)
	}
	if err == nil && commit == "" {
		err = fmt.Errorf("there is no branch %s", where(j.Queue))
	}
	return commit, err
}

// named is the commit that a ref of the repository names; "" for none. A tag that is called like
// a ref is none.
func (j *job) named(ctx context.Context, ref string) (string, error) {
	tips, err := j.o.Git.Tips(ctx, j.repo, ref)
	return tips[ref], err
}

// remote is where a branch stands in the remote, and has that commit in the repository; "" for
// none. What the remote says is believed, and no ref, which others may have moved.
func (j *job) remote(ctx context.Context, branch string) (string, error) {
	tips, err := j.w.RemoteBranches(ctx, j.repo, j.Queue.Remote, branch)
	if err != nil || tips[branch] == "" {
		return "", err
	}
	has, err := j.o.Git.Tip(ctx, j.repo, tips[branch])
	if err != nil || has != "" {
		return has, err
	}
	if err := j.w.FetchCommit(ctx, j.repo, j.Queue.Remote, branch, ""); err != nil {
		return "", err
	}
	if has, err = j.o.Git.Tip(ctx, j.repo, tips[branch]); err == nil && has == "" {
		err = fmt.Errorf("branch %s of %s is moved while it is read", branch, j.Queue.Remote)
	}
	return has, err
}

// source is where the branch of an item stands: in the repository, else in the remote; "" when
// there is none.
func (j *job) source(ctx context.Context, i *fleet.MergeItem) (string, error) {
	commit, err := j.named(ctx, "refs/heads/"+i.Source)
	if err != nil || commit != "" || j.Queue.Remote == "" {
		return commit, err
	}
	return j.remote(ctx, i.Source)
}

// moved says what became of an item whose branch is not where it was added; nil when it is.
func (j *job) moved(ctx context.Context, i *fleet.MergeItem) (*fleet.MergeLeft, error) {
	commit, err := j.source(ctx, i)
	switch {
	case err != nil:
		return nil, err
	case commit == "":
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeFailed, Why: "its branch " + i.Source + " is gone"}, nil
	case commit != i.Commit:
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Commit: commit, Why: fmt.Sprintf("its branch moved from %.12s to %.12s", i.Commit, commit)}, nil
	}
	return nil, nil
}

// Has says whether the target of a queue, as it stands now, has a commit.
func Has(ctx context.Context, q fleet.MergeQueue, commit string) (bool, error) {
	j := &job{newBase(Options{}), fleet.MergeTarget{Queue: q}, fleet.RawPath(q.Repo)}
	tip, err := j.tip(ctx)
	if err != nil {
		return false, err
	}
	return j.isIn(ctx, commit, tip)
}

func (j *job) item(id string) *fleet.MergeItem {
	return fleet.Find(j.Items, func(i *fleet.MergeItem) bool { return i.ID == id })
}

// isIn says whether a commit is in another, or is it.
func (j *job) isIn(ctx context.Context, commit, of string) (bool, error) {
	if commit == of {
		return true, nil
	}
	return j.o.Git.IsAncestor(ctx, j.repo, commit, of)
}

func names(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, fleet.Path(p))
	}
	return out
}

// lines are lines of somebody's files, for a person to read.
func lines(list []string) string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		out = append(out, strconv.Quote(fleet.Redact(fleet.Line(l, 80))))
	}
	return strings.Join(out, ", ")
}
