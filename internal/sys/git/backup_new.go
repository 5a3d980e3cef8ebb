package git

import (
	"context"
	"strings"
)

// BackupNew backs a worktree up as Backup does, unless that would hold nothing
// new: nothing that HEAD, being on a branch, does not hold, or that the earlier
// backup named last (its ref; "" for none) does not hold. It returns the ref that
// holds everything now, "" when HEAD does, and whether it was made just now.
func (w *Writer) BackupNew(ctx context.Context, p Place, last string) (ref string, fresh bool, err error) {
	made, err := w.Backup(ctx, p)
	if err != nil {
		return "", false, err
	}
	now, err := w.r.kept(ctx, p, made.Commit)
	if err != nil {
		return made.Ref, true, nil // it cannot be compared, so it stays
	}
	if last != "" && last != made.Ref {
		if was, err := w.r.kept(ctx, p, last); err == nil && was == now {
			return last, false, w.drop(ctx, p, made)
		}
	}
	if w.r.headHolds(ctx, p, now) {
		return "", false, w.drop(ctx, p, made)
	}
	return made.Ref, true, nil
}

// headHolds says whether a backup keeps what HEAD holds and no more. A detached
// HEAD holds nothing: no ref may keep its commits.
func (r *Reader) headHolds(ctx context.Context, p Place, kept string) bool {
	head, branch, err := r.Head(ctx, p)
	if err != nil || branch == "" {
		return false
	}
	tree, err := r.line(ctx, p.Common, "rev-parse", "--verify", "--quiet", head+"^{tree}")
	return err == nil && kept == tree+"\n"+head
}

// kept names what a backup keeps, whenever it was made: its tree, HEAD, the tree
// of its index, and the other commits.
func (r *Reader) kept(ctx context.Context, p Place, commit string) (string, error) {
	out, err := r.line(ctx, p.Common, "show", "-s", "--format=%T %P", commit)
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	for i, parent := range names {
		if i < 2 {
			continue
		}
		is, err := r.line(ctx, p.Common, "show", "-s", "--format=%s %T", parent)
		if err != nil {
			return "", err
		}
		if tree, ok := strings.CutPrefix(is, "index "); ok {
			names[i] = "index " + tree
		}
	}
	return strings.Join(names, "\n"), nil
}

// drop takes away a backup that is not needed, if it still is that one.
func (w *Writer) drop(ctx context.Context, p Place, b Backup) error {
	_, err := w.r.git(ctx, p.Common, "update-ref", "-d", b.Ref, b.Commit)
	return err
}
