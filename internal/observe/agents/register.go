package agents

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// shimName is the program that agents of ours are children of.
const shimName = "custos-shim"

// obeys is how long an agent may take to end after it was to be stopped before
// that is a disagreement.
const obeys = 2 * time.Minute

// lags is how much older the process table of a look may be than what a shim has
// written down meanwhile: so soon after an end, a process that still lives there
// is no disagreement.
const lags = 5 * time.Second

// mark is the marker of a process, and whether it was read for good.
type mark struct {
	instance string
	final    bool
}

// instanceOf returns the instance that a process belongs to, by the marker it
// was started with. A young process may be about to run another program, so it
// is asked again.
func (l *look) instanceOf(id fleet.ProcessID) string {
	k := key(id)
	if m, ok := l.marks[k]; ok && m.final {
		return m.instance
	}
	m := mark{final: time.Duration(l.procs[id.PID].Age) > 5*time.Second}
	if l.o.Marker != nil {
		if value, ok := l.o.Marker(id.PID); ok {
			m.instance, m.final = value[strings.LastIndexByte(value, ':')+1:], true
		}
	}
	if m.instance == "" {
		m.instance = l.shimAbove(id.PID)
	}
	l.marks[k] = m
	return m.instance
}

// shimAbove returns the instance of the shim that a process is a child of: the
// environment of a process of another user cannot be read.
func (l *look) shimAbove(pid int) string {
	return shimOf(l.procs[l.procs[pid].PPID])
}

// shimOf returns the instance that a process is the shim of; "" for any other process.
func shimOf(p fleet.Process) string {
	if path.Base(p.Exe.Or(p.Name)) != shimName {
		return ""
	}
	for i, arg := range p.Args {
		if arg == "--dir" && i+1 < len(p.Args) {
			return path.Base(p.Args[i+1])
		}
	}
	return ""
}

// register finds the running process of each registration.
func (l *look) register() {
	candidates := l.candidates()
	for i := range l.regs {
		l.claim(&l.regs[i], candidates)
	}
	l.unrecorded()
	for i := range l.runs {
		r := &l.runs[i]
		r.ours = r.reg == nil && r.instance != "" && l.instanceIsOurs(r.instance)
	}
}

// instanceIsOurs: a marker alone proves nothing, for another Custos on this
// machine puts the same; it has to be one that our own ledger or state knows.
func (l *look) instanceIsOurs(instance string) bool {
	for i := range l.regs {
		if l.regs[i].Instance == instance {
			return true
		}
	}
	return l.shimExit(instance) != nil
}

// claim gives a registration its run: the recorded process itself, what runs
// under it, or what carries its marker; for an adopted agent also its successor
// in the same session and folder. What still carries the marker of an instance
// that has ended is left over, and is not the agent.
func (l *look) claim(reg *fleet.Registration, candidates candidates) {
	mine := l.claims(reg, candidates)
	if len(mine) == 0 {
		l.stranger(reg)
		return
	}
	r := &l.runs[mine[0]]
	r.reg = reg
	alive := l.lives(reg.Process)
	switch {
	case sameProcess(reg.Process, r.Process.ID):
		if x := l.exitOf(reg); x != nil && l.now.Since(x.At) > lags {
			r.conflict = fmt.Sprintf("the record says that it ended (%s), and its process %d lives", words(*x), r.Process.ID.PID)
		}
	case reg.Process.PID != 0 && !alive && reg.Owner == fleet.OwnerCustos:
		r.conflict = fmt.Sprintf("the record says that it is process %d, which is gone; process %d carries its marker", reg.Process.PID, r.Process.ID.PID)
	case reg.Process.PID == 0 && len(mine) > 1:
		r.conflict = fmt.Sprintf("processes %d and %d both carry its marker", r.Process.ID.PID, l.runs[mine[1]].Process.ID.PID)
	}
	l.disputes(r)
}

// disputes adds what else of the record does not fit a running agent.
func (l *look) disputes(r *run) {
	var more []string
	if rec, ok := l.recordOf(r.Process.ID); ok && over(rec.State) {
		more = append(more, fmt.Sprintf("the record says %s, and its process %d lives", rec.State, r.Process.ID.PID))
	}
	if d := r.reg.Desired; (d == fleet.DesiredStopped || d == fleet.DesiredRetired) && !r.reg.DesiredAt.IsZero() && l.now.Since(r.reg.DesiredAt) > obeys {
		more = append(more, fmt.Sprintf("it was to be %s since %s ago, and runs", d, l.now.Since(r.reg.DesiredAt).Round(time.Second)))
	}
	if len(more) > 0 {
		r.conflict = strings.TrimPrefix(r.conflict+"; "+strings.Join(more, "; "), "; ")
	}
}

// over says whether a state is one of an agent that is gone.
func over(s fleet.AgentState) bool {
	return s == fleet.StateZombie || s == fleet.StateCrashed || s == fleet.StateFinished
}

// candidates are indexes into runs, by what may tie them to a registration.
type candidates struct {
	byProcess  map[fleet.ProcessID][]int // that of the run, and those above it
	byInstance map[string][]int
	bySession  map[string][]int
}

func (l *look) candidates() candidates {
	c := candidates{byProcess: map[fleet.ProcessID][]int{}, byInstance: map[string][]int{}, bySession: map[string][]int{}}
	for i, r := range l.runs {
		for p := range l.upwards(r.Process.ID.PID) {
			if p.ID.PID > 1 {
				c.byProcess[key(p.ID)] = append(c.byProcess[key(p.ID)], i)
			}
		}
		if r.instance != "" {
			c.byInstance[r.instance] = append(c.byInstance[r.instance], i)
		}
		if r.pane != nil {
			c.bySession[r.pane.Session] = append(c.bySession[r.pane.Session], i)
		}
	}
	return c
}

// of lists the runs that may have to do with a registration, in their order.
func (c candidates) of(reg *fleet.Registration) []int {
	mine := slices.Concat(c.byProcess[key(reg.Process)], c.byInstance[reg.Instance], c.bySession[reg.Name])
	slices.Sort(mine)
	return slices.Compact(mine)
}

// claims lists the runs that may be a registered agent, the likeliest first.
func (l *look) claims(reg *fleet.Registration, candidates candidates) (mine []int) {
	down := reg.Owner == fleet.OwnerCustos && l.exitOf(reg) != nil
	for _, i := range candidates.of(reg) {
		r := l.runs[i]
		exact := sameProcess(reg.Process, r.Process.ID)
		switch {
		case r.reg != nil:
		case exact:
			mine = slices.Insert(mine, 0, i)
		case down || r.Parent.PID != 0 && l.carries(r.Parent, reg.Instance):
		case reg.Instance != "" && r.instance == reg.Instance, l.below(r.Process, reg.Process), l.succeeds(r, reg):
			mine = append(mine, i)
		}
	}
	return mine
}

// carries says whether the agent above another one carries the same marker: the
// one below has inherited it.
func (l *look) carries(id fleet.ProcessID, instance string) bool {
	m, ok := l.marks[key(id)]
	return ok && m.instance == instance && instance != ""
}

// below says whether a process stands below a living one.
func (l *look) below(p fleet.Process, above fleet.ProcessID) bool {
	if !l.lives(above) {
		return false
	}
	for q := range l.upwards(p.PPID) {
		if sameProcess(q.ID, above) {
			return true
		}
	}
	return false
}

// succeeds: whoever adopted an agent in a session adopted the next one that is
// started there in its place.
func (l *look) succeeds(r run, reg *fleet.Registration) bool {
	return reg.Owner == fleet.OwnerAdopted && !l.lives(reg.Process) && r.pane != nil && r.Parent.PID == 0 &&
		r.pane.Session == reg.Name && r.Kind == reg.Kind && r.Process.CWD.Or("?") == reg.Dir
}

// stranger adds a registered agent that runs and is no agent CLI that is known.
// A shell that is left where it was is not it.
func (l *look) stranger(reg *fleet.Registration) {
	if reg.Owner != fleet.OwnerCustos || !l.lives(reg.Process) {
		return
	}
	proc := l.procs[reg.Process.PID]
	kind, _ := l.o.Kinds.Get(reg.Kind)
	r := run{Run: agent.Run{Kind: reg.Kind, Process: proc, Tree: l.tree(proc)}, kind: kind, reg: reg, instance: reg.Instance}
	if !kind.Generic && l.onlyShells(proc) {
		return
	}
	r.pane = l.paneOf(r.Run)
	l.disputes(&r)
	l.runs = append(l.runs, r)
}

// tree returns a process and all below it.
func (l *look) tree(root fleet.Process) (all []fleet.Process) {
	seen := map[int]bool{}
	for queue := []int{root.ID.PID}; len(queue) > 0; queue = queue[1:] {
		if p, ok := l.procs[queue[0]]; ok && !seen[queue[0]] {
			seen[queue[0]] = true
			all = append(all, p)
			queue = append(queue, slices.Sorted(slices.Values(l.children[queue[0]]))...)
		}
	}
	return all
}

// describe writes into an agent what the ledger knows of it.
func (l *look) describe(a *fleet.Agent, r run) {
	a.CheckpointAge = fleet.Unknown[fleet.Duration]("no checkpoint was taken")
	if rec, ok := l.recordOf(r.Process.ID); ok {
		a.Recorded = rec.State
	}
	if r.reg != nil {
		l.enroll(a, r.reg)
		l.folder(a, r.reg)
		if a.PromptState == fleet.DeliverySent && (tookPrompt(r.kind, l.eventsOf(r), r.reg.Prompt) || tookPrompt(r.kind, l.spoken[r.Process.ID].Events, r.reg.Prompt)) {
			a.PromptState = fleet.DeliveryAcknowledged
		}
	}
}

// tookPrompt says whether one of the events tells that this first prompt was taken, as it was
// or as it was put on the command line: the event carries its hash.
func tookPrompt(k agent.Kind, events []fleet.HookEvent, prompt string) bool {
	want := []string{conversation.PromptHash(prompt), conversation.PromptHash(k.FirstPrompt(prompt))}
	return slices.ContainsFunc(events, func(e fleet.HookEvent) bool {
		hash, _, _ := strings.Cut(e.Text, " ")
		return e.Event == fleet.HookPrompt && slices.Contains(want, hash)
	})
}

// enroll copies a registration.
func (l *look) enroll(a *fleet.Agent, reg *fleet.Registration) {
	a.Registered, a.Name, a.Role, a.Project, a.Parent, a.Depth = true, reg.Name, reg.Role, reg.Project, reg.Parent, reg.Depth
	a.Run, a.Task, a.Worktree, a.Account = reg.Run, reg.Task, reg.Tree(), cmp.Or(reg.Account, a.Account)
	a.Desired, a.Restart, a.Standing, a.Where = reg.Desired, reg.Restart, reg.Standing, reg.Where
	a.Instance, a.Failed, a.PromptState = cmp.Or(reg.Instance, a.Instance), reg.Failed, reg.PromptState
	a.SessionID = cmp.Or(a.SessionID, reg.SessionID)
	l.countDeaths(a, reg)
	a.Pool, a.Policy = reg.Pool, reg.Policy
	if h := reg.Handoff; h != nil && h.Instance == reg.Instance {
		a.Handoff = h.Stage
	}
	a.CheckpointAge = fleet.Unknown[fleet.Duration]("no checkpoint was taken")
	if c := reg.Checkpoint; c != nil {
		a.CheckpointAge = fleet.Known(fleet.Duration(max(0, l.now.Since(c.At))))
	}
	if x := reg.Exit; x != nil && x.Instance == reg.Instance {
		a.Recorded = ended(agent.End{Exit: x, Wanted: reg.Desired}).State
	}
}

// missing describes the registered agents that do not run, and says which
// records and panes are told of by that.
func (l *look) missing() (found []fleet.Agent, done told) {
	done = told{names: map[string]bool{}, processes: map[fleet.ProcessID]bool{}, left: map[fleet.ProcessID]bool{}, panes: map[fleet.PaneID]bool{}}
	runs := map[string]bool{}
	for _, r := range l.runs {
		if r.reg != nil {
			runs[r.reg.Name] = true
		}
	}
	for i := range l.regs {
		reg := &l.regs[i]
		done.names[reg.Name] = true
		if !runs[reg.Name] && (reg.Desired != fleet.DesiredRetired || l.lives(reg.Process)) {
			found = append(found, l.absentee(reg, done))
		}
	}
	return found, done
}

// told is what has been described already.
type told struct {
	names     map[string]bool          // of registered agents
	processes map[fleet.ProcessID]bool // of registered agents
	left      map[fleet.ProcessID]bool // of others that left a pane
	panes     map[fleet.PaneID]bool
}

// absentee describes a registered agent whose process is gone, or was never there.
func (l *look) absentee(reg *fleet.Registration, done told) fleet.Agent {
	rec, _ := l.recordOf(reg.Process)
	rec.Name, rec.Kind, rec.Owner, rec.CWD = reg.Name, reg.Kind, reg.Owner, cmp.Or(rec.CWD, reg.Dir)
	done.processes[key(reg.Process)] = true
	told := l.lastTold(reg)
	end := agent.End{Exit: l.exitOf(reg), Wanted: reg.Desired}
	if reg.Where == fleet.WhereHeadless {
		end.Told = told
	}
	pane := l.vacatedBy(reg, rec, &end, done)
	v, ok := l.neverRan(reg, end.Exit)
	if !ok {
		v = ended(end)
	}
	v = l.untoldStart(reg, v)
	a := l.absent(rec, v)
	a.Owner, a.Exit, a.Pane = reg.Owner, end.Exit, pane
	if a.Exit != nil {
		a.ExitStatus, a.ExitSignal = a.Exit.Status, a.Exit.Signal
	} else if end.PaneDead {
		a.ExitStatus, a.ExitSignal = end.Status, end.Signal
	}
	if pane != nil {
		a.Attached = pane.Attached
	}
	l.sinceEnd(&a, v)
	a.Failure = told.Failure
	if told.State == fleet.StateRateLimited {
		a.RateLimitedUntil, a.RateLimitedAt = told.Until, told.Limited
	}
	l.quote(&a, reg)
	l.bill(&a, reg)
	l.enroll(&a, reg)
	l.broken(&a, reg)
	a.FolderLost = l.whyNotBack(reg)
	a.Recorded = cmp.Or(a.Recorded, rec.State)
	return a
}

// lastTold is what the newest instance told, though it is gone: who was told that it is
// limited, or that its login is refused, has left that to whoever is started in its place.
func (l *look) lastTold(reg *fleet.Registration) agent.Reported {
	if reg.Instance == "" {
		return agent.Reported{}
	}
	events, _ := agent.WithoutBeats(l.events.byInstance[reg.Instance])
	told := agent.Gather(l.spoke(run{reg: reg}, events), reg.Instance, l.now, l.limits)
	if told.Failure == "" { // its hooks may have ended before its last turn did: its output is the whole of it
		if last := l.toldInOutput(reg, l.now); last.Failure != "" {
			return last
		}
	}
	return l.withReset(told, reg)
}

// vacatedBy finds the pane that a registered agent was in, and notes what it
// left there. A pane where something else runs by now is not its own any more.
func (l *look) vacatedBy(reg *fleet.Registration, rec fleet.AgentRecord, end *agent.End, done told) *fleet.Pane {
	if rec.Pane == nil || reg.Process.PID == 0 {
		return nil
	}
	pane := l.paneRecorded(*rec.Pane)
	if pane == nil || !l.vacated(pane) {
		return nil
	}
	end.PaneDead, end.Shell, end.Status, end.Signal = pane.Dead, !pane.Dead, pane.ExitStatus, pane.ExitSignal
	done.panes[pane.ID] = true
	p := *pane
	return &p
}

func (l *look) sinceEnd(a *fleet.Agent, v agent.Verdict) {
	if !v.Since.IsZero() {
		a.Dwell = fleet.Known(fleet.Duration(max(0, l.now.Since(v.Since))))
	}
}

// neverRan tells of a registration without a process: one that is still to be
// started, or is not.
func (l *look) neverRan(reg *fleet.Registration, exit *fleet.Exit) (agent.Verdict, bool) {
	if reg.Process.PID != 0 || exit != nil {
		return agent.Verdict{}, false
	}
	v := agent.Verdict{State: fleet.StateStarting, Source: "record", Since: reg.CreatedAt, Reason: "it is to be started, and was not yet"}
	switch {
	case reg.Desired != fleet.DesiredRunning:
		v.State, v.Reason = fleet.StateStopped, "it was never started, and is to be "+string(reg.Desired)
	case reg.Instance != "":
		v.Since, v.Reason = reg.StartedAt, "it was launched, and its process is not known yet"
	}
	v.Signals = []fleet.Signal{{Source: v.Source, Says: v.Reason, Hint: v.State, Age: fleet.Unknown[fleet.Duration]("not told")}}
	return v, true
}
