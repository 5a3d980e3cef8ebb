package mergegroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Builder makes the commit of a group, and a worktree for its gates.
type Builder struct{ base }

// NewBuilder makes the action.
func NewBuilder(o Options) *Builder { return &Builder{newBase(o)} }

// Ability implements act.Action.
func (x *Builder) Ability() fleet.Ability {
	return fleet.Ability{Do: Build, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos}, Deadline: fleet.Duration(15 * time.Minute)}
}

// Commands implements act.Action.
func (x *Builder) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Merge
	if t == nil {
		return nil
	}
	var out []fleet.Command
	commit, in := t.Group.Commit, func(args ...string) []string { return append([]string{"git", "-C", t.Queue.Repo}, args...) }
	if commit == "" {
		if commit = "<" + where(t.Queue) + ">"; t.Queue.Remote != "" {
			out = append(out, fleet.Command{Argv: in("fetch", "--no-write-fetch-head", "--refmap=", t.Queue.Remote, "+refs/heads/"+t.Queue.Target+":"), Note: "no ref is moved"})
		}
		for _, i := range t.Items {
			out = append(out, fleet.Command{Argv: in("merge-tree", "--write-tree", commit, i.Commit), Note: "then commit-tree: " + i.ID + ", " + i.Source + "; no checkout is touched"})
			commit = "<merge of " + i.ID + ">"
		}
		out = append(out, settlers(t)...)
	}
	return append(out, fleet.Command{Argv: in("worktree", "add", "--detach", fleet.Path(worktree(t)), commit), Note: "for the gates: " + gates(t.Queue)})
}

func gates(q fleet.MergeQueue) string {
	var names []string
	for _, g := range q.Gates {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}

// Prepare implements act.Action.
func (x *Builder) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	j, err := x.open(ctx, a)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(fleet.RawPath(j.Queue.Dir)) {
		return nil, errors.New("cannot build a merge group: its queue has no folder")
	}
	if x.o.Room != nil {
		if err := x.o.Room(fleet.RawPath(j.Queue.Dir), j.repo); err != nil {
			return nil, err
		}
	}
	return &building{job: j, out: fleet.MergeOutcome{Base: j.Group.Base, Commit: j.Group.Commit, Tree: j.Group.Tree}}, nil
}

type building struct {
	*job
	out    fleet.MergeOutcome
	placed []string // items that are in the commit
}

// Merged says what was learned.
func (r *building) Merged() *fleet.MergeOutcome { return &r.out }

// Do implements act.Run.
func (r *building) Do(ctx context.Context) error {
	if err := r.endMakers(ctx); err != nil { // of a try that was cut off
		return err
	}
	if r.Group.Commit == "" {
		if err := r.merge(ctx); err != nil {
			return err
		}
	}
	if len(r.Items) > 0 && len(r.out.Left) == len(r.Items) {
		return nil // nothing to test
	}
	if err := r.w.KeepRef(ctx, r.repo, r.ref(), r.out.Commit); err != nil {
		return err
	}
	return r.checkout(ctx)
}

// merge merges the items onto the target, one after another. What cannot be merged is left.
func (r *building) merge(ctx context.Context) (err error) {
	if r.out.Base, err = r.tip(ctx); err != nil {
		return err
	}
	if r.Unless == r.out.Base {
		return fmt.Errorf("%s has not moved since its own gates failed, at %.12s", where(r.Queue), r.out.Base)
	}
	r.out.Commit = r.out.Base
	var wrong []error // with single items
	for n := range r.Items {
		i := &r.Items[n]
		left, err := r.add(ctx, i)
		if err != nil || left != nil {
			r.unsettle(i)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			wrong = append(wrong, err)
			r.out.Left = append(r.out.Left, fleet.MergeLeft{ID: i.ID, State: at(err), Why: fleet.Redact(err.Error())})
		case left != nil:
			r.out.Left = append(r.out.Left, *left)
		default:
			r.placed = append(r.placed, i.ID)
		}
	}
	if len(wrong) == len(r.Items) && len(wrong) > 0 { // it is hardly the items' fault
		return errors.Join(wrong...)
	}
	r.out.Tree, err = r.o.Git.Tree(ctx, r.repo, r.out.Commit)
	return err
}

// errUnread says that a branch could not be looked for, which is not its author's fault.
var errUnread = errors.New("it is not known where its branch stands")

// at is the state of an item that could not be merged for an error.
func at(err error) fleet.MergeState {
	if errors.Is(err, errUnread) || errors.Is(err, errUnmade) {
		return fleet.MergeWaiting
	}
	return fleet.MergeFailed
}

// add merges one item onto what there is so far; else it says why it is left.
func (r *building) add(ctx context.Context, i *fleet.MergeItem) (*fleet.MergeLeft, error) {
	left, err := r.moved(ctx, i)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	case left != nil && left.Commit == "":
		return r.gone(ctx, i, left), nil
	case left != nil:
		return left, nil
	}
	why := ""
	m, err := r.w.MergeCommits(ctx, r.repo, r.plan(r.out.Commit, i))
	if err == nil && len(m.Conflicts) > 0 {
		m, why, err = r.settled(ctx, i, m)
	}
	switch {
	case errors.Is(err, errLater):
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Why: err.Error()}, nil
	case errors.Is(err, git.ErrTooMuch) && m.Commit != "" && i.Accepted != i.Commit:
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeHeld, Why: fleet.MergeLoses + "or not: it is too large to tell"}, nil
	case errors.Is(err, git.ErrRunsCode):
		return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeFailed, Why: fleet.Line(err.Error(), 300)}, nil
	case err != nil && !errors.Is(err, git.ErrTooMuch):
		return nil, err
	}
	if left, err = r.judge(ctx, i, m); err != nil {
		return nil, err
	}
	switch {
	case left == nil:
		r.out.Commit = m.Commit
	case left.State == fleet.MergeConflict:
		if left.Why += why; len(r.placed) > 0 {
			return r.conflicts(ctx, i, left)
		}
	}
	return left, nil
}

func (r *building) plan(ours string, i *fleet.MergeItem) git.MergePlan {
	title := i.Title
	if title == "" {
		title = i.Source
	}
	text := fmt.Sprintf("Merge %s: %s\n\nMerged-By: custos\nMerge-Item: %s\n", i.Source, fleet.Line(title, 100), i.ID)
	if i.Agent != "" {
		text += "Agent: " + i.Agent + "\n"
	}
	for _, w := range i.Work {
		text += "Work: " + string(w) + "\n"
	}
	return git.MergePlan{Ours: ours, Theirs: i.Commit, Message: text, Name: "custos", Email: "custos@localhost", At: r.Group.At.Wall}
}

// judge says why an item is left, of what its merge came to; nil when it is merged.
func (r *building) judge(ctx context.Context, i *fleet.MergeItem, m git.Candidate) (*fleet.MergeLeft, error) {
	left := &fleet.MergeLeft{ID: i.ID}
	switch {
	case m.Already:
		return left, r.already(ctx, i, left)
	case m.Empty && len(r.placed) > 0:
		left.State, left.Why = fleet.MergeWaiting, "it changes nothing beside what is merged before it ("+strings.Join(r.placed, ", ")+")"
	case m.Empty:
		left.State, left.Why = fleet.MergeFailed, "it changes nothing that is not in "+where(r.Queue)+" already"
	case m.Unrelated:
		left.State, left.Why = fleet.MergeFailed, "it has no history in common with "+where(r.Queue)
	case m.Commit == "":
		left.State, left.Files = fleet.MergeConflict, names(m.Conflicts)
		left.Why = "it conflicts with " + where(r.Queue) + " in " + few(left.Files)
	case len(m.Lost) > 0 && i.Accepted != i.Commit:
		left.State, left.Why = fleet.MergeHeld, fleet.MergeLoses+lines(m.Lost)
	default:
		return nil, nil
	}
	return left, nil
}

// already is about an item whose commit is in what it was to be merged onto: it was merged
// there, or it never had a commit of its own.
func (r *building) already(ctx context.Context, i *fleet.MergeItem, left *fleet.MergeLeft) error {
	in, err := r.isIn(ctx, i.Commit, r.out.Base)
	if err != nil {
		return err
	}
	if !in {
		left.State, left.Why = fleet.MergeWaiting, "it is in what is merged before it ("+strings.Join(r.placed, ", ")+")"
		return nil
	}
	main, err := r.o.Git.OnFirstParents(ctx, r.repo, i.Commit, r.out.Base)
	own := !main
	if err == nil && main { // the target may have been wound forward to it
		own, err = r.o.Git.MadeOn(ctx, r.repo, i.Source, i.Commit)
	}
	left.State, left.Why, left.Commit = fleet.MergeMerged, "it is in "+where(r.Queue)+" already", r.out.Base
	if !own {
		left.State, left.Why, left.Commit = fleet.MergeFailed, "it has no commit that "+where(r.Queue)+" has not", ""
	}
	return err
}

// gone is about an item whose branch is gone: branches are deleted once they are merged.
func (r *building) gone(ctx context.Context, i *fleet.MergeItem, left *fleet.MergeLeft) *fleet.MergeLeft {
	merged := &fleet.MergeLeft{ID: i.ID}
	if err := r.already(ctx, i, merged); err == nil && merged.State == fleet.MergeMerged {
		return merged
	}
	return left
}

// mostNamed is how many files are named in a line; a list has them all.
const mostNamed = 3

func few(files []string) string {
	if more := len(files) - mostNamed; more > 0 {
		return strings.Join(files[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(files, ", ")
}

// conflicts tells a conflict with the target, which its author has to solve, from one with an
// item before it in this group: that one has to land first.
func (r *building) conflicts(ctx context.Context, i *fleet.MergeItem, left *fleet.MergeLeft) (*fleet.MergeLeft, error) {
	m, err := r.w.MergeCommits(ctx, r.repo, r.plan(r.out.Base, i))
	if err == nil && len(m.Conflicts) > 0 && r.settles() {
		var s git.Settled
		s, err = r.w.Settle(ctx, r.repo, r.plan(r.out.Base, i), r.settling())
		m.Commit = s.Tree // it may be settled there
	}
	if err != nil || m.Commit == "" {
		return left, err
	}
	return &fleet.MergeLeft{ID: i.ID, State: fleet.MergeWaiting, Files: left.Files,
		Why: "it conflicts with what is merged before it (" + strings.Join(r.placed, ", ") + "): it is looked at again once that is decided"}, nil
}

// checkout makes a worktree at the commit, and nothing but that commit is in it.
func (r *building) checkout(ctx context.Context) error {
	top := worktree(&r.MergeTarget)
	if err := os.MkdirAll(filepath.Dir(top), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of its gates: %w", err)
	}
	plan := git.WorktreePlan{Repo: r.repo, Path: top, Start: r.out.Commit}
	if err := r.w.Discard(ctx, plan); err != nil { // of a try that was cut off
		return err
	}
	if err := r.w.AddWhole(ctx, plan); err != nil {
		return err
	}
	r.out.Worktree = fleet.Path(top)
	return nil
}

// Verify implements act.Run.
func (r *building) Verify(ctx context.Context) (string, error) {
	if r.out.Worktree == "" {
		return "none of its items can be merged", nil
	}
	p, err := git.At(fleet.RawPath(r.out.Worktree))
	if err != nil {
		return "", err
	}
	head, _, err := r.o.Git.Head(ctx, p)
	if err != nil || head != r.out.Commit {
		return "", fmt.Errorf("cannot verify: its worktree is at %.12s, not %.12s (%v)", head, r.out.Commit, err)
	}
	return fmt.Sprintf("built %.12s on %.12s, of %s", r.out.Commit, r.out.Base, fleet.Counted(len(r.Items)-len(r.out.Left), "item")) + told(r.out.Settled), nil
}

// Close implements act.Run.
func (r *building) Close() {}
