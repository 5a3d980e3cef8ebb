package agents

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// seeBeside notes at each agent that runs which others work in its folder. One that
// answers a single prompt, and one that another agent has started, is a part of
// the work there.
func seeBeside(found []fleet.Agent) {
	in := map[string][]int{}
	for i := range found {
		a := &found[i]
		folder, known := folderOf(a)
		switch {
		case a.Process.PID == 0:
			a.Beside = fleet.Known([]string{})
		case !known:
			a.Beside = fleet.Unknown[[]string]("where it works is not known")
		default:
			a.Beside = fleet.Known([]string{})
			if !a.OneShot {
				in[folder] = append(in[folder], i)
			}
		}
	}
	for _, there := range in {
		slices.SortFunc(there, func(i, j int) int { return strings.Compare(found[i].Name, found[j].Name) })
		for _, i := range there {
			found[i].Beside = fleet.Known(besides(found, there, i))
		}
	}
}

func folderOf(a *fleet.Agent) (string, bool) {
	if a.Worktree != "" {
		return a.Worktree, true
	}
	return a.CWD.Get()
}

// mostBeside is how many others are named: no person reads more, and a folder of
// hundreds would take the square of them.
const mostBeside = 20

// besides names the first of those there that agent i shares the folder with.
func besides(found []fleet.Agent, there []int, i int) []string {
	names := []string{}
	for _, j := range there {
		a, b := &found[i], &found[j]
		if len(names) == mostBeside {
			break
		}
		if i != j && !slices.Contains(a.Procs, b.Process) && !slices.Contains(b.Procs, a.Process) {
			names = append(names, b.Name)
		}
	}
	return names
}
