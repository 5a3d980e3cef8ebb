package agents

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// settle is how long a pane may show nothing but a shell before its start
// command is missed.
const settle = 30 * time.Second

// gone finds agents that have ended and left their pane: dead with its exit
// status, or alive with only a shell in it. One that left nothing is not an
// agent any more.
func (l *look) gone(done told) []fleet.Agent {
	var found []fleet.Agent
	for _, rec := range l.newestFirst() {
		if rec.Pane == nil || l.lives(rec.Process) || done.processes[key(rec.Process)] || done.names[rec.Name] {
			continue
		}
		pane := l.paneRecorded(*rec.Pane)
		switch {
		case pane == nil && l.blind != "":
			found = append(found, l.unseen(rec))
			done.left[key(rec.Process)] = true
		case pane != nil && !done.panes[pane.ID] && l.vacated(pane):
			done.panes[pane.ID], done.left[key(rec.Process)] = true, true
			found = append(found, l.left(*pane, rec))
		}
	}
	for i := range l.panes {
		pane := &l.panes[i]
		if done.panes[pane.ID] || l.isSucceeded(pane) || !pane.Dead && time.Duration(pane.Age.Or(0)) < settle {
			continue
		}
		if !l.vacated(pane) {
			continue
		}
		if kind, oneShot := agent.CommandKind(l.o.Kinds, pane.StartCommand); kind != "" {
			rec, ok := l.diedIn(pane)
			if !ok {
				rec = fleet.AgentRecord{Kind: kind, CWD: pane.CWD, OneShot: oneShot}
			}
			done.panes[pane.ID], done.left[key(rec.Process)] = true, true
			found = append(found, l.left(*pane, rec))
		}
	}
	return found
}

// isSucceeded says whether what a pane held was started again by Custos, elsewhere:
// what is left there of it is no agent any more.
func (l *look) isSucceeded(pane *fleet.Pane) bool {
	return slices.ContainsFunc(l.regs, func(r fleet.Registration) bool {
		return r.Origin != "" && r.Instance != "" && r.Name == pane.Session
	})
}

// newestFirst returns the records, the last seen first: a pane was left by the
// last of those that were in it.
func (l *look) newestFirst() []fleet.AgentRecord {
	return slices.SortedStableFunc(slices.Values(l.records), func(a, b fleet.AgentRecord) int {
		return cmp.Compare(l.now.Since(a.LastSeen), l.now.Since(b.LastSeen))
	})
}

// diedIn returns the agent that was seen to end in a pane, before anything of it
// was recorded: it keeps its name.
func (l *look) diedIn(pane *fleet.Pane) (rec fleet.AgentRecord, ok bool) {
	for k, x := range l.dead {
		s, seen := l.seen[k]
		if !seen || s.nested || s.agent.Registered || s.agent.Pane == nil || !sameProcess(s.agent.Process, x.Process) ||
			l.paneRecorded(s.agent.Pane.ID) != pane || ok && !rec.LastSeen.Before(s.at) {
			continue
		}
		rec, ok = fleet.AgentRecord{Name: s.agent.Name, Kind: s.agent.Kind, Owner: s.agent.Owner, Process: s.agent.Process,
			CWD: s.agent.CWD.Or(""), State: s.agent.State, OneShot: s.agent.OneShot, Cycles: s.agent.Cycles, LastSeen: s.at}, true
	}
	return rec, ok
}

func (l *look) lives(id fleet.ProcessID) bool {
	p, ok := l.procs[id.PID]
	return ok && sameProcess(p.ID, id) && p.State != "Z" && p.State != "X"
}

// paneRecorded finds a pane again. Its first process may have died since: then
// the start time cannot be read any more, and its pid has to do.
func (l *look) paneRecorded(id fleet.PaneID) *fleet.Pane {
	for i := range l.panes {
		now := l.panes[i].ID
		if now.Socket == id.Socket && sameProcess(now.Server, id.Server) && now.Pane == id.Pane && now.Root.PID == id.Root.PID &&
			(now.Root.Start == id.Root.Start || l.panes[i].Dead) {
			return &l.panes[i]
		}
	}
	return nil
}

// vacated says whether a pane is dead, or runs shells and nothing else.
func (l *look) vacated(pane *fleet.Pane) bool {
	if pane.Dead {
		return true
	}
	root, ok := l.procs[pane.ID.Root.PID]
	if !ok || !sameProcess(root.ID, pane.ID.Root) {
		return false // died in this moment: the next look tells
	}
	return l.onlyShells(root)
}

// onlyShells says whether a process, and all below it, are shells at their prompt.
func (l *look) onlyShells(root fleet.Process) bool {
	for queue := []int{root.ID.PID}; len(queue) > 0; queue = queue[1:] {
		p := l.procs[queue[0]]
		if p.State != "Z" && !isShell(p) {
			return false
		}
		queue = append(queue, l.children[p.ID.PID]...)
	}
	return true
}

// isShell says whether a process is a shell at its prompt: one that runs a
// script, or a command given to it, is at work.
func isShell(p fleet.Process) bool {
	if !slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "tcsh", "csh"}, path.Base(p.Exe.Or(p.Name))) {
		return false
	}
	return !slices.ContainsFunc(p.Args[min(1, len(p.Args)):], func(a string) bool { return !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") })
}

// left describes what an agent left in a pane.
func (l *look) left(pane fleet.Pane, rec fleet.AgentRecord) fleet.Agent {
	end := agent.End{PaneDead: pane.Dead, Shell: !pane.Dead, Status: pane.ExitStatus, Signal: pane.ExitSignal}
	if x, ok := l.dead[key(rec.Process)]; ok && sameProcess(x.Process, rec.Process) {
		l.attribute(&x, prompted(rec.Kind, rec.OneShot), &pane.ID, true)
		end.Exit = &x
	}
	v := agent.State(agent.Signals{End: &end})
	a := l.absent(rec, v)
	a.Pane, a.Attached, a.Dwell = &pane, pane.Attached, pane.Activity
	a.ExitStatus, a.ExitSignal = pane.ExitStatus, pane.ExitSignal
	if a.Exit = end.Exit; a.Exit != nil {
		a.ExitStatus, a.ExitSignal = a.Exit.Status, a.Exit.Signal
	}
	l.sinceEnd(&a, v)
	return a
}

// unseen describes an agent that is gone from a pane that could not be seen.
func (l *look) unseen(rec fleet.AgentRecord) fleet.Agent {
	return l.absent(rec, agent.Verdict{State: fleet.StateUnknown, Source: agent.SourceNone,
		Reason: "its process is gone, and its pane could not be seen: " + l.blind})
}

func (l *look) absent(rec fleet.AgentRecord, v agent.Verdict) fleet.Agent {
	const why = "its process is gone"
	owner := l.ownerOf(rec.CWD)
	if rec.Owner == fleet.OwnerCustos {
		owner = rec.Owner
	}
	cwd := fleet.Unknown[string](why)
	if rec.CWD != "" {
		cwd = fleet.Known(rec.CWD)
	}
	return fleet.Agent{Name: rec.Name, Kind: rec.Kind, Owner: owner, State: v.State, Reason: v.Reason, Source: v.Source, Signals: v.Signals,
		Dwell: fleet.Unknown[fleet.Duration](why), CWD: cwd, OneShot: rec.OneShot, Age: fleet.Unknown[fleet.Duration](why),
		CPU: fleet.Unknown[float64](why), RSS: fleet.Unknown[int64](why), Progress: fleet.ProgressUnknown,
		CPUTime: fleet.Unknown[fleet.Duration](why), ContextPercent: fleet.Unknown[float64](why), ComposerEmpty: fleet.Unknown[bool](why),
		LastHealthy: fleet.Unknown[fleet.Duration](why), CheckpointAge: fleet.Unknown[fleet.Duration]("no checkpoint was taken"),
		Quiet: fleet.Unknown[fleet.Duration](why), Cycles: rec.Cycles, Recorded: rec.State, ExitStatus: fleet.Unknown[int](why), ExitSignal: fleet.Unknown[int](why)}
}
