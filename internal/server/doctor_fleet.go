package server

import (
	"path"
	"strings"
	"time"

	"custos/internal/fleet"
)

// From where on a figure is worth a word. diskHigh and inodesHigh are those of the
// rules disk-pressure and inodes-pressure, so that doctor and patrol agree.
const (
	diskHigh   = 80.0 // percent used
	diskFull   = 90.0
	inodesHigh = 90.0
	logTooBig  = 500 << 20 // bytes, as the seed has it
	skewMost   = time.Minute
)

// part says why a part cannot be judged; the zero verdict when it can. none is said
// where there is no such thing.
func part(s fleet.Sight, none string) verdict {
	switch {
	case s.Status == fleet.StatusAbsent && none != "":
		return ok("%s", none)
	case !s.Usable():
		reason := "it was not seen"
		if s.Why != "" {
			reason = s.Why
		}
		return cannot(reason).by("custos status")
	}
	return verdict{}
}

func judgeWritable(e *Examination) verdict {
	self := e.Pass.Snapshot.Self
	if v := part(self.Sight, ""); v.state != "" {
		return v
	}
	var list []verdict
	for _, w := range []struct {
		what string
		leaf fleet.Leaf[bool]
	}{{"the ledger", self.Value.StoreWritable}, {"the journal", self.Value.JournalWritable}} {
		switch can, known := w.leaf.Get(); {
		case !known:
			list = append(list, cannot(w.what+": "+w.leaf.Why()))
		case !can:
			list = append(list, unwritable(e, w.what+" cannot be written"))
		}
	}
	return worst(list, "the ledger and the journal can be written")
}

// recording says whether the ledger can be written, as it was seen.
func recording(e *Examination) fleet.Leaf[bool] {
	if self := e.Pass.Snapshot.Self; !self.Usable() {
		return fleet.Unknown[bool](part(self.Sight, "").why)
	}
	return e.Pass.Snapshot.Self.Value.StoreWritable
}

// unwritable says what cannot be written, and why, where that can be told: a disk that is
// full needs another cure than a folder of somebody else's.
func unwritable(e *Examination, what string) verdict {
	dir := path.Dir(e.Installation.Store.Path)
	if m := mountOf(e, dir); m != nil {
		if used, known := m.UsedPercent.Get(); known && used > diskFull {
			return bad("%s: %s is %.0f %% full", what, m.Path, used).by("du", "-xh", "-d", "1", m.Path)
		}
	}
	return bad("%s", what).by("ls", "-ld", dir)
}

// mountOf finds the file system that a path is on; nil where none was seen.
func mountOf(e *Examination, path string) (found *fleet.Mount) {
	for i, m := range e.Pass.Snapshot.Host.Value.Mounts {
		below := path == m.Path || strings.HasPrefix(path, strings.TrimSuffix(m.Path, "/")+"/")
		if below && (found == nil || len(m.Path) > len(found.Path)) {
			found = &e.Pass.Snapshot.Host.Value.Mounts[i]
		}
	}
	return found
}

func judgeSessions(e *Examination) verdict {
	sessions := e.Pass.Snapshot.Sessions
	if v := part(sessions.Sight, "no tmux server runs"); v.state != "" {
		return v
	}
	return ok("%s seen", fleet.Counted(len(sessions.Value), "pane"))
}

// judgeDeadPanes finds panes whose program ended; the one of our own control session is meant to be dead.
func judgeDeadPanes(e *Examination) verdict {
	sessions := e.Pass.Snapshot.Sessions
	if v := part(sessions.Sight, "no tmux server runs"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range sessions.Value {
		if p.Dead && p.Session != "~custos" {
			list = append(list, warn("%s is dead", p.Name()).by(closing(e, p)...))
		}
	}
	return worst(list, "none is dead")
}

// closing is the command that closes a dead pane: a stop, of an agent of ours that has left it.
func closing(e *Examination, p fleet.Pane) []string {
	for _, a := range e.Pass.Snapshot.Agents.Value {
		if a.Registered && a.Owner == fleet.OwnerCustos && a.Pane != nil && a.Pane.ID == p.ID {
			return []string{"custos", "stop", a.Name}
		}
	}
	return []string{"tmux", "-S", p.ID.Socket, "kill-pane", "-t", p.ID.Pane}
}

func judgeRepos(e *Examination) verdict {
	repos := e.Pass.Snapshot.Repos
	if v := part(repos.Sight, "no repository is configured or in use"); v.state != "" {
		return v
	}
	return ok("%s, %s", fleet.Counted(len(repos.Value.Repos), "repository"), fleet.Counted(len(repos.Value.Worktrees), "worktree"))
}

func judgeMissing(e *Examination) verdict {
	return eachTree(e, "the folder of each is there", func(w fleet.Worktree) verdict {
		if !w.Missing {
			return verdict{}
		}
		return warn("git knows %s, and its folder is gone", w.Path).by("git", "-C", w.Repo, "worktree", "prune").healed("worktree-stale", worktree(w))
	})
}

func judgeCrashed(e *Examination) verdict {
	return eachTree(e, "none was kept after a crash", func(w fleet.Worktree) verdict {
		if !w.Crashed {
			return verdict{}
		}
		return warn("%s was kept after a crash", w.Path).by("custos", "why", "worktree/"+w.Path).healed("worktree-crashed", worktree(w))
	})
}

// unusedAfter is the age that rule worktree-stale has.
const unusedAfter = fleet.Duration(2 * time.Hour)

// judgeUnused finds worktrees that nobody uses and in which nothing would be lost.
func judgeUnused(e *Examination) verdict {
	return eachTree(e, "none that could go stands unused", func(w fleet.Worktree) verdict {
		if w.Missing || w.Crashed {
			return verdict{}
		}
		age, aged := w.Age.Get()
		inside, seen := w.Occupied.Get()
		free, known := w.Removable.Get()
		switch {
		case aged && age <= unusedAfter, seen && len(inside) > 0, known && !free:
			return verdict{}
		case !aged || !seen || !known:
			return cannot("whether "+w.Path+" may go cannot be told").by("custos", "why", worktree(w).String())
		}
		return warn("nobody has used %s for %s", w.Path, time.Duration(age).Round(time.Minute)).by("custos", "clean", "--dry-run").healed("worktree-stale", worktree(w))
	})
}

func worktree(w fleet.Worktree) fleet.Subject {
	return fleet.Subject{Kind: fleet.KindWorktree, Name: w.Path}
}

func eachTree(e *Examination, well string, judge func(fleet.Worktree) verdict) verdict {
	repos := e.Pass.Snapshot.Repos
	if v := part(repos.Sight, "no repository is configured or in use"); v.state != "" {
		return v
	}
	var list []verdict
	for _, w := range repos.Value.Worktrees {
		list = append(list, judge(w))
	}
	return worst(list, "%s", well)
}

func judgeFormulas(e *Examination) verdict {
	if e.NoFormulas != "" {
		return cannot(e.NoFormulas)
	}
	var list []verdict
	for _, f := range e.Formulas {
		if f.Broken != "" {
			list = append(list, bad("%s: %s", f.Name, f.Broken).by("custos", "formula", "lint", f.Name))
		}
	}
	return worst(list, "%s, each of them well", fleet.Counted(len(e.Formulas), "formula"))
}

func judgeSchedules(e *Examination) verdict {
	if e.NoSchedules != "" {
		return cannot(e.NoSchedules)
	}
	self := e.Pass.Snapshot.Self
	if v := part(self.Sight, ""); v.state != "" {
		return v
	}
	if self.Value.Schedules != "" {
		return bad("%s", self.Value.Schedules).by("custos schedule list")
	}
	if len(e.Schedules) == 0 {
		return ok("there are none")
	}
	on := 0
	for _, s := range e.Schedules {
		if s.Enabled {
			on++
		}
	}
	if on > 0 && !e.Daemon {
		return warn("%s, and no daemon runs that would begin them", fleet.Counted(on, "schedule")).by("custos up")
	}
	return ok("%s, %d of them on", fleet.Counted(len(e.Schedules), "schedule"), on)
}

// judgeOrphans finds sessions of our own server that no agent of ours has.
func judgeOrphans(e *Examination) verdict {
	sessions := e.Pass.Snapshot.Sessions
	if v := part(sessions.Sight, "no tmux server runs"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range sessions.Value {
		switch orphan, known := p.Orphan.Get(); {
		case !known:
			list = append(list, cannot(p.Name()+": "+p.Orphan.Why()))
		case orphan && p.Dead:
			list = append(list, warn("%s is on the session server of Custos, dead, and belongs to no agent that is registered", p.Name()).
				by(closing(e, p)...))
		case orphan:
			list = append(list, warn("%s is on the session server of Custos, and belongs to no agent that is registered", p.Name()).
				by("tmux", "-S", p.ID.Socket, "attach", "-r", "-t", "="+p.Session))
		}
	}
	return worst(list, "every session of ours belongs to an agent")
}

// judgeLocks finds locks whose holder is gone.
func judgeLocks(e *Examination) verdict {
	locks := e.Pass.Snapshot.Locks
	if v := part(locks.Sight, "no [locks] are configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, l := range locks.Value {
		of := fleet.Subject{Kind: fleet.KindLock, Name: l.Path}
		switch holder, known := l.Holder.Get(); {
		case !known || holder == fleet.HolderUnknown:
			list = append(list, cannot("who holds "+l.Path+" cannot be told: "+l.Holder.Why()).by("custos", "why", of.String()))
		case holder == fleet.HolderAlive:
		case l.WaitedFor:
			list = append(list, bad("the process that %s names is gone, and work waits for it", l.Path).by("custos", "why", of.String()).healed("lock-dead", of))
		default:
			list = append(list, warn("the process that %s names is gone", l.Path).by("custos", "why", of.String()).healed("lock-dead-idle", of))
		}
	}
	return worst(list, "%s, none left behind", fleet.Counted(len(locks.Value), "lock"))
}

// judgeUnfinished finds what was begun in a repository and left there.
func judgeUnfinished(e *Examination) verdict {
	repos := e.Pass.Snapshot.Repos
	if v := part(repos.Sight, "no repository is configured or in use"); v.state != "" {
		return v
	}
	var list []verdict
	for _, r := range repos.Value.Repos {
		of := fleet.Subject{Kind: fleet.KindRepo, Name: r.Path}
		switch op, known := r.Operation.Get(); {
		case !known:
			list = append(list, cannot(r.Path+": "+r.Operation.Why()).by("custos", "why", of.String()))
		case op != "":
			list = append(list, warn("a %s in %s is not finished", op, r.Path).by("custos", "why", of.String()).healed("rebase-stale", of))
		}
	}
	return worst(list, "no rebase, merge or the like is unfinished")
}
