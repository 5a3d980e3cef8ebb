package ledger

import (
	"path"

	"custos/internal/fleet"
)

// CrashedTrees returns the worktrees that agents of ours crashed in, and since when
// nobody comes back to each: the end of the last agent that had it, or what was said
// after that. A worktree that anybody may come back to by itself is in no crash, and
// neither is one of which any of this is not known.
func CrashedTrees(regs []fleet.Registration) map[string]fleet.Instant {
	had := map[string][]*fleet.Registration{}
	for i := range regs {
		if r := &regs[i]; r.Owner == fleet.OwnerCustos && r.Worktree != "" {
			had[r.Tree()] = nil
		}
	}
	for i := range regs {
		if tree := treeOf(&regs[i], had); tree != "" {
			had[tree] = append(had[tree], &regs[i])
		}
	}
	crashed := map[string]fleet.Instant{}
	for tree, by := range had {
		if since, is := crashedSince(by); is {
			crashed[tree] = since
		}
	}
	return crashed
}

// treeOf finds the worktree that an agent works in, among those known.
func treeOf(r *fleet.Registration, known map[string][]*fleet.Registration) string {
	for _, dir := range []string{r.Tree(), r.Worktree, r.Real, r.Dir} {
		for ; len(dir) > 1; dir = path.Dir(dir) {
			if _, is := known[dir]; is {
				return dir
			}
		}
	}
	return ""
}

// crashedSince says since when nobody comes back to a worktree in which the last of
// those who had it crashed; false where any of them may come back.
func crashedSince(by []*fleet.Registration) (since fleet.Instant, is bool) {
	var last *fleet.Exit
	for _, r := range by {
		if r.Exit == nil || r.Exit.At.IsZero() || comesBack(r) {
			return since, false
		}
		if last == nil || last.At.Before(r.Exit.At) {
			last = r.Exit
		}
		since = later(since, r.Exit.At)
		if r.Desired != fleet.DesiredRunning {
			since = later(since, r.DesiredAt) // whoever stops it may want to look at what it left
		}
	}
	return since, last != nil && isDeath(*last)
}

// comesBack says whether an agent that ended may be started again by itself. One that
// was given up is tried again when its window opens; an adopted one may be started by
// the system it is of.
func comesBack(r *fleet.Registration) bool {
	switch r.Desired {
	case fleet.DesiredRetired:
		return false
	case fleet.DesiredStopped:
		return r.Owner != fleet.OwnerCustos
	}
	return r.Owner != fleet.OwnerCustos || r.Desired != fleet.DesiredRunning || r.Restart != fleet.RestartNever
}

func later(a, b fleet.Instant) fleet.Instant {
	if a.IsZero() || a.Before(b) {
		return b
	}
	return a
}
