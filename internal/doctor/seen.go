package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

func judgeMemory(e *Examination) verdict {
	switch past := e.Pass.Past; {
	case past.Blind != "":
		return bad("what was done before cannot be read, so nothing is done now: %s", past.Blind)
	case past.Amnesia: // self-amnesia says what to do
		return cannot("what was done before is lost: " + past.Lost)
	}
	return ok("what was done before can be read")
}

func judgeParents(e *Examination) verdict {
	alive := map[string]bool{"": true}
	for _, r := range e.Pass.Past.Registrations {
		alive[r.Name] = alive[r.Name] || r.Desired != fleet.DesiredRetired
	}
	return worst(each(e.Pass.Past.Registrations, func(r fleet.Registration) verdict {
		return when(r.Desired != fleet.DesiredRetired && !alive[r.Parent], warn("%s works for %s, which is not registered", r.Name, r.Parent).by("custos", "show", r.Name))
	}), "every agent's parent is registered")
}

// judgeOrders finds orders that should have expired: no pass was made that answers
// them. What is under way is not waited for.
func judgeOrders(e *Examination) verdict {
	return worst(each(e.Pass.Past.Orders, func(o fleet.Order) verdict {
		until := o.Expires
		if until.IsZero() {
			until = o.At.Add(max(time.Duration(e.Pass.Policy.Agents.OrderTTL), time.Hour))
		}
		return when(o.Action == "" && until.Before(e.At), warn("the order to %s %s, given %s ago, was worth nothing any more %s ago and is still open",
			o.Do, o.Agent, ago(e.At, o.At), ago(e.At, until)).by("custos patrol"))
	}), "%s, none older than it may be", fleet.Counted(len(e.Pass.Past.Orders), "open order"))
}

func ago(now, then fleet.Instant) string {
	return fleet.Duration(now.Since(then).Round(time.Minute)).Short()
}

// judgeKinds judges the CLIs of those kinds that agents are registered of; the
// others need not be there.
func judgeKinds(e *Examination) verdict {
	known := map[string]Program{}
	var there []string
	for _, p := range e.Installation.Kinds {
		if known[p.Name] = p; p.Path != "" {
			there = append(there, p.Name)
		}
	}
	list := each(e.Pass.Past.Registrations, func(r fleet.Registration) verdict {
		switch p, is := known[r.Kind]; {
		case r.Desired == fleet.DesiredRetired:
			return verdict{}
		case !is:
			return bad("%s is of kind %s, which is not known", r.Name, r.Kind).by("custos", "show", r.Name)
		case p.Path == "" && len(r.Argv) == 0:
			return bad("%s needs the CLI of kind %s, which is not on PATH", r.Name, r.Kind)
		}
		return verdict{}
	})
	if len(there) == 0 {
		return worst(list, "no agent CLI is on PATH, and none is needed")
	}
	return worst(list, "on PATH: %s", strings.Join(there, ", "))
}

// judgeTaught finds CLIs that are newer than what Custos was taught, a line for each version
// of a kind.
func judgeTaught(e *Examination) verdict {
	type program struct{ kind, version, taught string }
	newer, untold := map[program]int{}, 0
	for _, a := range e.Pass.Snapshot.Agents.Value {
		switch {
		case a.Process.PID == 0:
		case a.Outgrown != "":
			newer[program{a.Kind, a.Version, a.Outgrown}]++
		case a.Version == "":
			untold++
		}
	}
	found := slices.SortedFunc(maps.Keys(newer), func(a, b program) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.version, b.version))
	})
	list := each(found, func(p program) verdict {
		run := "run"
		if newer[p] == 1 {
			run = "runs"
		}
		return warn("%s %s %s %s; Custos was taught %s: what its screen shows is a hint only", fleet.Counted(newer[p], "agent"), run, p.kind, p.version, p.taught).by("custos ps")
	})
	if untold > 0 {
		return worst(list, "none is known to be newer than what Custos was taught; the version of %d cannot be told", untold)
	}
	return worst(list, "none is newer than what Custos was taught")
}

// usagePlaces is where a fault was seen last, and how many places there are beside that.
func usagePlaces(f fleet.UsageFault) string {
	last := fleet.Line(f.Key, 200)
	if len(f.More) == 0 {
		return last
	}
	return last + api.AndMore(len(f.More), f.AtLeast)
}

// judgeUsage finds what agents told of their responses that is counted in part, or not at all.
func judgeUsage(e *Examination) verdict {
	spending := e.Pass.Snapshot.Spending.Value
	list := each(spending.Faults, func(f fleet.UsageFault) verdict {
		return warn("what responses of %s used is counted in part, or not: %s (%s)", f.Kind, f.Why, usagePlaces(f)).by("custos cost")
	})
	if why := spending.NotRead(); why != "" {
		list = append(list, warn("%s", why).by("custos cost"))
	}
	if why := spending.NotCounted(); why != "" {
		list = append(list, cannot(why).by("custos cost"))
	}
	return worst(list, "all that was told of responses in the last 24 h is counted")
}

func judgeStates(e *Examination) verdict {
	agents := e.Pass.Snapshot.Agents.Value
	return worst(each(agents, func(a fleet.Agent) verdict {
		return when(a.State == fleet.StateUnknown, cannot(fmt.Sprintf("%s (%s): %s", a.Name, a.Kind, a.Reason)).by("custos", "show", a.Name))
	}), "%s, and the state of each is known", fleet.Counted(len(agents), "agent"))
}

// judgeTools finds tools that began and never ended, though their agent went on:
// a hook that was lost, or a turn that was cut off.
func judgeTools(e *Examination) verdict {
	events, known := e.Events.Get()
	if !known {
		return cannot(e.Events.Why())
	}
	type call struct{ key, id string }
	begun, lost, who := map[call]string{}, map[string]int{}, []string{}
	for _, t := range events {
		switch c := (call{t.Key(), t.CallID}); {
		case c.key == "":
		case t.Event == fleet.HookToolBegin && c.id != "":
			begun[c] = t.Agent
		case t.Event == fleet.HookToolEnd:
			delete(begun, c)
		case t.Event == fleet.HookPrompt || t.Event == fleet.HookStop || t.Event == fleet.HookSessionEnd:
			for open, agent := range begun {
				if open.key == c.key {
					lost[agent]++
					delete(begun, open)
				}
			}
		}
	}
	for agent, n := range lost {
		if agent == "" {
			agent = "agents without a name"
		}
		who = append(who, fmt.Sprintf("%s: %d", agent, n))
	}
	if len(who) > 0 {
		slices.Sort(who)
		return warn("tools that began and never ended in the last 24 h, by agent: %s", some(who)).by("custos feed")
	}
	return ok("every tool that an agent began in the last 24 h ended too")
}

func judgeSessions(e *Examination) verdict {
	return ok("%s seen", fleet.Counted(len(e.Pass.Snapshot.Sessions.Value), "pane"))
}

// judgeDeadPanes finds panes whose program ended; the one of our own control session is meant to be dead.
func judgeDeadPanes(e *Examination) verdict {
	return worst(each(e.Pass.Snapshot.Sessions.Value, func(p fleet.Pane) verdict {
		return when(p.Dead && p.Session != "~custos", closing(e, p))
	}), "none is dead")
}

// closing reports a dead pane, with the command that closes it. Of an agent
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

// judgeFormulas finds those that cannot be run.
func judgeFormulas(e *Examination) verdict {
	formulas, known := e.Formulas.Get()
	if !known {
		return cannot(e.Formulas.Why())
	}
	return worst(each(formulas, func(f api.FormulaRow) verdict {
		return when(f.Broken != "", bad("%s: %s", f.Name, f.Broken).by("custos", "formula", "lint", f.Name))
	}), "%s, each of them well", fleet.Counted(len(formulas), "formula"))
}

// judgeShadows says which formulas of projects are run instead of others of their
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
	return worst(each(formulas, func(f api.FormulaRow) verdict {
		source, is := by[f.Name]
		return when(is && f.Project != "" && f.Broken == "", warn("%s is run instead of %s in %s, as [formulas] shadows says", f.Source, source, f.Project).by("custos", "formula", "list"))
	}), "no formula of a project is run instead of another of its name")
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

func judgeForge(e *Examination) verdict {
	projects := e.Pass.Snapshot.Forge.Value.Projects
	return worst(each(projects, func(p fleet.Project) verdict {
		return when(!p.Primary.IsKnown(), cannot(fmt.Sprintf("%s at %s: %s", p.Name, p.URL, p.Primary.Why())).by("custos", "why", "project/"+p.Name))
	}), "%s, all answered", fleet.Counted(len(projects), "project"))
}

func judgeCI(e *Examination) verdict {
	pipelines := e.Pass.Snapshot.CI.Value.Pipelines
	return worst(each(pipelines, func(p fleet.Pipeline) verdict {
		return when(!p.State.IsKnown(), cannot(p.System+": "+p.State.Why()).by("custos", "why", "pipeline/"+p.Name))
	}), "%s known", fleet.Counted(len(pipelines), "pipeline"))
}

func judgeEngine(e *Examination) verdict {
	engine := e.Pass.Snapshot.Engine.Value
	return worst(each(engine.Containers, func(c fleet.Container) verdict {
		return when(!c.State.IsKnown(), cannot(c.Name+": "+c.State.Why()))
	}), "%s answers, %s", engine.Address, fleet.Counted(len(engine.Containers), "container"))
}
