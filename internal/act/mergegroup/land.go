package mergegroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Lander moves the target to the commit of a group, if it stands where that was built on.
type Lander struct{ base }

// NewLander makes the action.
func NewLander(o Options) *Lander { return &Lander{newBase(o)} }

// Ability implements act.Action.
func (x *Lander) Ability() fleet.Ability {
	return fleet.Ability{Do: Land, Idempotent: true, Shared: fleet.SharedMerge, Fenced: true, Touches: []fleet.PartName{fleet.PartRepos}, Deadline: fleet.Duration(5 * time.Minute)}
}

// Commands implements act.Action.
func (x *Lander) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Merge
	if t == nil {
		return nil
	}
	branch := "refs/heads/" + t.Queue.Target
	argv := []string{"git", "-C", t.Queue.Repo, "update-ref", branch, t.Group.Commit, t.Group.Base}
	if t.Queue.Remote != "" {
		argv = []string{"git", "-C", t.Queue.Repo, "push", "--atomic", "--force-with-lease=" + branch + ":" + t.Group.Base, t.Queue.Remote, t.Group.Commit + ":" + branch}
	}
	return []fleet.Command{{Argv: argv, Note: "if it stands at the latter; its tree has passed the gates"}}
}

// Prepare looks where the target stands. When the commit is in it, there is nothing to do.
func (x *Lander) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	j, err := x.open(ctx, a)
	if err != nil {
		return nil, err
	}
	if g := j.Group; g.State != fleet.GroupGreen || g.Commit == "" || g.Base == "" {
		return nil, fmt.Errorf("%w: %s has not passed the gates", act.ErrRefused, g.ID)
	}
	tree, err := x.o.Git.Tree(ctx, j.repo, j.Group.Commit)
	if err != nil {
		return nil, err
	}
	if tree != j.Group.Tree {
		return nil, fmt.Errorf("%w: the tree of %.12s is not what passed the gates", act.ErrRefused, j.Group.Commit)
	}
	r := &landing{job: j}
	if r.stands, err = j.tip(ctx); err != nil {
		return nil, err
	}
	if in, err := j.isIn(ctx, j.Group.Commit, r.stands); err != nil || in {
		return nil, errors.Join(err, whenIn(in))
	}
	if err := j.barred(ctx); err != nil { // what has landed already is beyond that
		return nil, err
	}
	return r, nil
}

func whenIn(in bool) error {
	if in {
		return fmt.Errorf("%w: the target has it", act.ErrUnneeded)
	}
	return nil
}

// barred asks once more whether the group is to land: a person may have held the queue since it was planned.
func (j *job) barred(ctx context.Context) error {
	if j.o.Barred == nil {
		return nil
	}
	why, err := j.o.Barred(ctx, j.MergeTarget)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s", act.ErrRefused, why)
	}
	return err
}

type landing struct {
	*job
	stands string
	out    *fleet.MergeOutcome
}

// Merged says what was learned; nil when the target was not seen.
func (r *landing) Merged() *fleet.MergeOutcome { return r.out }

// Do implements act.Run. That the target, or a branch, has moved is learned, and an error.
func (r *landing) Do(ctx context.Context) error {
	if r.stands != r.Group.Base {
		r.out = &fleet.MergeOutcome{Base: r.stands}
		return fmt.Errorf("%s moved from %.12s to %.12s meanwhile: it is built anew", where(r.Queue), r.Group.Base, r.stands)
	}
	if err := r.unmoved(ctx); err != nil {
		return err
	}
	err := r.w.Land(ctx, r.repo, git.Landing{Remote: r.Queue.Remote, Branch: r.Queue.Target, From: r.Group.Base, To: r.Group.Commit})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, git.ErrDeclined), errors.Is(err, git.ErrCheckedOut):
		r.out = &fleet.MergeOutcome{Base: r.stands, Declined: fleet.Redact(fleet.Line(err.Error(), 300))}
		return err
	}
	return r.readBack(ctx, err)
}

// unmoved fails where a branch is not where it was when its item was tested.
func (r *landing) unmoved(ctx context.Context) error {
	out := &fleet.MergeOutcome{}
	for _, m := range r.Group.Items {
		i := r.item(m.ID)
		if i == nil || i.Commit != m.Commit {
			return fmt.Errorf("%s is not what was tested", m.ID)
		}
		left, err := r.moved(ctx, i)
		if err != nil {
			return err
		}
		if left != nil {
			out.Left = append(out.Left, *left)
		}
	}
	if len(out.Left) > 0 {
		r.out = out
		return fmt.Errorf("%s: %s", out.Left[0].ID, out.Left[0].Why)
	}
	return nil
}

// readBack finds out what became of a push of which it is not known: nothing is pushed twice
// blindly.
func (r *landing) readBack(ctx context.Context, cause error) error {
	now, err := r.tip(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", act.ErrInDoubt, cause, err)
	}
	in, err := r.isIn(ctx, r.Group.Commit, now)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", act.ErrInDoubt, cause, err)
	case in:
		return nil
	case now != r.Group.Base:
		r.out = &fleet.MergeOutcome{Base: now}
	}
	return cause
}

// Verify reads the target back.
func (r *landing) Verify(ctx context.Context) (string, error) {
	now, err := r.tip(ctx)
	if err != nil {
		return "", err
	}
	if in, err := r.isIn(ctx, r.Group.Commit, now); err != nil || !in {
		return "", fmt.Errorf("cannot verify: %s stands at %.12s, which has not %.12s (%v)", where(r.Queue), now, r.Group.Commit, err)
	}
	r.out = &fleet.MergeOutcome{Base: r.Group.Base, Commit: r.Group.Commit}
	return fmt.Sprintf("%s moved from %.12s to %.12s", where(r.Queue), r.Group.Base, r.Group.Commit), nil
}

// Close implements act.Run.
func (r *landing) Close() {}
