package agents

import (
	"iter"
	"slices"

	"custos/internal/fleet"
)

// events are hook events by what they are about.
type events struct {
	byInstance map[string][]fleet.HookEvent
	byProcess  map[fleet.ProcessID][]fleet.HookEvent // without an instance
}

// sortEvents files each event once: it may have come by wire and by spool.
func sortEvents(all []fleet.HookEvent) events {
	e := events{byInstance: map[string][]fleet.HookEvent{}, byProcess: map[fleet.ProcessID][]fleet.HookEvent{}}
	known := make(map[string]bool, len(all))
	for _, one := range all {
		if one.ID != "" && known[one.ID] {
			continue
		}
		known[one.ID] = true
		switch {
		case one.Instance != "":
			e.byInstance[one.Instance] = append(e.byInstance[one.Instance], one)
		case one.Process.PID != 0:
			e.byProcess[key(one.Process)] = append(e.byProcess[key(one.Process)], one)
		} // else nobody can tell whose it is
	}
	return e
}

// eventsOf returns what a run told of itself. Agents that another one started
// inherit its marker: what they tell is not told by it.
func (l *look) eventsOf(r run) []fleet.HookEvent {
	var mine []fleet.HookEvent
	if r.instance != "" && r.Parent.PID == 0 && !r.ours {
		mine = l.events.byInstance[r.instance]
		another := func(e fleet.HookEvent) bool { return l.ofAnother(r, e.Process) }
		if slices.ContainsFunc(mine, another) {
			mine = slices.DeleteFunc(slices.Clone(mine), another)
		}
	}
	for _, p := range r.Tree {
		for _, e := range l.events.byProcess[key(p.ID)] {
			if sameProcess(e.Process, p.ID) && !l.ofAnother(r, p.ID) {
				mine = append(slices.Clip(mine), e)
			}
		}
	}
	return mine
}

// ofAnother says whether a process is a run other than r, or stands below one
// that r started.
func (l *look) ofAnother(r run, id fleet.ProcessID) bool {
	if id.PID == 0 || sameProcess(id, r.Process.ID) {
		return false
	}
	for p := range l.upwards(id.PID) {
		if p.ID == r.Process.ID {
			return false
		}
		if l.isRun[key(p.ID)] {
			return true
		}
	}
	return false
}

// upwards yields a process and those above it, nearest first. It ends in a table
// in which reused pids make a ring, too.
func (l *look) upwards(pid int) iter.Seq[fleet.Process] {
	return func(yield func(fleet.Process) bool) {
		for range len(l.procs) {
			p, ok := l.procs[pid]
			if !ok || !yield(p) {
				return
			}
			pid = p.PPID
		}
	}
}
