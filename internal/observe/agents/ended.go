package agents

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// How long an agent that is not registered, and left nothing, is still shown
// after its end: long enough for an alert to be seen, and for an end that
// troubles nobody just long enough to be noticed.
const (
	keepCrashed = 10 * time.Minute
	keepEnded   = time.Minute
	keepExits   = 24 * time.Hour
)

// sighting is an agent as it was last seen alive.
type sighting struct {
	agent  fleet.Agent
	pane   *fleet.PaneID // where it was last seen
	at     fleet.Instant
	nested bool // another agent started it
}

// Died tells the probe how a process ended, so that its next look says the same
// as WithDeath. It returns at once.
func (p *Probe) Died(exit fleet.Exit) {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	p.news = append(p.news, exit)
}

func (p *Probe) takeNews() {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	for _, x := range p.news {
		p.dead[key(x.Process)] = x
	}
	p.news = nil
}

// WithDeath returns the agents as they are after a death at or before now: the
// agent whose process it was has ended, the others are as they were. The slice
// it is given is not changed. A death of a process that is no agent's changes
// nothing; told twice, it is told once.
func WithDeath(agents []fleet.Agent, exit fleet.Exit, now fleet.Instant) []fleet.Agent {
	i := slices.IndexFunc(agents, func(a fleet.Agent) bool {
		return sameProcess(a.Process, exit.Process) ||
			a.Process.PID == 0 && a.Exit == nil && a.Instance != "" && a.Instance == exit.Instance
	})
	if i < 0 {
		return agents
	}
	out := slices.Clone(agents)
	attached := out[i].Attached
	out[i] = died(out[i], exit, now)
	unsettle(&out[i], attached)
	return out
}

// unsettle leaves open how an agent ended that a person may just have ended at its
// terminal: its hooks and its pane tell at the next look. Elsewhere an end by
// itself is told as what it is, and so is one that nothing would follow from. SIGINT is
// Ctrl-C nearly always, and who typed that may have been told of before.
func unsettle(a *fleet.Agent, attached int) {
	if _, exited := a.ExitStatus.Get(); exited && a.Registered && a.Where == fleet.WhereHeadless && a.State == fleet.StateCrashed {
		a.State, a.Reason = fleet.StateUnknown, "it has just ended, and its last words were not read yet: "+a.Reason
		return
	}
	signal, _ := fleet.EndSignal(a.ExitStatus, a.ExitSignal)
	matters := attached > 0 || signal == int(syscall.SIGINT) || a.State == fleet.StateFinished && a.Restart == fleet.RestartAlways
	if matters && a.Exit.ByKeys() && a.Exit.Ender() == fleet.EnderUnknown && a.State != fleet.StateStopped {
		a.State, a.Reason = fleet.StateUnknown, "it has just ended, and it was not looked at yet whether a person ended it: "+a.Reason
	}
}

// WithServerDeath returns the agents as they are after the death of the terminal
// server that some of them ran in: the ends of those that went with it are told
// with their cause. The slice it is given is not changed.
func WithServerDeath(agents []fleet.Agent, server fleet.Exit, socket string, now fleet.Instant) []fleet.Agent {
	out := slices.Clone(agents)
	for i := range out {
		a := &out[i]
		if a.Exit == nil || a.Exit.Server != "" || a.Pane == nil || !sameProcess(a.Pane.ID.Server, server.Process) ||
			a.Exit.Asked != "" || a.Exit.Quit != "" || a.Exit.At.Since(server.At).Abs() > fellWithin {
			continue
		}
		x := *a.Exit
		x.Server = socket
		*a = died(*a, x, now)
	}
	return out
}

// died describes an agent after its end.
func died(a fleet.Agent, x fleet.Exit, now fleet.Instant) fleet.Agent {
	const why = "its process is gone"
	if x.Instance == "" {
		x.Instance = a.Instance
	}
	v := agent.State(agent.Signals{End: &agent.End{Exit: &x, Wanted: a.Desired}})
	a.State, a.Reason, a.Source, a.Signals = v.State, v.Reason, v.Source, v.Signals
	a.Dwell = fleet.Known(fleet.Duration(max(0, now.Since(x.At))))
	a.Process, a.Procs, a.Args, a.TTY = fleet.ProcessID{}, nil, nil, ""
	a.Tool, a.Dialog, a.Still, a.Orphan, a.Conflict = nil, nil, 0, false, "" // a limit outlives whoever met it
	a.Age, a.Quiet, a.CPUTime = fleet.Unknown[fleet.Duration](why), fleet.Unknown[fleet.Duration](why), fleet.Unknown[fleet.Duration](why)
	a.LastHealthy, a.ComposerEmpty = fleet.Unknown[fleet.Duration](why), fleet.Unknown[bool](why)
	a.CPU, a.RSS, a.ContextPercent = fleet.Unknown[float64](why), fleet.Unknown[int64](why), fleet.Unknown[float64](why)
	if a.Exit == nil && x.Failed() {
		a.Deaths++
	}
	a.Progress, a.Exit = fleet.ProgressUnknown, &x
	a.ExitStatus, a.ExitSignal = x.Status, x.Signal
	return a
}

// lately describes the agents that are not registered, have left nothing, and
// ended a moment ago. One whose name has a living agent is history.
func (l *look) lately(done told, names map[string]bool) (found []fleet.Agent) {
	for k, x := range l.dead {
		s, ok := l.seen[k]
		if !ok || s.agent.Registered || done.processes[k] || done.left[k] || names[s.agent.Name] || l.lives(x.Process) || l.toldByPane(s, done) {
			continue
		}
		l.attribute(&x, prompted(s.agent.Kind, s.agent.OneShot), s.pane, true)
		a := died(s.agent, x, l.now)
		a.Pane = nil
		keep := keepEnded
		if a.State == fleet.StateCrashed || a.State == fleet.StateUnknown {
			keep = keepCrashed
		}
		if l.now.Since(x.At) < keep {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b fleet.Agent) int {
		return int(a.Exit.Process.Start) - int(b.Exit.Process.Start) + (a.Exit.Process.PID - b.Exit.Process.PID)
	})
	return found
}

// toldByPane says whether what an agent left in its pane was told already: it
// ended once, whoever noticed it.
func (l *look) toldByPane(s sighting, done told) bool {
	if s.agent.Pane == nil || s.nested {
		return false
	}
	pane := l.paneRecorded(s.agent.Pane.ID)
	return pane != nil && done.panes[pane.ID]
}

// exitOf returns how the newest instance of a registration ended, from whom knows
// it best: its shim, what the watcher saw, the record; or that a reboot ended
// it. nil while it is not known to have ended.
func (l *look) exitOf(reg *fleet.Registration) *fleet.Exit {
	recorded := reg.Exit
	if recorded != nil && (recorded.Instance != "" && recorded.Instance != reg.Instance || l.rebooted(reg) && saysNothing(*recorded)) {
		recorded = nil
	}
	x := l.seenExit(reg)
	switch {
	case x == nil && recorded != nil:
		return recorded
	case x == nil && l.rebooted(reg):
		x = &fleet.Exit{Source: fleet.ExitReboot, Status: fleet.Unknown[int]("the machine was started again"), Signal: fleet.Unknown[int]("the machine was started again")}
	case x == nil && l.endedUnseen(reg):
		x = &fleet.Exit{Source: agent.SourceNone, Status: fleet.Unknown[int]("its shim was gone"), Signal: fleet.Unknown[int]("its shim was gone"), ShimGone: true, At: l.now}
	case x == nil:
		return nil
	}
	out := *x
	out.Instance, out.Process = reg.Instance, reg.Process
	if recorded != nil {
		out.Quit, out.Server, out.Early = recorded.Quit, recorded.Server, recorded.Early
		if recorded.Asked != "" {
			out.Asked = recorded.Asked
		}
	}
	if l.wentDown(reg, recorded, out) {
		out.Source = fleet.ExitReboot
	}
	out.Early = out.Early || (recorded == nil || l.now.Since(out.At) <= toldWithin) && l.neverBegan(reg, out)
	l.attribute(&out, prompted(reg.Kind, reg.Where == fleet.WhereHeadless), l.lastPane(reg.Process), recorded == nil)
	return &out
}

// neverBegan says whether it is certain that an instance ended before it took its first
// prompt. Of one that was given it, only its own farewell is enough: what it told before
// may lie in a spool. Later, what it told may be forgotten: then the record stands.
func (l *look) neverBegan(reg *fleet.Registration, x fleet.Exit) bool {
	told := l.events.byInstance[reg.Instance]
	if !agent.NeverReported(*reg, told) || slices.ContainsFunc(told, agent.OfTurn) {
		return false
	}
	_, farewell := l.farewell(x)
	return reg.PromptState != fleet.DeliverySent || farewell
}

// endedUnseen says whether an instance has ended for certain, and nobody is left who
// could tell how: its shim is gone without a word.
func (l *look) endedUnseen(reg *fleet.Registration) bool {
	return l.o.ShimGone != nil && reg.Owner == fleet.OwnerCustos && reg.Process.PID != 0 && !l.lives(reg.Process) && l.o.ShimGone(reg.Instance)
}

// wentDown says whether an exit that its shim could still write down was the
// machine's: in another boot, by the signals that end everything at a shutdown,
// and not yet on record when Custos was ended with it. What was on record before
// is what somebody did to this agent; once it is told, it stays so.
func (l *look) wentDown(reg *fleet.Registration, recorded *fleet.Exit, x fleet.Exit) bool {
	if recorded != nil {
		return recorded.Rebooted()
	}
	signal, _ := fleet.EndSignal(x.Status, x.Signal)
	return l.rebooted(reg) && !x.OOM && slices.Contains([]int{int(syscall.SIGHUP), int(syscall.SIGKILL), int(syscall.SIGTERM)}, signal)
}

// ended judges what is left of an agent. One that went down with the machine has
// stopped: that much is certain, and nobody can tell more.
func ended(end agent.End) agent.Verdict {
	v := agent.State(agent.Signals{End: &end})
	if end.Exit == nil || !end.Exit.Rebooted() {
		return v
	}
	v.State, v.Reason = fleet.StateStopped, "the machine was started again, and it was not started again since"
	v.Signals = []fleet.Signal{{Source: v.Source, Says: v.Reason, Hint: v.State, Age: fleet.Unknown[fleet.Duration]("not told")}}
	return v
}

func (l *look) seenExit(reg *fleet.Registration) *fleet.Exit {
	if x := l.shimExit(reg.Instance); x != nil {
		return x
	}
	if x, ok := l.dead[key(reg.Process)]; ok && sameProcess(x.Process, reg.Process) {
		return &x
	}
	return nil
}

// shimExit asks the shim's exit file, once in a look.
func (l *look) shimExit(instance string) *fleet.Exit {
	if l.o.Exits == nil || instance == "" {
		return nil
	}
	x, ok := l.exits[instance]
	if !ok {
		x = l.o.Exits(instance)
		l.exits[instance] = x
	}
	return x
}

// saysNothing says whether an exit tells no more than that there was one.
func saysNothing(x fleet.Exit) bool {
	return !x.Rebooted() && x.Asked == "" && !x.OOM && !x.Status.IsKnown() && !x.Signal.IsKnown()
}

// rebooted says whether the machine was started again since the instance began.
func (l *look) rebooted(reg *fleet.Registration) bool {
	began := reg.Process.Boot
	if began == "" {
		began = reg.StartedAt.Boot
	}
	return (reg.Instance != "" || reg.Process.PID != 0) && began != "" && l.now.Boot != "" && began != l.now.Boot
}

func words(x fleet.Exit) string {
	if s, ok := x.Signal.Get(); ok {
		return fmt.Sprintf("by signal %d, says %s", s, x.Source)
	}
	if s, ok := x.Status.Get(); ok {
		return fmt.Sprintf("with exit status %d, says %s", s, x.Source)
	}
	return "says " + x.Source
}

// key is an identity without its boot, which is not always told.
func key(id fleet.ProcessID) fleet.ProcessID { return fleet.ProcessID{PID: id.PID, Start: id.Start} }

// countDeaths counts how often an agent died in the last hour: one alert may stand
// for several deaths. One that is not on record yet is among them.
func (l *look) countDeaths(a *fleet.Agent, reg *fleet.Registration) {
	first := l.now
	for _, at := range reg.Deaths {
		if age := l.now.Since(at); age <= time.Hour {
			a.Deaths++
			if at.Before(first) {
				first = at
			}
		}
	}
	if x := a.Exit; x != nil && reg.Exit == nil && x.Failed() && !x.Rebooted() {
		a.Deaths++
	}
	a.DeathsIn = fleet.Duration(max(0, l.now.Since(first)))
}
