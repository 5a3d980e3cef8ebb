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

// IsAncestor says whether a commit is in the history of another one.
func (r *Reader) IsAncestor(ctx context.Context, dir, commit, of string) (bool, error) {
	return r.says(ctx, dir, "merge-base", "--is-ancestor", commit, of)
}

// OnFirstParents says whether a commit is one of a branch's own, which stands at a tip: it was
// made on it, and did not come by a merge.
func (r *Reader) OnFirstParents(ctx context.Context, dir, commit, tip string) (bool, error) {
	out, err := r.git(ctx, dir, "rev-list", "--first-parent", "--end-of-options", tip)
	return strings.Contains(string(out), commit), err
}

// Tree returns the name of a commit's tree.
func (r *Reader) Tree(ctx context.Context, dir, commit string) (string, error) {
	return r.line(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{tree}")
}

// Subject returns the first line of a commit's message.
func (r *Reader) Subject(ctx context.Context, dir, commit string) (string, error) {
	return r.line(ctx, dir, "show", "--no-patch", "--format=%s", "--end-of-options", commit)
}

// BranchTip returns the commit that a branch of a repository stands at, and the first line of its
// message; of one that only a remote ("": none) has, the commit alone.
func (w *Writer) BranchTip(ctx context.Context, dir, remote, branch string) (commit, title string, err error) {
	if err := w.r.CheckBranch(ctx, dir, branch); err != nil {
		return "", "", errors.New("it is no name of a branch")
	}
	here, err := w.r.Tips(ctx, dir, "refs/heads/"+branch)
	if err != nil {
		return "", "", err
	}
	if commit = here["refs/heads/"+branch]; commit != "" {
		title, err = w.r.Subject(ctx, dir, commit)
		return commit, title, err
	}
	if remote != "" {
		tips, err := w.RemoteBranches(ctx, dir, remote, branch)
		if err != nil || tips[branch] != "" {
			return tips[branch], "", err
		}
	}
	return "", "", fmt.Errorf("there is no branch %q in %q", branch, dir)
}

// MadeOn says whether a commit was made on a branch of the repository, as far as the branch's
// reflog says: what it only moved to, as when it was begun there or reset to it, was not.
func (r *Reader) MadeOn(ctx context.Context, dir, branch, commit string) (bool, error) {
	ref := "refs/heads/" + branch
	p, err := Find(dir)
	if err != nil || !exists(filepath.Join(p.Common, "logs", ref)) {
		return false, err
	}
	out, err := r.git(ctx, dir, "log", "-g", "-z", "--no-show-signature", "--format=%H%x00%gs", ref, "--")
	for fields := strings.Split(string(out), "\x00"); len(fields) >= 2; fields = fields[2:] {
		if fields[0] == commit && isMaking(fields[1], commit) {
			return true, err
		}
	}
	return false, err
}

// isMaking says whether what a reflog says of a move to a commit is that it was made.
func isMaking(told, commit string) bool {
	what, _, _ := strings.Cut(told, ":")
	what, _, _ = strings.Cut(what, " ")
	switch what {
	case "commit", "cherry-pick", "revert", "am":
		return true
	case "merge", "pull":
		return strings.Contains(told, ": Merge made by ")
	}
	return what == "rebase" && strings.Contains(told, " onto ") && !strings.HasSuffix(told, commit)
}

// AddWhole makes a worktree on no branch, with all that its commit has: what a person's sparse
// checkout leaves out, too.
func (w *Writer) AddWhole(ctx context.Context, plan WorktreePlan) error {
	_, err := w.r.run(ctx, call{dir: plan.Repo, env: configured([][2]string{{"core.sparseCheckout", "false"}}),
		args: []string{"worktree", "add", "--quiet", "--detach", "--", plan.Path, plan.Start}})
	return err
}

// Discard removes a worktree that was made for commands to run in, with all that they left
// there, folders that may not be written to among it, and its entry. What is no worktree of
// the repository stays.
func (w *Writer) Discard(ctx context.Context, plan WorktreePlan) error {
	repo, err := Find(plan.Repo)
	if err != nil {
		return err
	}
	names := []string{plan.Path}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(plan.Path)); err == nil {
		names = append(names, filepath.Join(dir, filepath.Base(plan.Path))) // as git has it on record
	}
	if err := discard(ctx, repo, names); err != nil {
		return fmt.Errorf("cannot discard worktree %q: %w", plan.Path, err)
	}
	for _, name := range names {
		if _, bad := AdminDir(repo.Common, name); bad == nil {
			_, err := w.r.git(ctx, repo.Common, "worktree", "remove", "--force", "--force", "--", name)
			return err
		}
	}
	return nil // it has no entry any more
}

// discard removes the folder of a worktree, by the names that it has.
func discard(ctx context.Context, repo Place, names []string) error {
	top := names[len(names)-1]
	info, err := os.Lstat(top)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() || !slices.ContainsFunc(names, func(name string) bool { return isWorktreeOf(repo, name) }):
		return fmt.Errorf("it is no worktree of %q", repo.Main())
	}
	return destroy(ctx, top, device(info))
}

// isWorktreeOf says whether a folder is, or was, a worktree of a repository: by its own word,
// and where it has none any more, by the repository's. An empty one is nobody's.
func isWorktreeOf(repo Place, top string) bool {
	if p, err := At(top); err == nil && p.Linked() {
		return p.Common == repo.Common
	}
	if to, err := pointer(filepath.Join(top, ".git"), "gitdir: "); err == nil && filepath.Dir(to) == filepath.Join(repo.Common, "worktrees") {
		return true
	}
	if _, err := AdminDir(repo.Common, top); err == nil {
		return true
	}
	entries, err := os.ReadDir(top)
	return err == nil && len(entries) == 0
}
