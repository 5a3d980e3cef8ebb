package git

import (
	"cmp"
	"context"
)

// BranchDiff is what a branch, as it is at a commit, changes of a target: since the two parted, as text. A commit that only
// the remote ("": none) has is fetched, and no ref is moved. No program that the repository names is run.
func (w *Writer) BranchDiff(ctx context.Context, dir, remote, target, branch, commit string) (string, error) {
	if here, err := w.r.says(ctx, dir, "cat-file", "-e", commit+"^{commit}"); (err != nil || !here) && remote != "" {
		if err := w.FetchCommit(ctx, dir, remote, branch, ""); err != nil {
			return "", err
		}
	}
	refs := []string{"refs/remotes/" + remote + "/" + target, "refs/heads/" + target}
	tips, err := w.r.Tips(ctx, dir, refs...)
	if err != nil {
		return "", err
	}
	base := ""
	if tip := cmp.Or(tips[refs[0]], tips[refs[1]]); tip != "" {
		if base, err = w.r.Fork(ctx, dir, tip, commit); err != nil {
			return "", err
		}
	}
	return w.r.FolderDiff(ctx, dir, base, commit, "")
}
