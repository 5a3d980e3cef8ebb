package agents

import (
	"slices"

	"custos/internal/fleet"
)

// seeBeside tells each agent that runs who else works in its folder. One that
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

func besides(found []fleet.Agent, there []int, i int) []string {
	names := []string{}
	for _, j := range there {
		a, b := &found[i], &found[j]
		if i != j && !slices.Contains(a.Procs, b.Process) && !slices.Contains(b.Procs, a.Process) {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return names
}
