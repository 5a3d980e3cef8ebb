package agents

import (
	"slices"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Launch is an instance that a shim of ours has claimed, and has not written the end of.
type Launch struct {
	Name     string // of the agent
	Instance string
	Process  fleet.ProcessID // zero while the shim has not written down what it started
	Shim     fleet.ProcessID
	At       fleet.Instant
}

// head is the process that all of a launch stands below: what was started, or the shim
// while that is not written down.
func (x Launch) head() fleet.ProcessID {
	if x.Process.PID != 0 {
		return x.Process
	}
	return x.Shim
}

// seeLaunches describes, for this look, the agents of ours that live as another
// instance than the one on record: a start that Custos did not live to note.
func (l *look) seeLaunches() {
	if l.o.Launches == nil || !slices.ContainsFunc(l.regs, l.isAway) && !l.isUnknownShim() {
		return
	}
	all, err := l.o.Launches()
	if err != nil {
		l.untold = err.Error()
		return
	}
	l.launches = all
	l.regs = slices.Clone(l.regs)
	for i := range l.regs {
		if l.isAway(l.regs[i]) {
			l.regs[i] = l.launched(l.regs[i], all)
		}
	}
}

// isAway says whether an agent of ours is not the process that is on record.
func (l *look) isAway(reg fleet.Registration) bool {
	return reg.Owner == fleet.OwnerCustos && !l.lives(reg.Process)
}

// launched returns a registration as the newest living instance of its name.
func (l *look) launched(reg fleet.Registration, all []Launch) fleet.Registration {
	var newest fleet.Instant
	for _, x := range all {
		if x.Name != reg.Name || !l.lives(x.head()) || !newest.IsZero() && x.At.Before(newest) {
			continue
		}
		newest = x.At
		reg.Instance, reg.Process, reg.StartedAt, reg.Exit = x.Instance, x.Process, x.At, nil
	}
	return reg
}

// untoldStart judges an agent of ours that was not seen while the records of the
// shims cannot be read: nobody can tell that it does not run.
func (l *look) untoldStart(reg *fleet.Registration, v agent.Verdict) agent.Verdict {
	if l.untold == "" || reg.Owner != fleet.OwnerCustos {
		return v
	}
	return agent.Verdict{State: fleet.StateUnknown, Source: agent.SourceNone,
		Reason: "it cannot be told whether an instance of it runs: " + l.untold}
}

// isUnknownShim says whether a shim runs whose instance is on no record: a start that
// is under way, another Custos' or one of a past that was lost.
func (l *look) isUnknownShim() bool {
	for _, p := range l.procs {
		if instance := shimOf(p); instance != "" && !l.isOnRecord(instance) {
			return true
		}
	}
	return false
}

func (l *look) isOnRecord(instance string) bool {
	return slices.ContainsFunc(l.regs, func(r fleet.Registration) bool { return r.Instance == instance })
}

// unrecorded finds what runs under our shims and is on no record: the ledger lost its
// past. It is called as its shim calls it, unless another has the name by now. What is
// no agent CLI that is known is added.
func (l *look) unrecorded() {
	for _, x := range l.launches {
		if !l.lives(x.head()) || l.isOnRecord(x.Instance) {
			continue
		}
		named := slices.ContainsFunc(l.regs, func(r fleet.Registration) bool { return r.Name == x.Name })
		if !l.claimLost(x, named) && !named && x.Process.PID != 0 {
			l.addLost(x)
		}
	}
}

// claimLost marks what runs under a launch that is on no record, and says whether
// there is any of it, or of an agent that is.
func (l *look) claimLost(x Launch, named bool) (found bool) {
	for i := range l.runs {
		r := &l.runs[i]
		if !sameProcess(r.Process.ID, x.Process) && !l.below(r.Process, x.head()) {
			continue
		}
		found = true
		if r.reg != nil {
			continue
		}
		r.lost, r.instance = true, x.Instance
		if !named && r.Parent.PID == 0 {
			r.called = x.Name
		}
	}
	return found
}

// addLost adds a launch that is on no record, and no agent CLI that is known.
func (l *look) addLost(x Launch) {
	kind, _ := l.o.Kinds.Get(agent.Generic)
	proc := l.procs[x.Process.PID]
	r := run{Run: agent.Run{Kind: agent.Generic, Process: proc, Tree: l.tree(proc)}, kind: kind, instance: x.Instance, called: x.Name, lost: true}
	r.pane = l.paneOf(r.Run)
	l.runs = append(l.runs, r)
}
