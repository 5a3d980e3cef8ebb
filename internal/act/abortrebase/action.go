// Package abortrebase is the action that gives up a rebase that was left
// standing: everything that is in the worktree is backed up first, the half-done
// commits, the conflicts and an autostash too.
package abortrebase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Name is the action's name in rules.
const Name = "abort-rebase"

// Options of the action.
type Options struct {
	// MinAge is how long nothing in the rebase may have moved; default "1h".
	MinAge string `toml:"min_age" is:"duration"`
	// Git is the reader; default git.New.
	Git *git.Reader `toml:"-"`
	// Backup bounds the backup.
	Backup git.WriterOptions `toml:"-"`
	// Occupied says who stands in a folder. Without it nothing is ever aborted.
	Occupied git.Occupied `toml:"-"`
	// Now is the clock; default time.Now.
	Now func() time.Time `toml:"-"`
}

// Action aborts rebases.
type Action struct {
	o      Options
	minAge time.Duration
	w      *git.Writer
}

// New returns the action. It fails when min_age cannot be read.
func New(o Options) (*Action, error) {
	minAge := time.Hour
	if o.MinAge != "" {
		var err error
		if minAge, err = fleet.ParseDuration(o.MinAge); err != nil {
			return nil, fmt.Errorf("cannot read min_age of %s: %w", Name, err)
		}
	}
	if o.Git == nil {
		o.Git = git.New(git.Options{})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Action{o: o, minAge: minAge, w: git.NewWriter(o.Git, o.Backup)}, nil
}

// Ability says what the action needs and promises.
func (x *Action) Ability() fleet.Ability {
	return fleet.Ability{Do: Name, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos}, Deadline: fleet.Duration(10 * time.Minute)}
}

// subject is what of a target matters here.
type subject struct {
	path   string // safe form
	branch string
	owner  fleet.Owner
	head   fleet.Leaf[string]
}

func of(t fleet.Target) (subject, bool) {
	switch {
	case t.Repo != nil:
		return subject{t.Repo.Path, t.Repo.Branch.Or(""), t.Repo.Owner, t.Repo.Head}, true
	case t.Worktree != nil:
		return subject{t.Worktree.Path, t.Worktree.Branch.Or(""), t.Worktree.Owner, t.Worktree.Head}, true
	}
	return subject{}, false
}

// Commands returns what would be run. The backup is several commands on a
// private index; the one that names it stands for them.
func (x *Action) Commands(a fleet.Action) []fleet.Command {
	s, ok := of(a.Target)
	if !ok {
		return nil
	}
	name := git.RefName(fleet.RawPath(s.branch), fleet.RawPath(s.path))
	return []fleet.Command{
		{Argv: []string{"git", "-C", s.path, "update-ref", git.BackupRefs + fleet.Path(name) + "/<UTC time>", "<commit>"},
			Note: "back up: HEAD, index with conflicts, changed, untracked and precious ignored files, autostash"},
		{Argv: []string{"git", "-C", s.path, "rebase", "--abort"}},
	}
}

// Prepare looks at the rebase again.
func (x *Action) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	s, ok := of(a.Target)
	if !ok {
		return nil, errors.New("cannot abort a rebase: the target is neither repository nor worktree")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !s.owner.MayTouch() {
		return nil, fmt.Errorf("%w: it is foreign", act.ErrRefused)
	}
	place, err := git.At(fleet.RawPath(s.path))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, git.ErrNotRepository) {
		return nil, fmt.Errorf("%w: the worktree is gone", act.ErrUnneeded)
	}
	if err != nil {
		return nil, err
	}
	r := &run{x: x, place: place}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	if err := r.same(ctx, s); err != nil {
		return nil, err
	}
	return r, nil
}

type run struct {
	x      *Action
	place  git.Place
	moved  time.Time
	commit string // where the rebase began
	branch string
	backup git.Backup
}

// look re-reads the operation and who is inside.
func (r *run) look(ctx context.Context) error {
	op, err := r.place.Operation()
	switch {
	case err != nil:
		return err
	case op.Name == "":
		return fmt.Errorf("%w: no rebase is in progress", act.ErrUnneeded)
	case op.Name != "rebase":
		return fmt.Errorf("%w: a %s is in progress, not a rebase", act.ErrRefused, op.Name)
	}
	if age := r.x.o.Now().Sub(op.Moved); age < r.x.minAge {
		return fmt.Errorf("%w: the rebase moved %s ago, less than %s", act.ErrRefused, age.Round(time.Second), r.x.minAge)
	}
	if err := r.x.o.Git.RunsCode(ctx, r.place); err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	if err := r.x.o.Occupied.Free(ctx, r.place.Top); err != nil {
		return fmt.Errorf("%w: %w", act.ErrRefused, err)
	}
	r.moved = op.Moved
	r.commit, r.branch, err = r.place.RebaseOrigin()
	return err
}

// same checks that HEAD is where it was seen: a rebase that went on is being worked on.
func (r *run) same(ctx context.Context, s subject) error {
	head, _, err := r.x.o.Git.Head(ctx, r.place)
	if err != nil {
		return err
	}
	if was, ok := s.head.Get(); !ok || was != head {
		return fmt.Errorf("%w: HEAD was %.12s when it was looked at, and is %.12s", act.ErrRefused, was, head)
	}
	return nil
}

// Do backs up, looks once more, and aborts.
func (r *run) Do(ctx context.Context) (err error) {
	if r.backup, err = r.x.w.Backup(ctx, r.place); err != nil {
		return err
	}
	moved := r.moved
	if err := r.look(ctx); err != nil {
		return fmt.Errorf("cannot abort the rebase, it changed while it was backed up to %s: %w", r.backup.Ref, err)
	}
	if !r.moved.Equal(moved) {
		return fmt.Errorf("cannot abort the rebase, it moved while it was backed up to %s", r.backup.Ref)
	}
	return r.x.w.AbortRebase(ctx, r.place)
}

// Verify checks that the rebase is gone and HEAD where it was before.
func (r *run) Verify(ctx context.Context) (string, error) {
	if op, err := r.place.Operation(); err != nil || op.Name != "" {
		return "", fmt.Errorf("cannot verify: %q is still in progress (%v)", op.Name, err)
	}
	commit, branch, err := r.x.o.Git.Head(ctx, r.place)
	if err != nil || commit != r.commit || branch != r.branch {
		return "", fmt.Errorf("cannot verify: HEAD is %.12s on %q, want %.12s on %q (%v)", commit, branch, r.commit, r.branch, err)
	}
	tips, err := r.x.o.Git.Tips(ctx, r.place.Common, r.backup.Ref)
	if err != nil || tips[r.backup.Ref] != r.backup.Commit {
		return "", fmt.Errorf("cannot verify: the backup %s is not there (%v)", r.backup.Ref, err)
	}
	return fmt.Sprintf("rebase aborted, HEAD is %.12s again, backup %s", commit, fleet.Path(r.backup.Ref)), nil
}

// Close has nothing to release.
func (r *run) Close() {}
