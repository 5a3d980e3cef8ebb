// Package checkoutprimary is the action that puts a pinned repository back on
// its primary branch, when it is clean and no process stands in it.
package checkoutprimary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Name is the action's name in rules.
const Name = "checkout-primary"

// Options of the action.
type Options struct {
	// Primary is the primary branch; default as the git probe finds it.
	Primary string `toml:"primary"`
	// Git is the reader; default git.New.
	Git *git.Reader `toml:"-"`
	// Occupied says who stands in a folder. Without it nothing is ever checked out.
	Occupied git.Occupied `toml:"-"`
}

// Action checks primary branches out.
type Action struct {
	o Options
	w *git.Writer
}

// New returns the action.
func New(o Options) *Action {
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	return &Action{o: o, w: git.NewWriter(o.Git, git.WriterOptions{})}
}

// Ability says what the action needs and promises.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Name, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos}, Deadline: fleet.Duration(5 * time.Minute)}
}

// Commands returns what would be run.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	if a.Target.Repo == nil {
		return nil
	}
	return []fleet.Command{{Argv: []string{"git", "-C", a.Target.Repo.Path, "checkout", "--no-guess", "--no-overwrite-ignore",
		a.Target.Repo.Primary.Or("<primary>"), "--"}}}
}

// Prepare looks at the repository again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Repo == nil {
		return nil, errors.New("cannot check the primary branch out: the target is no repository")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &run{x: x, target: *a.Target.Repo}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

type run struct {
	x       *Action
	target  fleet.Repo
	place   git.Place
	primary string
	from    git.Head
}

// look re-reads identity and precondition.
func (r *run) look(ctx context.Context) (err error) {
	if !r.target.Owner.MayTouch() || !r.target.Pinned {
		return fmt.Errorf("%w: it is foreign, or not pinned to its primary branch", act.ErrRefused)
	}
	if r.place, err = git.At(fleet.RawPath(r.target.Path)); err != nil {
		return err
	}
	if err := r.branches(ctx); err != nil {
		return err
	}
	op, err := r.place.Operation()
	if err != nil {
		return err
	}
	if op.Name != "" {
		return fmt.Errorf("%w: a %s is in progress", act.ErrRefused, op.Name)
	}
	if err := r.clean(ctx); err != nil {
		return err
	}
	if err := r.x.o.Git.RunsCode(ctx, r.place); err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	if err := r.x.o.Occupied.Free(ctx, r.place.Top); err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	return nil
}

// branches compares where HEAD is, was seen, and should be.
func (r *run) branches(ctx context.Context) error {
	p, err := r.x.o.Git.Primary(ctx, r.place.Common, r.x.o.Primary)
	if err != nil {
		return err
	}
	if was, ok := r.target.Primary.Get(); !ok || was != fleet.Path(p.Name) {
		return fmt.Errorf("%w: the primary branch was %q, and is %q", act.ErrRefused, was, p.Name)
	}
	r.primary = p.Name
	commit, branch, err := r.x.o.Git.Head(ctx, r.place)
	if err != nil {
		return err
	}
	r.from = git.Head{Commit: commit, Branch: branch}
	if branch == r.primary {
		return fmt.Errorf("%w: it is on %q", act.ErrUnneeded, branch)
	}
	head, ok1 := r.target.Head.Get()
	was, ok2 := r.target.Branch.Get()
	if !ok1 || !ok2 || head != commit || was != fleet.Path(branch) {
		return fmt.Errorf("%w: HEAD is not where it was seen", act.ErrRefused)
	}
	if p.Tips["refs/heads/"+p.Name] == "" {
		return fmt.Errorf("%w: there is no local branch %q", act.ErrRefused, p.Name)
	}
	return nil
}

// clean checks that nothing could be lost or carried along.
func (r *run) clean(ctx context.Context) error {
	c, err := r.x.o.Git.Changes(ctx, r.place.Top, true)
	if err != nil {
		return err
	}
	if n := len(c.Dirty) + len(c.Unsure) + len(c.Hidden) + len(c.Untracked); n > 0 {
		return fmt.Errorf("%w: it is not clean: %s changed or untracked", act.ErrRefused, fleet.Counted(n, "file"))
	}
	if r.from.Branch == "" {
		n, err := r.x.o.Git.Unreachable(ctx, r.place.Common, r.from.Commit)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: HEAD is detached, with %s on no branch", act.ErrRefused, fleet.Counted(n, "commit"))
		}
	}
	return r.elsewhere(ctx)
}

// elsewhere: git lets a branch be checked out only once.
func (r *run) elsewhere(ctx context.Context) error {
	list, err := r.x.o.Git.Worktrees(ctx, r.place.Common)
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.Branch == r.primary {
			return fmt.Errorf("%w: %q is checked out in %q", act.ErrRefused, r.primary, l.Path)
		}
	}
	return nil
}

// Do checks the primary branch out.
func (r *run) Do(ctx context.Context) error { return r.x.w.Checkout(ctx, r.place, r.primary) }

// Verify checks that HEAD is on the primary branch.
func (r *run) Verify(ctx context.Context) (string, error) {
	_, branch, err := r.x.o.Git.Head(ctx, r.place)
	if err != nil || branch != r.primary {
		return "", fmt.Errorf("cannot verify: HEAD is on %q, want %q (%v)", branch, r.primary, err)
	}
	from := r.from.Branch
	if from == "" {
		from = "detached " + r.from.Commit[:12]
	}
	return fmt.Sprintf("on %s again (it was on %s)", fleet.Path(branch), fleet.Path(from)), nil
}

// Close has nothing to release.
func (r *run) Close() {}
