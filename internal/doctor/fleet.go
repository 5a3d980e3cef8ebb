package doctor

import "custos/internal/fleet"

func judgeSessions(e *Examination) verdict {
	sessions := e.Pass.Snapshot.Sessions.Value
	return ok("%s seen", fleet.Counted(len(sessions), "pane"))
}

// judgeDeadPanes finds panes whose program ended; the one of our own control session is meant to be dead.
func judgeDeadPanes(e *Examination) verdict {
	var list []verdict
	for _, p := range e.Pass.Snapshot.Sessions.Value {
		if p.Dead && p.Session != "~custos" {
			list = append(list, closing(e, p))
		}
	}
	return worst(list, "none is dead")
}

// closing tells of a dead pane, with the command that closes it. Of an agent
// that is to run it is recover, which takes the pane away too: to stop it would end it for
// good. Of another of ours that has left its pane it is a stop, and of one that cannot be
// started again where it was.
func closing(e *Examination, p fleet.Pane) verdict {
	for _, a := range e.Pass.Snapshot.Agents.Value {
		switch {
		case !a.Registered || a.Pane == nil || a.Pane.ID != p.ID:
		case isToRun(a) && a.FolderLost != "" && a.Owner == fleet.OwnerCustos:
			return warn("%s is dead, and %s cannot be started again: %s. Put its own back and custos recover %s, or end it for good", p.Name(), a.Name, a.FolderLost, a.Name).by("custos", "stop", a.Name)
		case isToRun(a):
			return warn("%s is dead", p.Name()).by("custos", "recover", a.Name)
		case a.Owner == fleet.OwnerCustos:
			return warn("%s is dead", p.Name()).by("custos", "stop", a.Name)
		}
	}
	return warn("%s is dead", p.Name()).by("tmux", "-S", p.ID.Socket, "kill-pane", "-t", p.ID.Pane)
}

// isToRun says whether an agent that ended is to run again: one that finished is done.
func isToRun(a fleet.Agent) bool {
	started := a.Owner == fleet.OwnerCustos || a.Owner == fleet.OwnerAdopted && a.Restart != fleet.RestartNever
	return started && a.Desired == fleet.DesiredRunning && (a.State != fleet.StateFinished || a.Restart == fleet.RestartAlways)
}

func judgeRepos(e *Examination) verdict {
	repos := e.Pass.Snapshot.Repos.Value
	return ok("%s, %s", fleet.Counted(len(repos.Repos), "repository"), fleet.Counted(len(repos.Worktrees), "worktree"))
}

func judgeFormulas(e *Examination) verdict {
	formulas, known := e.Formulas.Get()
	if !known {
		return cannot(e.Formulas.Why())
	}
	var list []verdict
	for _, f := range formulas {
		if f.Broken != "" {
			list = append(list, bad("%s: %s", f.Name, f.Broken).by("custos", "formula", "lint", f.Name))
		}
	}
	return worst(list, "%s, each of them well", fleet.Counted(len(formulas), "formula"))
}

// judgeShadows tells which formulas of projects are run instead of others of their
// name: a person has granted it, and may have forgotten. One that is not is not readable.
func judgeShadows(e *Examination) verdict {
	formulas, known := e.Formulas.Get()
	if !known {
		return cannot(e.Formulas.Why())
	}
	by := map[string]string{}
	for _, f := range formulas {
		if f.Project == "" {
			by[f.Name] = f.Source
		}
	}
	var list []verdict
	for _, f := range formulas {
		if source, is := by[f.Name]; is && f.Project != "" && f.Broken == "" {
			list = append(list, warn("%s is run instead of %s in %s, as [formulas] shadows says", f.Source, source, f.Project).by("custos", "formula", "list"))
		}
	}
	return worst(list, "no formula of a project is run instead of another of its name")
}

func judgeSchedules(e *Examination) verdict {
	on, known := e.Schedules.Get()
	switch {
	case !known:
		return cannot(e.Schedules.Why())
	case on > 0 && !e.Daemon:
		return warn("%s, and no daemon runs that would begin them", fleet.Counted(on, "schedule")).by("custos up")
	}
	return ok("%s on", fleet.Counted(on, "schedule"))
}
