package agent

import (
	"cmp"
	"path"
	"slices"

	"custos/internal/fleet"
)

// Run is one running agent: the process at the top, and all below it.
type Run struct {
	Kind    string
	OneShot bool
	Process fleet.Process   // the agent itself
	Tree    []fleet.Process // Process first, then all its descendants
	// Parent is the agent that started this one through a tool; zero for most.
	// Its tree holds this one's.
	Parent fleet.ProcessID
}

// strength of a match.
type strength int

const (
	none   strength = iota
	weak            // a shell script of that name: an agent unless it turns out to wrap one
	strong          // the program itself
)

// match says whether a command is of this kind, and returns the arguments that
// are the CLI's own.
func (k *Kind) match(c command) (strength, []string) {
	s := none
	switch {
	case c.how == shelled && c.script != "" && slices.Contains(k.Names, path.Base(c.script)):
		s = weak
	case c.how == shelled:
	case c.how == interpreted && (slices.Contains(k.Names, path.Base(c.script)) || anyGlob(k.Scripts, c.script) ||
		slices.Contains(k.Modules, c.module) || slices.Contains(k.Names, c.name) || slices.Contains(k.Titles, c.name)):
		s = strong
	case c.how == direct && (slices.Contains(k.Names, c.name) || slices.Contains(k.Names, path.Base(c.exe)) || anyGlob(k.Programs, c.exe)):
		s = strong
	}
	if s == none || k.helper(c.rest) {
		return none, nil
	}
	return s, c.rest
}

func anyGlob(globs []Glob, p string) bool {
	return slices.ContainsFunc(globs, func(g Glob) bool { return g.Match(p) })
}

// Detect finds the agents in a process table, ordered by start, then pid.
//
// One agent is counted per tree: the CLI's own children of the same kind are
// part of it, and so are wrappers (npm exec, timeout, a shell script of the same
// name), which are no agent when a child is. What an agent starts through a
// shell is an agent of its own, with a Parent.
func Detect(kinds *Kinds, procs []fleet.Process) []Run {
	d := detection{byPID: make(map[int]*fleet.Process, len(procs)), children: map[int][]int{}, found: map[int]hit{}}
	for i := range procs {
		p := &procs[i]
		d.byPID[p.ID.PID] = p
		d.children[p.PPID] = append(d.children[p.PPID], p.ID.PID)
		if p.State == "Z" || p.State == "X" {
			continue // ended; only its exit status is left
		}
		c := readCommand(*p)
		for j := range kinds.list {
			k := &kinds.list[j]
			if k.Disabled {
				continue
			}
			if s, rest := k.match(c); s != none {
				d.found[p.ID.PID] = hit{k.Name, s, k.oneShot(rest)}
				break
			}
		}
	}
	d.dropHelpers()
	return d.runs()
}

type hit struct {
	kind     string
	strength strength
	oneShot  bool
}

type detection struct {
	byPID    map[int]*fleet.Process
	children map[int][]int
	found    map[int]hit
}

// ancestors calls see with each process above pid, nearest first, until it
// returns false. A table in which pids were reused may hold a ring.
func (d detection) ancestors(pid int, see func(*fleet.Process) bool) {
	seen := map[int]bool{pid: true}
	for p := d.byPID[d.byPID[pid].PPID]; p != nil && !seen[p.ID.PID]; p = d.byPID[p.PPID] {
		seen[p.ID.PID] = true
		if !see(p) {
			return
		}
	}
}

// dropHelpers forgets the processes that are part of another agent, and the
// wrappers of one.
func (d detection) dropHelpers() {
	var drop []int
	for pid, h := range d.found {
		d.ancestors(pid, func(a *fleet.Process) bool {
			above, ok := d.found[a.ID.PID]
			switch {
			case ok && above.kind != h.kind:
				return false // of an agent of another kind, which began this one
			case ok && above.strength == weak && h.strength == strong:
				drop = append(drop, a.ID.PID)
			case ok:
				drop = append(drop, pid)
				return false
			case readCommand(*a).how == shelled:
				return false
			}
			return true
		})
	}
	for _, pid := range drop {
		delete(d.found, pid)
	}
}

func (d detection) runs() []Run {
	runs := make([]Run, 0, len(d.found))
	for pid, h := range d.found {
		p := d.byPID[pid]
		r := Run{Kind: h.kind, OneShot: h.oneShot, Process: *p, Tree: d.tree(pid)}
		d.ancestors(pid, func(a *fleet.Process) bool {
			if _, ok := d.found[a.ID.PID]; ok {
				r.Parent = a.ID
				return false
			}
			return true
		})
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Process.ID.Start, b.Process.ID.Start), cmp.Compare(a.Process.ID.PID, b.Process.ID.PID))
	})
	return runs
}

// tree returns a process and its descendants, parents before children.
func (d detection) tree(pid int) []fleet.Process {
	var all []fleet.Process
	seen := map[int]bool{}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		if p := d.byPID[queue[0]]; p != nil && !seen[queue[0]] {
			seen[queue[0]] = true
			all = append(all, *p)
			queue = append(queue, slices.Sorted(slices.Values(d.children[queue[0]]))...)
		}
	}
	return all
}
