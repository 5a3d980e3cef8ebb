package git

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// RemoveWorktree removes a linked worktree: its folder, if it is still there,
// and its entry, and no other's. The branch stays. It refuses a locked, changed or
// untracked thing. It looks for that itself, at the last moment: git would ask
// the programs that the repository names. Crash markers, by the given patterns,
// are no work.
func (w *Writer) RemoveWorktree(ctx context.Context, p Place, markers []string) error {
	if exists(p.Top) {
		if err := w.r.nothingIn(ctx, p, markers); err != nil {
			return fmt.Errorf("cannot remove worktree %q: %w", p.Top, err)
		}
	}
	_, err := w.r.git(ctx, p.Common, "worktree", "remove", "--force", "--", p.Top)
	return err
}

// RemoveSaved removes a linked worktree with the work that is in it, if a backup
// holds all of that as it is now. The branch stays. A locked one is refused.
func (w *Writer) RemoveSaved(ctx context.Context, p Place, b Backup) error {
	newer, fresh, err := w.BackupNew(ctx, p, b.Ref)
	if err == nil && fresh {
		err = fmt.Errorf("it has changed since it was backed up to %s; what it holds now is in %s, too", b.Ref, newer)
	}
	if err != nil {
		return fmt.Errorf("cannot remove worktree %q: %w", p.Top, err)
	}
	_, err = w.r.git(ctx, p.Common, "worktree", "remove", "--force", "--", p.Top)
	return err
}

// nothingIn fails where a worktree holds what HEAD does not.
func (r *Reader) nothingIn(ctx context.Context, p Place, markers []string) error {
	c, err := r.changesAt(ctx, p, false, 0)
	if err != nil {
		return err
	}
	if len(c.Submodules) > 0 || exists(filepath.Join(p.GitDir, "modules")) {
		return errors.New("it has submodules, whose repositories would go with it")
	}
	if work := slices.Concat(c.Dirty, c.Unsure, c.Hidden, withoutMarkers(c.Untracked, markers)); len(work) > 0 {
		return fmt.Errorf("%d changed or untracked: %s", len(work), names(work))
	}
	return nil
}

// ErrRunsCode says that git would run a program that the repository names.
var ErrRunsCode = errors.New("the repository names a program that git would run")

// RunsCode refuses where checking files out would run what the repository's own
// configuration names: a filter, a merge driver, a transfer agent. What the user's or the
// machine's configuration names is the user's own doing.
func (r *Reader) RunsCode(ctx context.Context, p Place) error {
	settings, err := r.settings(ctx, p)
	if err != nil {
		return err
	}
	for _, s := range settings {
		_, _, filter := driver(s.key, "filter")
		_, _, merge := driver(s.key, "merge")
		_, _, transfer := driver(s.key, "lfs.customtransfer")
		_, _, extension := driver(s.key, "lfs.extension")
		if s.own() && (filter || merge || transfer || extension) {
			return fmt.Errorf("%w: %q is configured in %q: do it yourself, with git", ErrRunsCode, s.key, p.Common)
		}
	}
	return nil
}

// AbortRebase gives a rebase up, as git rebase --abort does: branch and files go
// back to where they were before it.
func (w *Writer) AbortRebase(ctx context.Context, p Place) error {
	err := w.r.RunsCode(ctx, p)
	if err == nil {
		_, err = w.r.git(ctx, p.Top, "rebase", "--abort")
	}
	return err
}

// RebaseOrigin returns the commit and the branch ("" when detached) that the
// rebase in progress began at, where --abort goes back to.
func (p Place) RebaseOrigin() (commit, branch string, err error) {
	for _, dir := range []string{"rebase-merge", "rebase-apply"} {
		commit, err = readSmall(filepath.Join(p.GitDir, dir, "orig-head"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		name, err2 := readSmall(filepath.Join(p.GitDir, dir, "head-name"))
		if err = errors.Join(err, err2); err != nil {
			return "", "", fmt.Errorf("cannot read where the rebase of %q began: %w", p.Top, err)
		}
		name = strings.TrimSpace(name)
		if name != "detached HEAD" {
			branch = strings.TrimPrefix(name, "refs/heads/")
		}
		return strings.TrimSpace(commit), branch, nil
	}
	return "", "", fmt.Errorf("cannot read where the rebase of %q began: %w", p.Top, err)
}

// Checkout switches a worktree to a branch that exists. It overwrites nothing,
// ignored files included, and guesses no branch.
func (w *Writer) Checkout(ctx context.Context, p Place, branch string) error {
	err := w.r.RunsCode(ctx, p)
	if err == nil {
		_, err = w.r.git(ctx, p.Top, "checkout", "--quiet", "--no-guess", "--no-overwrite-ignore", branch, "--")
	}
	return err
}

// Tracked says whether git tracks anything in a folder of the worktree.
func (r *Reader) Tracked(ctx context.Context, top, rel string) (bool, error) {
	out, err := r.git(ctx, top, "ls-files", "-z", "--", rel)
	return len(out) > 0, err
}

// clearing begins the name of a folder that is being thrown away.
const clearing = ".custos-clearing-"

// Clear throws a folder of the worktree away: it is renamed aside, next to the
// worktree, so that it is gone from there at once and whole, and then deleted.
// Where it cannot be renamed to (another file system, no right to write), it is
// deleted in place. It enters no other file system and follows no link. What an
// interrupted Clear of the same worktree left behind is deleted, too.
func (w *Writer) Clear(ctx context.Context, p Place, rel string) error {
	if err := w.clear(ctx, p, rel); err != nil {
		return fmt.Errorf("cannot clear %q in %q: %w", rel, p.Top, err)
	}
	return nil
}

func (w *Writer) clear(ctx context.Context, p Place, rel string) error {
	if !filepath.IsLocal(rel) || rel == "." {
		return errors.New("it is not inside the worktree")
	}
	dir := filepath.Join(p.Top, rel)
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	top, err2 := filepath.EvalSymlinks(p.Top)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if !info.IsDir() || !within(real, top) || real == top {
		return errors.New("it is no folder inside the worktree")
	}
	prefix := filepath.Join(filepath.Dir(top), clearing+filepath.Base(top)+"-")
	var salt [6]byte
	_, _ = rand.Read(salt[:]) // never fails (crypto/rand)
	aside := prefix + hex.EncodeToString(salt[:])
	if err := os.Rename(real, aside); err != nil {
		return destroy(ctx, real, device(info))
	}
	return w.sweep(ctx, prefix, device(info))
}

// sweep deletes everything that was renamed aside from one worktree.
func (w *Writer) sweep(ctx context.Context, prefix string, dev uint64) error {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		salt, ours := strings.CutPrefix(e.Name(), filepath.Base(prefix))
		if _, err := hex.DecodeString(salt); !ours || err != nil || len(salt) != 12 || !e.IsDir() {
			continue
		}
		errs = append(errs, destroy(ctx, filepath.Join(filepath.Dir(prefix), e.Name()), dev))
	}
	return errors.Join(errs...)
}

// destroy deletes a folder and what is in it, on one file system only. Read-only
// folders (Go's module cache makes them) are made writable first.
func destroy(ctx context.Context, dir string, dev uint64) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if device(info) != dev {
		return fmt.Errorf("%q is on another file system", dir)
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := os.Chmod(dir, info.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = destroy(ctx, path, dev)
		} else {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(dir)
}

// Free returns the bytes that an ordinary user may still write to the file
// system that holds path.
func Free(path string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("cannot measure the free space of %q: %w", path, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}
