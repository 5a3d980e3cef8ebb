package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Primary is a repository's primary branch.
type Primary struct {
	Name string   // short name
	Refs []string // full names of it that exist here: the local branch, the remote's
	Tips Tips     // the commits they name
}

// Tips names the refs' commits, to see whether they moved.
type Tips map[string]string

// ErrNoPrimary says that no branch could be told to be the primary one.
var ErrNoPrimary = errors.New("no primary branch")

// Primary returns the configured branch, else the one that the remote calls its
// HEAD, else init.defaultBranch, main or master, whichever exists. A configured
// branch that does not exist is an error, not a reason to guess.
func (r *Reader) Primary(ctx context.Context, dir, configured string) (Primary, error) {
	if configured != "" {
		p, err := r.primaryNamed(ctx, dir, configured)
		if err == nil && len(p.Refs) == 0 {
			err = fmt.Errorf("cannot find the primary branch: %w: the configured %q does not exist", ErrNoPrimary, configured)
		}
		return p, err
	}
	for _, name := range r.candidates(ctx, dir) {
		if p, err := r.primaryNamed(ctx, dir, name); err != nil || len(p.Refs) > 0 {
			return p, err
		}
	}
	return Primary{}, fmt.Errorf("cannot find the primary branch of %q: %w: configure it", dir, ErrNoPrimary)
}

func (r *Reader) candidates(ctx context.Context, dir string) []string {
	var names []string
	if head, err := r.line(ctx, dir, "symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		names = append(names, strings.TrimPrefix(head, "refs/remotes/origin/"))
	}
	if name, err := r.line(ctx, dir, "config", "--get", "init.defaultBranch"); err == nil && name != "" {
		names = append(names, name)
	}
	return append(names, "main", "master")
}

func (r *Reader) primaryNamed(ctx context.Context, dir, name string) (Primary, error) {
	refs := []string{"refs/heads/" + name, "refs/remotes/origin/" + name}
	tips, err := r.Tips(ctx, dir, refs...)
	p := Primary{Name: name, Tips: tips}
	for _, ref := range refs {
		if tips[ref] != "" {
			p.Refs = append(p.Refs, ref)
		}
	}
	return p, err
}

// Renew asks again where the refs of a primary branch point.
func (r *Reader) Renew(ctx context.Context, dir string, p Primary) (Primary, error) {
	q, err := r.primaryNamed(ctx, dir, p.Name)
	if err == nil && len(q.Refs) == 0 {
		err = fmt.Errorf("cannot find the primary branch: %w: %q is gone", ErrNoPrimary, p.Name)
	}
	return q, err
}

// Tips returns the commits that the refs point at; a ref that does not exist is
// left out.
func (r *Reader) Tips(ctx context.Context, dir string, refs ...string) (Tips, error) {
	out, err := r.git(ctx, dir, append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}, refs...)...)
	if err != nil {
		return nil, err
	}
	tips := Tips{}
	for _, l := range strings.Split(string(out), "\n") {
		oid, ref, _ := strings.Cut(l, " ")
		for _, want := range refs {
			if ref == want { // for-each-ref also matches what lies below a ref's name
				tips[ref] = oid
			}
		}
	}
	return tips, nil
}

// unpushed counts the commits of head that are on no remote and in none of the
// refs.
func (r *Reader) unpushed(ctx context.Context, dir, head string, refs []string) (int, error) {
	return r.count(ctx, dir, append([]string{head, "--not", "--remotes"}, refs...)...)
}

// Unreachable counts the commits of head that no branch, tag or remote holds.
func (r *Reader) Unreachable(ctx context.Context, dir, head string) (int, error) {
	return r.count(ctx, dir, head, "--not", "--branches", "--tags", "--remotes")
}

func (r *Reader) count(ctx context.Context, dir string, what ...string) (int, error) {
	s, err := r.line(ctx, dir, append([]string{"rev-list", "--count"}, what...)...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(s)
}

// Head returns the commit and the branch ("" when detached) that a worktree is on, by
// reading files alone where it can. Before the first commit it fails.
func (r *Reader) Head(ctx context.Context, p Place) (commit, branch string, err error) {
	raw, err := readSmall(filepath.Join(p.GitDir, "HEAD"))
	if err != nil {
		return "", "", fmt.Errorf("cannot read HEAD of %q: %w", p.Top, err)
	}
	if ref, ok := strings.CutPrefix(strings.TrimSpace(raw), "ref: "); ok {
		branch = strings.TrimPrefix(ref, "refs/heads/")
	}
	// --git-dir, so that this works without the worktree's folder, too.
	commit, err = r.line(ctx, p.Common, "--git-dir="+p.GitDir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", branch, fmt.Errorf("cannot read HEAD of %q: no commit yet, or it is broken: %w", p.Top, err)
	}
	return commit, branch, nil
}

// AdminDir finds the git folder of a linked worktree by the folder it was made
// for, so that it is found also when that folder is gone.
func AdminDir(common, top string) (string, error) {
	if p, err := At(top); err == nil && p.Linked() && p.Common == common && meant(p.GitDir, top) {
		return p.GitDir, nil // the short way; the long one reads every entry
	}
	base := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return "", fmt.Errorf("cannot list the worktrees of %q: %w", common, err)
	}
	for _, e := range entries {
		if dir := filepath.Join(base, e.Name()); meant(dir, top) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("cannot find the worktree %q in %q: %w", top, common, ErrNotRepository)
}

// Branch is the branch that is checked out; "" where none is, or that cannot be read.
func (p Place) Branch() string {
	raw, err := readSmall(filepath.Join(p.GitDir, "HEAD"))
	if ref, ok := strings.CutPrefix(strings.TrimSpace(raw), "ref: refs/heads/"); ok && err == nil {
		return ref
	}
	return ""
}

// Others are the folders of the other worktrees of a place's repository, the first of all among
// them, as the repository has written them down. What of that cannot be read is left out.
func (p Place) Others() (tops []string) {
	if main := filepath.Dir(p.Common); filepath.Base(p.Common) == ".git" && main != p.Top {
		tops = append(tops, main)
	}
	base := filepath.Join(p.Common, "worktrees")
	entries, err := os.ReadDir(base)
	if err != nil {
		return tops
	}
	for _, e := range entries {
		to, err := pointer(filepath.Join(base, e.Name(), "gitdir"), "")
		if top := filepath.Dir(to); err == nil && top != p.Top {
			tops = append(tops, top)
		}
	}
	return tops
}

// meant says whether a worktree's git folder was made for the folder top.
func meant(admin, top string) bool {
	to, err := pointer(filepath.Join(admin, "gitdir"), "")
	return err == nil && filepath.Dir(to) == filepath.Clean(top)
}
