// Package removeworktree is the action that removes a linked worktree nobody
// needs any more: everything in it is backed up first, and it is removed only
// when nothing stands against it at the very instant. One that was preserved after
// a crash goes after its day with the work that is in it, when the backup holds all
// of that. Its branch stays.
package removeworktree

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

// Name is the action's name in rules.
const Name = "remove-worktree"

// Options of the action.
type Options struct {
	// Primary is the primary branch; default as the git probe finds it.
	Primary string `toml:"primary"`
	// Crashed are patterns of crash markers, as the git probe has them.
	Crashed []string `toml:"crashed"`
	// Git is the reader; default git.New.
	Git *git.Reader `toml:"-"`
	// Backup bounds the backup.
	Backup git.WriterOptions `toml:"-"`
	// CrashedIn returns since when no agent comes back to a worktree (raw) that an agent of
	// ours crashed in; zero where none did. Default: none did.
	CrashedIn func(ctx context.Context, path string) (time.Time, error) `toml:"-"`
	// Occupied says who stands in a folder. Without it nothing is ever removed.
	Occupied git.Occupied `toml:"-"`
	// Now is the clock; default time.Now.
	Now func() time.Time `toml:"-"`
}

// Action removes worktrees.
type Action struct {
	o Options
	w *git.Writer
}

// New returns the action.
func New(o Options) *Action {
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CrashedIn == nil {
		o.CrashedIn = func(context.Context, string) (time.Time, error) { return time.Time{}, nil }
	}
	return &Action{o: o, w: git.NewWriter(o.Git, o.Backup)}
}

// Ability says what the action needs and promises.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Name, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos, fleet.PartHost},
		Deadline: fleet.Duration(15 * time.Minute)}
}

// Commands returns what would be run. The backup is several commands on a
// private index; the one that names it stands for them.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	w := a.Target.Worktree
	if w == nil {
		return nil
	}
	name := git.RefName(fleet.RawPath(w.Branch.Or("")), fleet.RawPath(w.Path))
	return []fleet.Command{
		{Argv: []string{"git", "-C", w.Repo, "update-ref", git.BackupRefs + fleet.Path(name) + "/<UTC time>", "<commit>"},
			Note: "back up: HEAD, index, changed, untracked and precious ignored files, and commits only it knows of"},
		{Argv: []string{"git", "-C", w.Repo, "worktree", "remove", "--", w.Path}, Note: "the branch stays"},
	}
}

// Prepare looks at the worktree again, whole.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	if a.Target.Worktree == nil {
		return nil, errors.New("cannot remove a worktree: the target is none")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &run{x: x, target: *a.Target.Worktree}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	r.freeBefore, _ = git.Free(filepath.Dir(r.status.Place.Top)) // only to report
	return r, nil
}

type run struct {
	x          *Action
	target     fleet.Worktree
	status     git.Status
	backup     git.Backup
	freeBefore int64
}

// look re-reads everything: identity, obstacles, and who is inside.
func (r *run) look(ctx context.Context) error {
	if !r.target.Owner.MayTouch() {
		return fmt.Errorf("%w: it is foreign", act.ErrRefused)
	}
	top, main := fleet.RawPath(r.target.Path), fleet.RawPath(r.target.Repo)
	repo, err := git.At(main)
	if err != nil {
		return fmt.Errorf("cannot look at the repository: %w", err)
	}
	listed, ok, err := r.x.o.Git.Registered(ctx, repo.Common, top)
	if err != nil {
		return err
	}
	if !ok {
		if _, err := os.Lstat(top); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: it is gone", act.ErrUnneeded)
		}
		return fmt.Errorf("%w: it is no worktree of %s", act.ErrRefused, r.target.Repo)
	}
	r.status = r.x.o.Git.Look(ctx, r.x.o.Git.Ask(ctx, repo.Common, listed, r.x.o.Primary, r.x.o.Crashed))
	if err := ctx.Err(); err != nil {
		return err
	}
	since, err := r.x.o.CrashedIn(ctx, top)
	if err != nil {
		return fmt.Errorf("%w: it cannot be told whether its agent is wanted again: %w", act.ErrRefused, err)
	}
	r.status.Kept(since)
	r.status.Occupied = git.Answered(r.x.o.Occupied.In(ctx, top))
	return r.judge()
}

func (r *run) judge() error {
	if r.status.Missing != r.target.Missing {
		return fmt.Errorf("%w: its folder went or came back since it was looked at", act.ErrRefused)
	}
	if r.target.Crashed && r.status.Crashed.IsZero() {
		return fmt.Errorf("%w: it is not kept after a crash any more: its agent is wanted again, or its mark is gone", act.ErrRefused)
	}
	head, err := r.status.Head.Get()
	if err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	if was, ok := r.target.Head.Get(); !ok || was != head.Commit {
		return fmt.Errorf("%w: HEAD was %.12s when it was looked at, and is %.12s", act.ErrRefused, was, head.Commit)
	}
	if was, ok := r.target.Branch.Get(); !ok || was != fleet.Path(head.Branch) {
		return fmt.Errorf("%w: it was on branch %q, and is on %q", act.ErrRefused, was, head.Branch)
	}
	if obstacles, known := git.Obstacles(r.status, r.x.o.Now()); len(obstacles) > 0 || !known {
		return fmt.Errorf("%w: %s", act.ErrRefused, strings.Join(obstacles, "; "))
	}
	return nil
}

// Do backs up, looks once more, and removes.
func (r *run) Do(ctx context.Context) (err error) {
	if r.backup, err = r.x.w.Backup(ctx, r.status.Place); err != nil {
		return err
	}
	if err := r.look(ctx); err != nil {
		return fmt.Errorf("cannot remove it, it changed while it was backed up to %s: %w", r.backup.Ref, err)
	}
	if git.OnlySaved(r.status, r.x.o.Now()) {
		return r.x.w.RemoveSaved(ctx, r.status.Place, r.backup)
	}
	return r.x.w.RemoveWorktree(ctx, r.status.Place, r.x.o.Crashed)
}

// Verify checks that folder and entry are gone and the backup is there.
func (r *run) Verify(ctx context.Context) (string, error) {
	p := r.status.Place
	if _, err := os.Lstat(p.Top); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("cannot verify: %q is still there (%v)", p.Top, err)
	}
	if _, ok, err := r.x.o.Git.Registered(ctx, p.Common, p.Top); ok || err != nil {
		return "", fmt.Errorf("cannot verify: git still lists it (%v)", err)
	}
	tips, err := r.x.o.Git.Tips(ctx, p.Common, r.backup.Ref)
	if err != nil || tips[r.backup.Ref] != r.backup.Commit {
		return "", fmt.Errorf("cannot verify: the backup %s is not there (%v)", r.backup.Ref, err)
	}
	return r.effect(), nil
}

func (r *run) effect() string {
	size, _ := r.status.Size.Get()
	s := fmt.Sprintf("removed, %s freed", git.InWords(size.Bytes))
	if free, err := git.Free(filepath.Dir(r.status.Place.Top)); err == nil && r.freeBefore > 0 {
		s += fmt.Sprintf(" (free space changed by %s)", git.InWords(free-r.freeBefore))
	}
	return s + ", backup " + fleet.Path(r.backup.Ref)
}

// Close has nothing to release.
func (r *run) Close() {}
