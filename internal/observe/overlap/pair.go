package overlap

import (
	"context"

	"custos/internal/fleet"
)

// mostNamed is how many files are named to git; of more it is asked about all.
const mostNamed = 200

// pair is what is known of two worktrees that change the same files.
type pair struct {
	one, other edited
	hot, soft  []string
	heads      [2]string
	conflicts  fleet.Leaf[[]string]
}

// pair compares two worktrees that share paths, unless that is known, and tells of what they share.
func (l *look) pair(ctx context.Context, base string, one, other *tree, paths []string) {
	name := fleet.OverlapName(fleet.Path(one.place.Top), fleet.Path(other.place.Top))
	was := l.p.pairs[name]
	now := pair{one: one.known, other: other.known, heads: [2]string{one.head, other.head}}
	switch {
	case was != nil && was.one == now.one && was.other == now.other:
		now = *was
	default:
		fork, err := l.fork(ctx, one.place, one.head, other.head)
		if err == nil {
			now.hot, now.soft, err = l.changes(ctx, base, fork, one, other, paths)
		}
		if err != nil {
			l.cannot(name, err)
			return
		}
		if was != nil && was.heads == now.heads {
			now.conflicts = was.conflicts
		} else {
			now.conflicts = l.conflicts(ctx, fork, one, other)
		}
	}
	l.pairs[name] = &now
	if len(now.hot)+len(now.soft)+len(now.conflicts.Or(nil)) > 0 {
		l.found = append(l.found, fleet.Overlap{Name: name, Repo: fleet.Path(one.place.Main()), One: fleet.Path(one.place.Top), Other: fleet.Path(other.place.Top),
			Hot: now.hot, Soft: now.soft, Conflicts: now.conflicts, OneIn: one.in, OtherIn: other.in})
	}
}

// changes compares what two have changed since they parted. Where that is later than what all come
// from, git is asked anew: what both have from one of them is no change of the other.
func (l *look) changes(ctx context.Context, base, fork string, one, other *tree, paths []string) (hot, soft []string, err error) {
	a, b := one.edits, other.edits
	if fork != base && fork != "" {
		if len(paths) > mostNamed {
			paths = nil
		}
		if a, err = l.p.o.Git.Edits(ctx, one.place, fork, paths...); err != nil {
			return nil, nil, err
		}
		if b, err = l.p.o.Git.Edits(ctx, other.place, fork, paths...); err != nil {
			return nil, nil, err
		}
	}
	hot, soft = compare(a, b)
	return hot, soft, nil
}

// conflicts says where what both have committed does not merge.
func (l *look) conflicts(ctx context.Context, fork string, one, other *tree) fleet.Leaf[[]string] {
	if fork == "" || fork == one.head || fork == other.head {
		return fleet.Known[[]string](nil)
	}
	files, err := l.p.o.Git.Conflicts(ctx, one.place, one.head, other.head)
	if err != nil {
		return fleet.Unknown[[]string](fleet.Line(err.Error(), 200))
	}
	for i, f := range files {
		files[i] = fleet.Path(f)
	}
	return fleet.Known(some(files))
}
