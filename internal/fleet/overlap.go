package fleet

import "slices"

// Overlap is what the agents of two worktrees of one repository both change, before either has
// brought it in: what each has committed since the two parted, and what it has merely saved.
type Overlap struct {
	Name      string         `json:"name" help:"the folders of both worktrees"`
	Repo      string         `json:"repo" help:"path of the main worktree"`
	One       string         `json:"one" help:"folder of one worktree"`
	Other     string         `json:"other" help:"folder of the other one"`
	Hot       []string       `json:"hot,omitempty" help:"files in which both change the same lines, or lines that touch, each with those lines as the commit has them that both come from; sorted"`
	Soft      []string       `json:"soft,omitempty" help:"files that both change in other places; sorted"`
	Conflicts Leaf[[]string] `json:"conflicts" help:"files in which what both have committed does not merge"`
	OfOne     []string       `json:"of_one,omitempty" help:"files that agents of the one were started for (spawn --files), and that the other one changes; sorted"`
	OfOther   []string       `json:"of_other,omitempty" help:"as of_one, the other way round"`
	OneIn     []string       `json:"one_in,omitempty" unread:"rules have the agents as its_agents"` // folders that its agents stand in
	OtherIn   []string       `json:"other_in,omitempty" unread:"as one_in"`
}

// OverlapName is the name of the overlap of two worktrees.
func OverlapName(one, other string) string { return one + " and " + other }

// Agents lists those of these agents that run in its worktrees: of one, and of the other.
func (o Overlap) Agents(all []Agent) (one, other []*Agent) {
	for i := range all {
		a := &all[i]
		cwd, known := a.CWD.Get()
		switch {
		case a.Process.PID == 0:
		case known && slices.Contains(o.OneIn, cwd), a.Worktree != "" && a.Worktree == o.One:
			one = append(one, a)
		case known && slices.Contains(o.OtherIn, cwd), a.Worktree != "" && a.Worktree == o.Other:
			other = append(other, a)
		}
	}
	return one, other
}
