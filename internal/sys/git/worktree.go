package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WorktreePlan is a worktree on a branch of its own, as it is to be made, or was.
type WorktreePlan struct {
	Repo   string // any folder of the repository
	Path   string // its folder; absolute
	Branch string // its branch, by its short name; "": on none, its HEAD is detached
	Start  string // commit that the branch begins at, or HEAD is at
}

func (p WorktreePlan) ref() string { return "refs/heads/" + p.Branch }

// CheckBranch refuses what cannot be the name of a branch, and what git would
// take for another one ("@{-1}").
func (r *Reader) CheckBranch(ctx context.Context, dir, name string) error {
	is, err := r.line(ctx, dir, "check-ref-format", "--branch", name)
	if err == nil && is != name {
		err = fmt.Errorf("cannot use %q as the name of a branch: git takes it for %q", name, is)
	}
	return err
}

// HalfMade says whether git is just making the worktree, or was cut off in the
// middle of that: it keeps a lock there until everything is checked out.
func (p Place) HalfMade() bool {
	why, err := readSmall(filepath.Join(p.GitDir, "locked"))
	return err == nil && strings.TrimSpace(why) == "initializing" && p.Linked()
}

// Stands says whether the worktree is there, whole, and on its branch.
func (r *Reader) Stands(ctx context.Context, plan WorktreePlan) bool {
	p, err := At(plan.Path)
	if err != nil || !p.Linked() || p.HalfMade() {
		return false
	}
	_, branch, err := r.Head(ctx, p)
	return err == nil && branch == plan.Branch
}

// unmoved says whether the branch is there and still where it began.
func (r *Reader) unmoved(ctx context.Context, plan WorktreePlan) bool {
	if plan.Branch == "" {
		return false
	}
	tips, err := r.Tips(ctx, plan.Repo, plan.ref())
	return err == nil && tips[plan.ref()] == plan.Start && plan.Start != ""
}

// AddWorktree makes a worktree and its branch. A branch of that name is taken as
// it is only where it still stands at Start, as a try that was cut off leaves it;
// any other one fails it. The folder above has to be there. One that git was cut
// off in making is made anew.
func (w *Writer) AddWorktree(ctx context.Context, plan WorktreePlan) error {
	if p, err := At(plan.Path); err == nil && p.HalfMade() && (plan.Branch == "" || w.r.unmoved(ctx, plan)) {
		if err := w.UndoWorktree(ctx, plan, true); err != nil {
			return err
		}
	}
	args := []string{"worktree", "add", "--quiet", "-b", plan.Branch, "--", plan.Path, plan.Start}
	switch {
	case plan.Branch == "":
		args = []string{"worktree", "add", "--quiet", "--detach", "--", plan.Path, plan.Start}
	case w.r.unmoved(ctx, plan):
		args = []string{"worktree", "add", "--quiet", "--", plan.Path, plan.Branch}
	}
	_, err := w.r.git(ctx, plan.Repo, args...)
	return err
}

// UndoWorktree takes away a worktree that was made, and then its branch, while
// that still points where it began. Changed or untracked files keep it, with an
// error, unless force says that no work is in them: half a checkout.
func (w *Writer) UndoWorktree(ctx context.Context, plan WorktreePlan, force bool) error {
	_, err := os.Lstat(plan.Path)
	if err == nil {
		err = w.takeAway(ctx, plan, force)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !w.r.unmoved(ctx, plan) {
		return nil
	}
	_, err = w.r.git(ctx, plan.Repo, "update-ref", "-d", plan.ref(), plan.Start)
	return err
}

// takeAway removes a worktree that was made. Only half a checkout is removed in
// spite of a lock: the lock is git's own.
func (w *Writer) takeAway(ctx context.Context, plan WorktreePlan, force bool) error {
	p, err := At(plan.Path)
	if err == nil && !force {
		return w.RemoveWorktree(ctx, p, nil)
	}
	args := []string{"worktree", "remove", "--force", "--", plan.Path}
	if err == nil && p.HalfMade() {
		args = slices.Insert(args, 2, "--force")
	}
	_, err = w.r.git(ctx, plan.Repo, args...)
	return err
}
