package git

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"custos/internal/fleet"
	sysgit "custos/internal/sys/git"
)

// main looks at a repository through its main worktree, and returns the linked
// worktrees that are to be looked at.
func (l *look) main(ctx context.Context, f seed) (fleet.Repo, []sysgit.Target) {
	r := fleet.Repo{Path: fleet.Path(f.place.Top), GitDir: fleet.Path(f.place.Common), Owner: f.owner, Pinned: l.pinned(f.place.Top)}
	if f.err != nil {
		blind(&r, f.err)
		return r, nil
	}
	list, err := l.p.o.Git.Worktrees(ctx, f.place.Common)
	l.ran(err)
	if err == nil && len(list) == 0 {
		err = errors.New("git lists no worktree, not even the main one")
	}
	if err != nil {
		l.unlist(r.Path, err)
		blind(&r, err)
		return r, nil
	}
	primary, stashes := l.shared(ctx, f.place)
	r.Primary = leaf(primary, func(p sysgit.Primary) string { return fleet.Path(p.Name) })
	r.Stashes = leaf(stashes, func(s []sysgit.Stash) int { return len(s) })
	l.mainWorktree(ctx, f.place, list[0], &r)
	var targets []sysgit.Target
	for _, w := range list[1:] {
		targets = append(targets, sysgit.Target{Common: f.place.Common, Listed: w, Primary: primary, Stashes: stashes, Markers: l.p.o.Crashed})
	}
	return r, targets
}

func (l *look) pinned(top string) bool {
	for _, pattern := range l.p.o.Pinned {
		if ok, err := filepath.Match(pattern, top); ok && err == nil || pattern == top {
			return true
		}
	}
	return false
}

// blind: nothing of the repository could be seen.
func blind(r *fleet.Repo, err error) {
	why := because(err)
	r.Primary, r.Branch, r.Head, r.Operation = fleet.Unknown[string](why), fleet.Unknown[string](why), fleet.Unknown[string](why), fleet.Unknown[string](why)
	r.OperationAge = fleet.Unknown[fleet.Duration](why)
	r.Dirty, r.Ahead, r.Behind, r.Stashes = fleet.Unknown[int](why), fleet.Unknown[int](why), fleet.Unknown[int](why), fleet.Unknown[int](why)
	r.Occupied = fleet.Unknown[[]int](why)
}

func (l *look) mainWorktree(ctx context.Context, p sysgit.Place, listed sysgit.Listed, r *fleet.Repo) {
	if listed.Bare {
		r.Branch, r.Head, r.Operation = fleet.Known(""), fleet.Known(""), fleet.Known("")
		r.OperationAge = fleet.Unknown[fleet.Duration]("nothing is under way")
		r.Dirty, r.Ahead, r.Behind, r.Occupied = fleet.Known(0), fleet.Known(0), fleet.Known(0), fleet.Known([]int{})
		return
	}
	op := sysgit.Answered(p.Operation())
	r.Operation = leaf(op, func(o sysgit.Operation) string { return o.Name })
	r.OperationAge = operationAge(op, l.now)
	inside := l.inside(p.Top, false)
	if pids, err := inside.Get(); err == nil && len(pids) == 0 && l.mendable(op, listed, r) {
		inside = l.held(p.Top)
	}
	r.Occupied = leaf(inside, func(pids []int) []int { return append([]int{}, pids...) })
	changes := l.changes(ctx, p)
	r.Branch = leaf(changes, func(sysgit.Changes) string { return fleet.Path(listed.Branch) })
	r.Head = leaf(changes, func(sysgit.Changes) string { return listed.Head })
	r.Dirty = dirty(changes, func(c sysgit.Changes) int { return len(c.Dirty) })
	r.Ahead = leaf(changes, func(c sysgit.Changes) int { return c.Ahead })
	r.Behind = leaf(changes, func(c sysgit.Changes) int { return c.Behind })
}

// mendable says whether something may be done to a main worktree if nobody is in it.
func (l *look) mendable(a sysgit.Answer[sysgit.Operation], listed sysgit.Listed, r *fleet.Repo) bool {
	op, err := a.Get()
	primary, known := r.Primary.Get()
	return err == nil && op.Name != "" || r.Pinned && known && fleet.Path(listed.Branch) != primary
}

func operationAge(a sysgit.Answer[sysgit.Operation], now time.Time) fleet.Leaf[fleet.Duration] {
	op, err := a.Get()
	switch {
	case err != nil:
		return fleet.Unknown[fleet.Duration](because(err))
	case op.Name == "":
		return fleet.Unknown[fleet.Duration]("nothing is under way")
	}
	return fleet.Known(age(now, op.Moved))
}
