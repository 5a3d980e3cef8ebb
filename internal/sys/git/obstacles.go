package git

import (
	"fmt"
	"time"
)

// OnlySaved says whether a worktree may go with the work that is in it, as long as
// that is backed up: it was preserved after a crash, and no agent has come for it in
// its day. Its branch stays.
func OnlySaved(s Status, now time.Time) bool {
	return !s.Missing && !s.Crashed.IsZero() && now.Sub(s.Crashed) >= KeepCrashed
}

// Obstacles says why a linked worktree may not be removed at the instant now.
// It is pure. An empty list with known true is the only answer that allows it;
// known false means that something could not be told, which the list names, too.
func Obstacles(s Status, now time.Time) (list []string, known bool) {
	o := &obstacles{known: true}
	if s.Locked {
		o.add("it is locked (git worktree unlock)")
	}
	ask(o, "which command is under way", s.Operation, func(op Operation) {
		if op.Name != "" {
			o.add("a %s is in progress", op.Name)
		}
	})
	ask(o, "what it has checked out", s.Head, func(Head) {})
	if s.Missing {
		o.missing(s, now)
		return o.list, o.known
	}
	o.crashed(s, now)
	saved := OnlySaved(s, now)
	if !saved {
		o.work(s)
	}
	o.structure(s)
	if !saved {
		o.commits(s)
	}
	ask(o, "who is inside", s.Occupied, func(pids []int) {
		if len(pids) > 0 {
			o.add("occupied by process %s", numbers(pids))
		}
	})
	return o.list, o.known
}

type obstacles struct {
	list  []string
	known bool
}

func (o *obstacles) add(format string, args ...any) {
	o.list = append(o.list, fmt.Sprintf(format, args...))
}

// ask judges an answer, or notes that it could not be told.
func ask[T any](o *obstacles, what string, a Answer[T], judge func(T)) {
	v, err := a.Get()
	if err != nil {
		o.known = false
		o.add("cannot tell %s: %v", what, err)
		return
	}
	judge(v)
}

// missing: the content is gone from sight already; what removing the entry could
// lose is a worktree that others still see.
func (o *obstacles) missing(s Status, now time.Time) {
	if s.Moved.IsZero() {
		o.known = false
		o.add("cannot tell when it was last used")
		return
	}
	if quiet := now.Sub(s.Moved); quiet < keepMissing {
		o.add("its folder is gone, but it was used %s ago: it may be seen from elsewhere (kept %s)", ago(quiet), ago(keepMissing))
	}
}

func (o *obstacles) crashed(s Status, now time.Time) {
	if s.Crashed.IsZero() {
		return
	}
	if kept := now.Sub(s.Crashed); kept < KeepCrashed {
		o.add("preserved after a crash %s ago (kept %s)", ago(kept), ago(KeepCrashed))
	}
}

// structure is what no backup could hold.
func (o *obstacles) structure(s Status) {
	ask(o, "what changed", s.Changes, func(c Changes) {
		if len(c.Submodules) > 0 {
			o.add("has submodules, which git cannot remove with it: %s", names(c.Submodules))
		}
	})
	ask(o, "what it holds", s.Size, func(z Size) {
		if len(z.Nested) > 0 {
			o.add("holds another repository: %s", names(z.Nested))
		}
		if len(z.Special) > 0 {
			o.add("holds sockets, pipes or devices: %s", names(z.Special))
		}
		if len(z.Elsewhere) > 0 {
			o.add("another file system is mounted in it: %s", names(z.Elsewhere))
		}
	})
}

// work is what HEAD does not hold. Where nothing at all is known of the files,
// structure has said so.
func (o *obstacles) work(s Status) {
	if c, err := s.Changes.Get(); err == nil {
		o.changes(c)
	}
	ask(o, "what is ignored but precious", s.Precious, func(p []string) {
		if len(p) > 0 {
			o.add("ignored but precious: %s", names(p))
		}
	})
}

func (o *obstacles) changes(c Changes) {
	for _, of := range []struct {
		files []string
		what  string
	}{{c.Dirty, "changed"}, {c.Hidden, "flagged so that git status does not look at them"}, {c.Untracked, "untracked"}} {
		if len(of.files) > 0 {
			o.add("%d %s: %s", len(of.files), of.what, names(of.files))
		}
	}
	if err := c.Certain(); err != nil {
		o.known = false
		o.add("%v", err)
	}
}

func (o *obstacles) commits(s Status) {
	ask(o, "the primary branch", s.Primary, func(p Primary) {
		ask(o, "whether it is merged", s.Merged, func(m Merged) {
			if !m.Yes {
				o.unmerged(s, p.Name)
			}
		})
	})
	ask(o, "whether work is stashed on it", s.Stashed, func(n int) {
		if n > 0 {
			o.add("%d stashed on its branch", n)
		}
	})
}

func (o *obstacles) unmerged(s Status, primary string) {
	ask(o, "whether it is pushed", s.Unpushed, func(n int) {
		if n > 0 {
			o.add("not merged into %q, and %d unpushed", primary, n)
			return
		}
		o.add("not merged into %q (its commits are on a remote)", primary)
	})
}

func numbers(pids []int) string {
	const show = 5
	s := ""
	for i, p := range pids[:min(show, len(pids))] {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(p)
	}
	if len(pids) > show {
		s += fmt.Sprintf(" and %d more", len(pids)-show)
	}
	return s
}

// ago writes a duration in whole minutes, or hours when it is long.
func ago(d time.Duration) string {
	if d < 2*time.Hour {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}
