package rules

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// A join lists, for the one thing that is judged, what belongs to it by name, so
// that no rule has to go through every agent for every issue.
const (
	agentsOfName   = "its_agents"
	formerAgentsOf = "crew" // what that was called until November 2026: recordings and files of rules hold it
	fixesName      = "fixes"
	treeName       = "tree"
	itsWorkName    = "its_work"
)

// joined lists the joins that rules over a kind may use.
func joined(k fleet.Kind) []variable {
	agents := variable{agentsOfName, "agent", true, "in rules over an issue, a pr, work or a project: the agents that work on it, or in it; one of no known project may work in any", fleet.PartAgents, nil}
	fixes := variable{fixesName, "pr", true, "in rules over an issue: the open pull requests that say they close it, or that are of the agent who works on it", fleet.PartForge, nil}
	tree := variable{treeName, "worktree", true, "in rules over an agent: the worktree it is registered with; empty when it has none, or that is not seen", fleet.PartRepos, nil}
	itsWork := variable{itsWorkName, "work", true, "in rules over an agent: the work of the ledger that it has", fleet.PartCoordination, nil}
	former := agents
	former.name, former.doc = formerAgentsOf, "what its_agents was called until November 2026: rules and recordings that say it mean the same"
	switch k {
	case fleet.KindAgent:
		return []variable{tree, itsWork}
	case fleet.KindOverlap, fleet.KindWork:
		return []variable{agents}
	case fleet.KindIssue:
		return []variable{agents, fixes, former}
	case fleet.KindPull, fleet.KindProject:
		return []variable{agents, former}
	}
	return nil
}

// roll says what belongs together in a snapshot.
type roll struct {
	named  map[string][]ref.Val // agents by name
	within map[string][]ref.Val // agents by project; "": of no known project
	fixes  map[string][]ref.Val // pull requests by the name of an issue
	trees  map[string][]ref.Val // worktrees by path
	work   map[string][]ref.Val // by the agent that has it
}

// itsAgents lists the agents of what is judged.
func (v *View) itsAgents() ref.Val {
	var list []ref.Val
	switch x := v.judged(agentsOfName).(type) {
	case *fleet.Issue:
		list = v.rolled().named[x.Agent]
	case *fleet.PullRequest:
		list = v.rolled().named[x.Agent]
	case *fleet.WorkFacts:
		list = v.rolled().named[x.Agent]
	case *fleet.Overlap:
		one, other := x.Agents(v.snap.Agents.Value)
		for _, a := range append(one, other...) {
			list = append(list, v.rolled().named[a.Name]...)
		}
	case *fleet.Project:
		if v.snap.From.AgentsElsewhere {
			return unseen(agentsOfName, "agents may work there outside of the pid namespace that Custos is in; where none do, say [agents] foreign_namespace = false")
		}
		list = slices.Concat(v.rolled().within[x.Name], v.rolled().within[""])
	default:
		return unseen(agentsOfName, "what they would work on was not seen")
	}
	return v.guard(fleet.PartAgents, types.NewRefValList(types.DefaultTypeAdapter, list))
}

// fixes lists the pull requests of the issue that is judged.
func (v *View) fixes() ref.Val {
	x, ok := v.judged(fixesName).(*fleet.Issue)
	if !ok {
		return unseen(fixesName, "the issue was not seen")
	}
	return v.guard(fleet.PartForge, types.NewRefValList(types.DefaultTypeAdapter, v.rolled().fixes[x.Name]))
}

// tree lists the worktree of the agent that is judged.
func (v *View) tree() ref.Val {
	x, ok := v.judged(treeName).(*fleet.Agent)
	if !ok {
		return unseen(treeName, "the agent was not seen")
	}
	return v.guard(fleet.PartRepos, types.NewRefValList(types.DefaultTypeAdapter, v.rolled().trees[x.Worktree]))
}

// itsWork lists the work that the agent has that is judged.
func (v *View) itsWork() ref.Val {
	x, ok := v.judged(itsWorkName).(*fleet.Agent)
	if !ok {
		return unseen(itsWorkName, "the agent was not seen")
	}
	return v.guard(fleet.PartCoordination, types.NewRefValList(types.DefaultTypeAdapter, v.rolled().work[x.Name]))
}

// judged is the thing that a join is asked for: the target where it has that
// join, else the subject; nil when it was not seen.
func (v *View) judged(join string) any {
	of := v.subject
	if v.target != nil && declares(joined(v.targetKind), join) {
		of = v.target
	}
	if o, ok := of.(object); ok {
		return o.ptr
	}
	return nil
}

func (v *View) rolled() *roll {
	if v.roll == nil {
		v.roll = newRoll(v.snap)
	}
	return v.roll
}

func newRoll(s *fleet.Snapshot) *roll {
	r := &roll{named: map[string][]ref.Val{}, within: map[string][]ref.Val{}, fixes: map[string][]ref.Val{}, trees: map[string][]ref.Val{}, work: map[string][]ref.Val{}}
	at := placesOf(s)
	for i := range s.Agents.Value {
		a := &s.Agents.Value[i]
		val := object{"agent", a}
		r.named[a.Name] = append(r.named[a.Name], val)
		if len(at[a.Name]) == 0 {
			r.within[""] = append(r.within[""], val)
		}
		for project := range at[a.Name] {
			r.within[project] = append(r.within[project], val)
		}
	}
	for i := range s.Repos.Value.Worktrees {
		w := &s.Repos.Value.Worktrees[i]
		r.trees[w.Path] = []ref.Val{object{"worktree", w}}
	}
	for i := range s.Coordination.Value.Work {
		w := &s.Coordination.Value.Work[i]
		if w.Agent != "" {
			r.work[w.Agent] = append(r.work[w.Agent], object{"work", w})
		}
	}
	r.pulls(s)
	return r
}

// pulls finds the pull requests of each issue, each once.
func (r *roll) pulls(s *fleet.Snapshot) {
	type hand struct{ project, agent string }
	work := map[hand][]string{}
	for _, i := range s.Forge.Value.Issues {
		if i.Agent != "" {
			work[hand{i.Project, i.Agent}] = append(work[hand{i.Project, i.Agent}], i.Name)
		}
	}
	for i := range s.Forge.Value.Pulls {
		p := &s.Forge.Value.Pulls[i]
		names := slices.Concat(p.Closes, work[hand{p.Project, p.Agent}])
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			r.fixes[name] = append(r.fixes[name], object{"pr", p})
		}
	}
}

// placesOf finds the projects that agents work in, by name: the one they are
// registered for, and those whose issues and pull requests they work on.
func placesOf(s *fleet.Snapshot) map[string]map[string]bool {
	at := map[string]map[string]bool{}
	note := func(agent, project string) {
		if agent == "" || project == "" {
			return
		}
		if at[agent] == nil {
			at[agent] = map[string]bool{}
		}
		at[agent][project] = true
	}
	for i := range s.Agents.Value {
		note(s.Agents.Value[i].Name, s.Agents.Value[i].Project)
	}
	for i := range s.Forge.Value.Issues {
		note(s.Forge.Value.Issues[i].Agent, s.Forge.Value.Issues[i].Project)
	}
	for i := range s.Forge.Value.Pulls {
		note(s.Forge.Value.Pulls[i].Agent, s.Forge.Value.Pulls[i].Project)
	}
	return at
}
