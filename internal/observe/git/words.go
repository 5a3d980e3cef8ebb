package git

import (
	"slices"
	"time"

	"custos/internal/fleet"
	sysgit "custos/internal/sys/git"
)

// leaf turns an answer into a leaf of the snapshot.
func leaf[T, U any](a sysgit.Answer[T], say func(T) U) fleet.Leaf[U] {
	v, err := a.Get()
	if err != nil {
		return fleet.Unknown[U](because(err))
	}
	return fleet.Known(say(v))
}

// dirty counts changed files, where it can be told of every file whether it changed.
func dirty(a sysgit.Answer[sysgit.Changes], count func(sysgit.Changes) int) fleet.Leaf[int] {
	c, err := a.Get()
	if err == nil {
		err = c.Certain()
	}
	if err != nil {
		return fleet.Unknown[int](because(err))
	}
	return fleet.Known(count(c))
}

// because makes an error safe to show; nil, where there should have been one, is
// said, too.
func because(err error) string {
	if err == nil {
		return "git said nothing"
	}
	return fleet.Line(fleet.Redact(err.Error()), 300)
}

// age is how long ago a file changed; 0 for one from the future.
func age(now, then time.Time) fleet.Duration { return fleet.Duration(max(0, now.Sub(then))) }

// words turns a status into the words of the fleet. Repo and Owner are left.
func words(s sysgit.Status, t sysgit.Target, now time.Time) fleet.Worktree {
	w := fleet.Worktree{Path: fleet.Path(t.Listed.Path), Missing: s.Missing, Locked: s.Locked}
	w.Branch = leaf(s.Head, func(h sysgit.Head) string { return fleet.Path(h.Branch) })
	w.Head = leaf(s.Head, func(h sysgit.Head) string { return h.Commit })
	w.Operation = leaf(s.Operation, func(o sysgit.Operation) string { return o.Name })
	w.OperationAge = operationAge(s.Operation, now)
	w.Unpushed = leaf(s.Unpushed, func(n int) int { return n })
	w.Stashed = leaf(s.Stashed, func(n int) int { return n })
	w.Merged = leaf(s.Merged, func(m sysgit.Merged) bool { return m.Yes })
	if m, err := s.Merged.Get(); err == nil {
		w.MergedBy = m.By
	}
	w.Occupied = leaf(s.Occupied, func(pids []int) []int { return append([]int{}, pids...) })
	w.CrashedAge = fleet.Unknown[fleet.Duration]("it was not preserved after a crash")
	if w.Crashed = !s.Crashed.IsZero(); w.Crashed {
		w.CrashedAge = fleet.Known(age(now, s.Crashed))
	}
	if s.Missing {
		nothingThere(&w, s, now)
	} else {
		files(&w, s, now)
	}
	judge(&w, s, now)
	return w
}

// nothingThere: a folder that is gone holds nothing.
func nothingThere(w *fleet.Worktree, s sysgit.Status, now time.Time) {
	w.Age = fleet.Unknown[fleet.Duration]("it cannot be told when it was last used")
	if !s.Moved.IsZero() {
		w.Age = fleet.Known(age(now, s.Moved))
	}
	w.Bytes, w.Bulk, w.BulkBytes = fleet.Known[int64](0), fleet.Known([]fleet.Bulk{}), fleet.Known[int64](0)
	w.Dirty, w.Untracked, w.Precious = fleet.Known(0), fleet.Known(0), fleet.Known([]string{})
}

func files(w *fleet.Worktree, s sysgit.Status, now time.Time) {
	w.Age = leaf(s.Size, func(z sysgit.Size) fleet.Duration { return min(age(now, z.Newest), age(now, s.Moved)) })
	w.Bytes = leaf(s.Size, func(z sysgit.Size) int64 { return z.Bytes })
	w.Bulk = leaf(s.Size, bulk)
	w.BulkBytes = leaf(s.Size, func(z sysgit.Size) (n int64) {
		for _, b := range z.Bulk {
			n += b.Bytes
		}
		return n
	})
	w.Dirty = dirty(s.Changes, func(c sysgit.Changes) int { return len(c.Dirty) + len(c.Hidden) })
	w.Untracked = leaf(s.Changes, func(c sysgit.Changes) int { return len(c.Untracked) })
	w.Precious = leaf(s.Precious, func(names []string) []string {
		list := []string{}
		for _, n := range names[:min(len(names), maxPrecious)] {
			list = append(list, fleet.Path(n))
		}
		return list
	})
}

func bulk(z sysgit.Size) []fleet.Bulk {
	list := []fleet.Bulk{}
	for _, b := range z.Bulk {
		list = append(list, fleet.Bulk{Path: fleet.Path(b.Path), Bytes: b.Bytes, What: fleet.Path(b.What)})
	}
	slices.SortStableFunc(list, func(a, b fleet.Bulk) int { return int(max(-1, min(1, b.Bytes-a.Bytes))) })
	return list
}

func judge(w *fleet.Worktree, s sysgit.Status, now time.Time) {
	obstacles, known := sysgit.Obstacles(s, now)
	for _, o := range obstacles {
		w.Obstacles = append(w.Obstacles, fleet.Line(fleet.Redact(o), 300))
	}
	w.Removable = fleet.Known(len(obstacles) == 0)
	if !known {
		w.Removable = fleet.Unknown[bool](fleet.Line("it cannot be told: "+obstacles[len(obstacles)-1], 300))
	}
}
