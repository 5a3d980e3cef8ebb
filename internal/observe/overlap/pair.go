package overlap

import (
	"context"
	"slices"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// mostNamed is how many files are named to git; of more it is asked about all.
const mostNamed = 200

// pairKey is two worktrees.
type pairKey struct{ one, other *tree }

// pair is what is known of two worktrees.
type pair struct {
	of        basis
	met       bool // both have changed a file
	hot, soft []string
	ofs       [2][]string // what agents of each were started for and the other has changed
	heads     [2]string
	conflicts fleet.Leaf[[]string]
}

// basis is what that rests on.
type basis struct {
	one, other edited
	assigned   string
}

// pair compares two worktrees, unless that is known, and tells of what both change, and of what one
// changes that the other was started for.
func (l *look) pair(ctx context.Context, base string, one, other *tree) {
	key := pairKey{one, other}
	now, of := l.p.pairs[key], basis{one.known, other.known, assignedTo(one, other)}
	if now == nil || now.of != of {
		was := now
		now = &pair{of: of, heads: [2]string{one.head, other.head}, conflicts: fleet.Known[[]string](nil)}
		if err := l.compare(ctx, base, one, other, was, now); err != nil {
			l.cannot(fleet.OverlapName(fleet.Path(one.place.Top), fleet.Path(other.place.Top)), err)
			return
		}
	}
	if now.met || of.assigned != "" { // of others it is as quick to find anew that they have not met
		l.pairs[key] = now
	}
	if len(now.hot)+len(now.soft)+len(now.ofs[0])+len(now.ofs[1])+len(now.conflicts.Or(nil)) > 0 {
		l.found = append(l.found, now.overlap(one, other))
	}
}

func (p *pair) overlap(one, other *tree) fleet.Overlap {
	top, next := fleet.Path(one.place.Top), fleet.Path(other.place.Top)
	return fleet.Overlap{Name: fleet.OverlapName(top, next), Repo: fleet.Path(one.place.Main()), One: top, Other: next,
		Hot: p.hot, Soft: p.soft, Conflicts: p.conflicts, OfOne: p.ofs[0], OfOther: p.ofs[1], OneIn: one.in, OtherIn: other.in}
}

// compare fills in what there is to tell of two, where they have met at all.
func (l *look) compare(ctx context.Context, base string, one, other *tree, was, now *pair) error {
	both := one.shares(other)
	now.met = len(both) > 0
	paths := unique(slices.Concat(both, one.mine(other.edits), other.mine(one.edits)))
	if len(paths) == 0 {
		return nil
	}
	fork, err := l.fork(ctx, one.place, one.head, other.head)
	if err != nil {
		return err
	}
	a, b, err := l.changes(ctx, base, fork, one, other, paths)
	if err != nil {
		return err
	}
	now.hot, now.soft = compare(a, b)
	now.ofs = assigned(one, other, a, b)
	switch {
	case !now.met:
	case was != nil && was.met && was.heads == now.heads:
		now.conflicts = was.conflicts
	default:
		now.conflicts = l.conflicts(ctx, fork, one, other)
	}
	return nil
}

// changes is what two have changed since they parted. Where that is later than what all come
// from, git is asked anew: what both have from one of them is no change of the other.
func (l *look) changes(ctx context.Context, base, fork string, one, other *tree, paths []string) (a, b []git.Edit, err error) {
	if fork == base || fork == "" {
		return one.edits, other.edits, nil
	}
	if len(paths) > mostNamed {
		paths = nil
	}
	if a, err = l.p.o.Git.Edits(ctx, one.place, fork, paths...); err != nil {
		return nil, nil, err
	}
	b, err = l.p.o.Git.Edits(ctx, other.place, fork, paths...)
	return one.ofItsOwn(a), other.ofItsOwn(b), err
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
	files = slices.DeleteFunc(files, func(f string) bool { return one.hasFromOthers(f) || other.hasFromOthers(f) })
	for i, f := range files {
		files[i] = fleet.Path(f)
	}
	return fleet.Known(some(files))
}
