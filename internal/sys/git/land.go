package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrDeclined says that a remote refused a push for a reason of its own (a hook, a protected branch): it has
// not landed, and trying again changes nothing.
var ErrDeclined = errors.New("the remote declined")

// ErrCheckedOut says that a branch is checked out, and its worktree's files would look changed if it moved.
var ErrCheckedOut = errors.New("the branch is checked out")

// Landing is a branch that is to move from one commit to another, and from no other.
type Landing struct {
	Remote   string // "": the branch of the repository itself
	Branch   string // its short name
	From, To string // commits, by their full names; From is an ancestor of To
}

// Land moves a branch, if it is at From: ErrRejected says that it is not any more. A branch of a remote that is
// at To already has landed. ErrDeclined says that the remote refused, in its own words, which may hold
// anything. After any other error of a remote it is not known whether it landed: ask RemoteBranches. A branch
// of the repository itself must be checked out nowhere (ErrCheckedOut), as far as can be told at that moment.
func (w *Writer) Land(ctx context.Context, dir string, l Landing) error {
	err := w.mayLand(ctx, dir, l)
	switch {
	case err != nil:
	case l.Remote == "":
		err = w.landHere(ctx, dir, l)
	default:
		err = w.push(ctx, dir, l.Remote, l.To, l.Branch, "--atomic", "--force-with-lease=refs/heads/"+l.Branch+":"+l.From)
	}
	if err != nil {
		err = fmt.Errorf("cannot land %.64q on %q: %w", l.To, l.Branch, err)
	}
	return err
}

// mayLand refuses what would take anything out of the branch: a push with a lease would do it.
func (w *Writer) mayLand(ctx context.Context, dir string, l Landing) error {
	if !isOID(l.From) || !isOID(l.To) {
		return errors.New("a commit is not named in full")
	}
	if err := w.r.CheckBranch(ctx, dir, l.Branch); err != nil {
		return err
	}
	is, err := w.r.says(ctx, dir, "merge-base", "--is-ancestor", l.From, l.To)
	if err == nil && !is {
		err = fmt.Errorf("it is not built on %s", l.From)
	}
	return err
}

func (w *Writer) landHere(ctx context.Context, dir string, l Landing) error {
	ref := "refs/heads/" + l.Branch
	if to, err := w.r.line(ctx, dir, "symbolic-ref", "--quiet", ref); err == nil {
		return fmt.Errorf("it is another name of %q", to)
	} else if !exitedOne(err) {
		return err
	}
	if err := w.r.heldNowhere(ctx, dir, l.Branch); err != nil {
		return err
	}
	_, err := w.r.git(ctx, dir, "update-ref", "--no-deref", "-m", "custos: land", "--end-of-options", ref, l.To, l.From)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if now, failed := w.r.Tip(ctx, dir, ref); failed == nil && now != l.From {
		err = fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return err
}

// heldNowhere refuses a branch that a worktree is on, or goes back to when a rebase in it ends.
func (r *Reader) heldNowhere(ctx context.Context, dir, branch string) error {
	list, err := r.Worktrees(ctx, dir)
	if err != nil {
		return err
	}
	for _, l := range list {
		on := l.Branch
		if p, err := At(l.Path); err == nil && on == "" {
			_, on, _ = p.RebaseOrigin()
		}
		if on == branch && !l.Bare {
			return fmt.Errorf("%w in %q", ErrCheckedOut, l.Path)
		}
	}
	return nil
}

// RemoteBranches asks a remote for these branches, by their short names, and returns the commits of those that it has.
func (w *Writer) RemoteBranches(ctx context.Context, dir, remote string, branches ...string) (Tips, error) {
	tips, args := Tips{}, []string{"ls-remote", "--", remote}
	for _, b := range branches {
		args = append(args, "refs/heads/"+b)
	}
	if len(branches) == 0 {
		return tips, nil // git would list all
	}
	out, err := w.r.run(ctx, call{dir: dir, logsIn: true, args: args, env: w.r.network(ctx, dir)})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		oid, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if b, is := strings.CutPrefix(ref, "refs/heads/"); is && isOID(oid) && slices.Contains(branches, b) { // git also lists what ends so
			tips[b] = oid
		}
	}
	return tips, nil
}

// MergeRefs is below where every commit is kept that a merge is tried with.
const MergeRefs = "refs/custos/merge/"

// KeepRef makes a ref below MergeRefs name a commit, whatever it named.
func (w *Writer) KeepRef(ctx context.Context, dir, ref, to string) error {
	if err := w.ours(ctx, dir, ref); err != nil {
		return err
	}
	if !isOID(to) {
		return fmt.Errorf("cannot keep %.80q: it is not the full name of a commit", to)
	}
	_, err := w.r.git(ctx, dir, "update-ref", "--no-deref", "--end-of-options", ref, to)
	return err
}

// DropRef takes a ref below MergeRefs away, if it is there.
func (w *Writer) DropRef(ctx context.Context, dir, ref string) error {
	err := w.ours(ctx, dir, ref)
	if err == nil {
		_, err = w.r.git(ctx, dir, "update-ref", "--no-deref", "-d", "--end-of-options", ref)
	}
	return err
}

func (w *Writer) ours(ctx context.Context, dir, ref string) error {
	if !strings.HasPrefix(ref, MergeRefs) {
		return fmt.Errorf("cannot use ref %.200q: it is not below %s", ref, MergeRefs)
	}
	_, err := w.r.git(ctx, dir, "check-ref-format", ref)
	return err
}

// refused tells why a push failed, by what git push --porcelain wrote: "! FROM:TO [rejected] (why)" for a branch
// that it would not send, and "[remote rejected]" where the remote would not take it. Where it says neither, it
// is not known what became of it.
func refused(out []byte, told string, err error) error {
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(f) < 3 || f[0] != "!" {
			continue
		}
		switch why := f[2]; {
		case strings.HasPrefix(why, "[rejected]"), strings.HasPrefix(why, "[remote rejected]") && hasMoved(why, told):
			return fmt.Errorf("%w: %w", ErrRejected, err)
		case strings.HasPrefix(why, "[remote rejected]"):
			return fmt.Errorf("%w: %q: %w", ErrDeclined, words(told, why), err)
		}
	}
	return err
}

// hasMoved says whether a remote would not take a push because its branch was not where it was a moment before.
func hasMoved(why, told string) bool {
	if strings.Contains(why, "atomic transaction failed") { // the reason itself is among its complaints
		why = told
	}
	signs := []string{"cannot lock ref", "failed to update ref", "incorrect old value", "(non-fast-forward)", "(fetch first)"}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(why, sign) })
}

// words returns the last of what a remote itself wrote, and otherwise what git made of it.
func words(told, otherwise string) string {
	var lines []string
	for line := range strings.Lines(told) {
		if l, is := strings.CutPrefix(strings.TrimSpace(line), "remote:"); is {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	all := strings.TrimSpace(strings.Join(lines, "\n"))
	if all == "" {
		all = otherwise
	}
	return all[max(0, len(all)-300):]
}
