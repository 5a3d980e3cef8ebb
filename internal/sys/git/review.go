package git

import (
	"context"
	"fmt"
)

// BranchDiff is what a branch, as it is at a commit, changes of a target as that stands now, in its remote where there is one:
// since the two parted, as text, with a list of all files first. What only the remote ("": none) has is fetched, and no ref is
// moved or believed. No program that the repository names is run, and no attribute of it hides a file.
func (w *Writer) BranchDiff(ctx context.Context, dir, remote, target, branch, commit string) (string, error) {
	tip, err := w.standsAt(ctx, dir, remote, target)
	if err != nil {
		return "", err
	}
	for _, x := range []struct{ branch, commit string }{{target, tip}, {branch, commit}} {
		if here, err := w.r.says(ctx, dir, "cat-file", "-e", x.commit+"^{commit}"); (err != nil || !here) && remote != "" {
			if err := w.FetchCommit(ctx, dir, remote, x.branch, ""); err != nil {
				return "", err
			}
		}
	}
	base, err := w.r.Fork(ctx, dir, tip, commit)
	if err != nil {
		return "", err
	}
	a, err := w.r.apartFrom(ctx, dir)
	if err != nil {
		return "", err
	}
	defer a.close()
	if base == "" {
		base = emptyTree
	}
	return a.run(ctx, "", "diff-tree", "-r", "--patch-with-stat", "--stat-width=120", "--stat-name-width=100", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", base, commit, "--")
}

// standsAt is the commit of a branch, in a remote ("": none) as that says now.
func (w *Writer) standsAt(ctx context.Context, dir, remote, branch string) (string, error) {
	if remote == "" {
		return w.r.Tip(ctx, dir, "refs/heads/"+branch)
	}
	tips, err := w.RemoteBranches(ctx, dir, remote, branch)
	if err == nil && tips[branch] == "" {
		err = fmt.Errorf("%s has no branch %q", remote, branch)
	}
	return tips[branch], err
}
