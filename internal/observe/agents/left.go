package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// leave tells of each registered agent of ours what its ended instances left running:
// whatever stands below a shim that is on record as theirs, and below no other shim.
func (l *look) leave(found []fleet.Agent) {
	left := l.leftBelowShims()
	for i := range found {
		a := &found[i]
		list := left[a.Name]
		if !a.Registered || a.Owner != fleet.OwnerCustos || len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b fleet.Process) int { return cmp.Or(cmp.Compare(a.ID.Start, b.ID.Start), a.ID.PID-b.ID.PID) })
		var says []string
		for _, p := range list {
			a.Left = append(a.Left, p.ID)
			since := l.now.Wall.Add(-time.Duration(p.Age)).UTC().Format("2 Jan 15:04 UTC")
			says = append(says, fmt.Sprintf("%s (process %d, since %s)", fleet.Line(p.Name, 20), p.ID.PID, since))
		}
		a.LeftSays = strings.Join(says[:min(len(says), maxLeft)], ", ")
		if more := len(says) - maxLeft; more > 0 {
			a.LeftSays += fmt.Sprintf(" and %d more", more)
		}
	}
}

// maxLeft is how many processes are named one by one.
const maxLeft = 5

// leftBelowShims lists, by the names of agents, what lives below the shims of instances
// that have ended.
func (l *look) leftBelowShims() map[string][]fleet.Process {
	left := map[string][]fleet.Process{}
	for _, p := range l.procs {
		instance := shimOf(p)
		if l.o.Shim == nil || instance == "" || l.shimExit(instance) == nil {
			continue
		}
		if name, is := l.o.Shim(instance); name != "" && sameProcess(is, p.ID) {
			left[name] = append(left[name], l.adopted(p.ID.PID)...)
		}
	}
	return left
}

// adopted lists what lives below a shim, and below no other: that is another instance's.
func (l *look) adopted(shim int) (all []fleet.Process) {
	seen := map[int]bool{}
	for queue := slices.Clone(l.children[shim]); len(queue) > 0; queue = queue[1:] {
		p, ok := l.procs[queue[0]]
		if !ok || seen[p.ID.PID] || shimOf(p) != "" {
			continue
		}
		seen[p.ID.PID] = true
		if p.State != "Z" {
			all = append(all, p)
		}
		queue = append(queue, l.children[p.ID.PID]...)
	}
	return all
}
