package mergegroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/act"
	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// Clearer takes away the worktrees and the refs that were made for a group that is decided.
type Clearer struct{ base }

// NewClearer makes the action.
func NewClearer(o Options) *Clearer { return &Clearer{newBase(o)} }

// Ability implements act.Action.
func (x *Clearer) Ability() fleet.Ability {
	return fleet.Ability{Do: Clear, Idempotent: true, Touches: []fleet.PartName{fleet.PartRepos, fleet.PartHost}, Deadline: fleet.Duration(15 * time.Minute)}
}

// Commands implements act.Action.
func (x *Clearer) Commands(a fleet.Action) []fleet.Command {
	t := a.Target.Merge
	if t == nil {
		return nil
	}
	return []fleet.Command{
		{Argv: []string{"git", "-C", t.Queue.Repo, "worktree", "remove", "--force", t.Group.Worktree}, Note: "and those of its earlier runs: what gates leave there is nobody's work"},
		{Argv: []string{"git", "-C", t.Queue.Repo, "update-ref", "-d", refs + t.Queue.Name + "/" + t.Group.ID}},
	}
}

// Prepare implements act.Action.
func (x *Clearer) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	j, err := x.open(ctx, a)
	if err != nil {
		return nil, err
	}
	if !j.Group.Decided() {
		return nil, fmt.Errorf("%w: %s is %s", act.ErrRefused, j.Group.ID, j.Group.State)
	}
	r := &clearing{j}
	made, err := r.made(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := j.named(ctx, j.ref())
	if err != nil {
		return nil, err
	}
	if len(made) == 0 && kept == "" && len(j.makers()) == 0 {
		return nil, fmt.Errorf("%w: nothing of it is left", act.ErrUnneeded)
	}
	return r, nil
}

type clearing struct{ *job }

// made are the worktrees of the group, raw: those that are there, and those that git has on
// record though they are gone.
func (r *clearing) made(ctx context.Context) (tops []string, err error) {
	dir := fleet.RawPath(r.Queue.Dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		tops = append(tops, filepath.Join(dir, e.Name()))
	}
	list, err := r.o.Git.Worktrees(ctx, r.repo)
	for _, l := range list {
		if filepath.Dir(l.Path) == dir {
			tops = append(tops, l.Path)
		}
	}
	slices.Sort(tops)
	return slices.DeleteFunc(slices.Compact(tops), func(top string) bool {
		run, is := strings.CutPrefix(filepath.Base(top), r.Group.ID+"-")
		_, err := strconv.Atoi(run)
		return !is || err != nil
	}), err
}

// Do implements act.Run. One worktree that cannot be taken away keeps no other.
func (r *clearing) Do(ctx context.Context) error {
	if err := r.endMakers(ctx); err != nil {
		return err
	}
	made, err := r.made(ctx)
	for _, top := range made {
		err = errors.Join(err, r.w.Discard(ctx, git.WorktreePlan{Repo: r.repo, Path: top}))
	}
	return errors.Join(err, r.w.DropRef(ctx, r.repo, r.ref()))
}

// Verify implements act.Run.
func (r *clearing) Verify(ctx context.Context) (string, error) {
	made, err := r.made(ctx)
	if err == nil && len(made) > 0 {
		err = fmt.Errorf("cannot verify: %s is still there", fleet.Path(made[0]))
	}
	return "its worktree is gone", err
}

// Close implements act.Run.
func (r *clearing) Close() {}
