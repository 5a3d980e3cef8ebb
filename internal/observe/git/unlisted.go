package git

import "custos/internal/fleet"

// unlist notes a repository whose worktrees cannot be listed now.
func (l *look) unlist(path string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unlisted == nil {
		l.unlisted = map[string]error{}
	}
	l.unlisted[path] = err
}

// hold keeps the worktrees of repositories that cannot be listed now as they
// were last known, with nothing known of them: worktrees that are merely not
// seen must not pass for gone. Of a repository that this process never saw well
// there is nothing to keep: its own row says that it cannot be seen.
func (l *look) hold(seen *fleet.Repos, last fleet.Repos) {
	for _, w := range last.Worktrees {
		if err, is := l.unlisted[w.Repo]; is {
			seen.Worktrees = append(seen.Worktrees, unseen(w, err))
		}
	}
}

// unseen is a worktree of which nothing is known but where it was.
func unseen(w fleet.Worktree, err error) fleet.Worktree {
	out := fleet.Worktree{Path: w.Path, Repo: w.Repo, Owner: w.Owner, Missing: w.Missing, Locked: w.Locked, Crashed: w.Crashed}
	why := fleet.Line(err.Error(), 200)
	out.Branch, out.Head, out.Operation = fleet.Unknown[string](why), fleet.Unknown[string](why), fleet.Unknown[string](why)
	out.OperationAge = fleet.Unknown[fleet.Duration](why)
	out.Age, out.CrashedAge = fleet.Unknown[fleet.Duration](why), fleet.Unknown[fleet.Duration](why)
	out.Bytes, out.BulkBytes, out.Bulk = fleet.Unknown[int64](why), fleet.Unknown[int64](why), fleet.Unknown[[]fleet.Bulk](why)
	out.Dirty, out.Untracked, out.Unpushed, out.Stashed = fleet.Unknown[int](why), fleet.Unknown[int](why), fleet.Unknown[int](why), fleet.Unknown[int](why)
	out.Precious, out.Merged = fleet.Unknown[[]string](why), fleet.Unknown[bool](why)
	out.Occupied, out.Removable = fleet.Unknown[[]int](why), fleet.Unknown[bool](why)
	return out
}
