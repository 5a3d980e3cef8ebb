package server

import (
	"fmt"
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

// firstSaid returns the first verdict that says something.
func firstSaid(list ...verdict) verdict {
	for _, v := range list {
		if v.state != "" {
			return v
		}
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
			list = append(list, bad("%s cannot be written", w.what).by("custos doctor structure disk"))
		}
	}
	return worst(list, "the ledger and the journal can be written")
}

func judgeMemory(e *Examination) verdict {
	switch past := e.Pass.Past; {
	case past.Blind != "":
		return bad("what was done before cannot be read, so nothing is done now: %s", past.Blind)
	case past.Amnesia:
		return warn("a damaged database had to be set aside: Custos only observes until a person acknowledges the alert of rule self-amnesia").by("custos alerts")
	}
	return ok("what was done before is remembered")
}

func judgeSessions(e *Examination) verdict {
	sessions := e.Pass.Snapshot.Sessions
	if v := part(sessions.Sight, "no tmux server runs"); v.state != "" {
		return v
	}
	return ok("%s seen", counted(len(sessions.Value), "pane"))
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
			list = append(list, warn("%s is dead", p.Name()).by("tmux", "-S", p.ID.Socket, "list-panes", "-a"))
		}
	}
	return worst(list, "none is dead")
}

func judgeRepos(e *Examination) verdict {
	repos := e.Pass.Snapshot.Repos
	if v := part(repos.Sight, "no repository is configured or in use"); v.state != "" {
		return v
	}
	return ok("%s, %s", counted(len(repos.Value.Repos), "repository"), counted(len(repos.Value.Worktrees), "worktree"))
}

func judgeMissing(e *Examination) verdict {
	return eachTree(e, "the folder of each is there", func(w fleet.Worktree) verdict {
		if !w.Missing {
			return verdict{}
		}
		return warn("git knows %s, and its folder is gone", w.Path).by("git", "-C", w.Repo, "worktree", "prune")
	})
}

func judgeCrashed(e *Examination) verdict {
	return eachTree(e, "none was kept after a crash", func(w fleet.Worktree) verdict {
		if !w.Crashed {
			return verdict{}
		}
		return warn("%s was kept after a crash", w.Path).by("custos", "why", "worktree/"+w.Path)
	})
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
	return worst(list, "%s, each of them well", counted(len(e.Formulas), "formula"))
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
		return warn("%s, and no daemon runs that would begin them", counted(on, "schedule")).by("custos up")
	}
	return ok("%s, %d of them on", counted(len(e.Schedules), "schedule"), on)
}

func judgeForge(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge
	if v := part(forge.Sight, "no [forge.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range forge.Value.Projects {
		if !p.Primary.IsKnown() {
			list = append(list, cannot(fmt.Sprintf("%s at %s: %s", p.Name, p.URL, p.Primary.Why())).by("custos", "why", "project/"+p.Name))
		}
	}
	return worst(list, "%s, all answered", counted(len(forge.Value.Projects), "project"))
}

func judgeCI(e *Examination) verdict {
	ci := e.Pass.Snapshot.CI
	if v := part(ci.Sight, "no [ci.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	blind := map[string]bool{}
	for _, p := range ci.Value.Pipelines {
		if !p.State.IsKnown() && !blind[p.System] {
			blind[p.System] = true
			list = append(list, cannot(p.System+": "+p.State.Why()).by("custos", "why", "pipeline/"+p.Name))
		}
	}
	return worst(list, "%s known", counted(len(ci.Value.Pipelines), "pipeline"))
}

func judgeWorkers(e *Examination) verdict {
	ci := e.Pass.Snapshot.CI
	if v := part(ci.Sight, "no [ci.NAME] is configured"); v.state != "" {
		return v
	}
	var list []verdict
	for _, w := range ci.Value.Workers {
		switch well, known := w.Healthy.Get(); {
		case !known:
			list = append(list, cannot(w.Name+": "+w.Healthy.Why()))
		case !well:
			list = append(list, bad("%s: %s", w.Name, w.Why).by("custos", "why", "worker/"+w.Name))
		}
	}
	return worst(list, "%s, all well", counted(len(ci.Value.Workers), "worker"))
}

func judgeEngine(e *Examination) verdict {
	engine := e.Pass.Snapshot.Engine
	if v := part(engine.Sight, "no container engine is here"); v.state != "" {
		return v
	}
	var list []verdict
	for _, c := range engine.Value.Containers {
		switch state, known := c.State.Get(); {
		case !known:
			list = append(list, cannot(c.Name+": "+c.State.Why()))
		case c.Wanted && state != "running":
			list = append(list, bad("%s is to run, and is %s", c.Name, state).by("custos", "why", "container/"+c.Name))
		}
	}
	return worst(list, "%s answers, %s", engine.Value.Address, counted(len(engine.Value.Containers), "container"))
}

// packed are file systems that are full by their nature.
func packed(m fleet.Mount) bool { return m.Type == "squashfs" || m.Type == "iso9660" }

func judgeDisk(e *Examination) verdict {
	return eachMount(e, func(m fleet.Mount) verdict {
		switch used, known := m.UsedPercent.Get(); {
		case packed(m):
		case !known:
			return cannot(m.Path + ": " + m.UsedPercent.Why())
		case used > diskFull:
			return bad("%s is %.0f %% full, %s left", m.Path, used, leafSize(m.Available)).by("custos plan")
		case used > diskHigh:
			return warn("%s is %.0f %% full, %s left", m.Path, used, leafSize(m.Available)).by("custos plan")
		}
		return verdict{}
	}, "%s, none more than %.0f %% full", diskHigh)
}

func judgeInodes(e *Examination) verdict {
	return eachMount(e, func(m fleet.Mount) verdict {
		switch used, known := m.InodesPercent.Get(); {
		case packed(m):
		case !known:
			return cannot(m.Path + ": " + m.InodesPercent.Why())
		case used > inodesHigh:
			return bad("%s has used %.0f %% of its inodes", m.Path, used).by("df", "-i", m.Path)
		}
		return verdict{}
	}, "%s, none with more than %.0f %% of its inodes used", inodesHigh)
}

func eachMount(e *Examination, judge func(fleet.Mount) verdict, well string, limit float64) verdict {
	host := e.Pass.Snapshot.Host
	if v := part(host.Sight, ""); v.state != "" {
		return v
	}
	if len(host.Value.Mounts) == 0 {
		return cannot("no file system was seen")
	}
	var list []verdict
	for _, m := range host.Value.Mounts {
		list = append(list, judge(m))
	}
	return worst(list, well, counted(len(host.Value.Mounts), "file system"), limit)
}

func judgeClock(e *Examination) verdict {
	self := e.Pass.Snapshot.Self
	if v := part(self.Sight, ""); v.state != "" {
		return v
	}
	if self.Value.ClockBehind {
		return bad("the clock is behind the newest record: whatever depends on time is withheld").by("date -u")
	}
	return ok("it is ahead of every record")
}

// judgeSkew compares our clock with those of the forges.
func judgeSkew(e *Examination) verdict {
	forge := e.Pass.Snapshot.Forge
	if v := part(forge.Sight, "there is no other clock to compare with"); v.state != "" {
		return v
	}
	var list []verdict
	for _, p := range forge.Value.Projects {
		switch d, known := p.Skew.Get(); {
		case !known:
			list = append(list, cannot(p.Name+": "+p.Skew.Why()))
		case time.Duration(d).Abs() > skewMost:
			list = append(list, warn("the clock of %s differs by %s", p.URL, d).by("date -u"))
		}
	}
	return worst(list, "it agrees with the forges' to %s", skewMost)
}
