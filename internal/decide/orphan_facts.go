package decide

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// formerAgent is what is known of an agent that may have left something behind.
type formerAgent struct {
	name string
	reg  *fleet.Registration
	seen *fleet.Agent
}

// former finds an agent by name, registered or not.
func (p *pass) former(name string) formerAgent {
	return formerAgent{name: name, reg: p.known.registered[name], seen: p.agentNamed(name)}
}

// lives says whether an agent lives. One that is in no list of a good look is gone.
func (p *pass) lives(h formerAgent) fleet.Leaf[bool] {
	switch {
	case !p.snap.Agents.Fresh():
		return fleet.Unknown[bool]("agents is " + status(p.snap.Agents.Status))
	case h.name == "":
		return fleet.Unknown[bool]("no agent is known to have had it")
	case h.seen == nil && h.reg == nil, h.seen != nil && h.seen.Process.PID == 0 && h.seen.HasEnded():
		return fleet.Known(false)
	case isAlive(h.seen):
		return fleet.Known(true)
	}
	return fleet.Unknown[bool]("it is not known to have ended")
}

// returns says whether Custos may start an agent again by itself, now or later.
func (p *pass) returns(h formerAgent) bool {
	if h.reg == nil || h.seen == nil || !h.isStartable() || p.isGone(h) || p.whyOver(h) != "" {
		return false
	}
	if h.reg.Desired == fleet.DesiredPaused {
		return true
	}
	r := &request{reg: h.reg, wish: &fleet.Wish{Do: doRecover, Subject: agentSubject(h.name), Target: fleet.Target{Agent: h.seen}}}
	return askRecover(r) == nil && p.endedByPerson(r) == ""
}

// isStartable says whether Custos knows how the agent is started: it did, or it was
// told so.
func (h formerAgent) isStartable() bool {
	return h.reg.Owner == fleet.OwnerCustos || h.reg.Owner == fleet.OwnerAdopted && len(h.reg.Argv) > 0
}

// whyOver says why an agent that ended has nothing to come back to: by what it
// worked on, or as the system says that started it.
func (p *pass) whyOver(h formerAgent) string {
	if h.seen != nil && h.seen.Origin != nil && h.seen.Origin.Over != "" {
		return h.seen.Origin.Over
	}
	return p.workOver(h.reg)
}

// isGone says whether the folder that an agent would come back to is known not to be
// there. Who cannot come back keeps nothing waiting for it.
func (p *pass) isGone(h formerAgent) bool {
	if !p.snap.Repos.Fresh() {
		return false
	}
	if tree := p.treeOf(h); tree != nil {
		return tree.Missing
	}
	return h.reg.Worktree != "" && slices.ContainsFunc(p.snap.Repos.Value.Repos, func(r fleet.Repo) bool { return r.Path == h.reg.Repo })
}

// isWanted says whether an agent is to run, as far as anybody said.
func (h formerAgent) isWanted() fleet.Leaf[bool] {
	if h.reg == nil {
		return fleet.Unknown[bool]("it is not registered")
	}
	return fleet.Known(h.reg.Desired == fleet.DesiredRunning || h.reg.Desired == fleet.DesiredDraining)
}

// ended is how long ago an agent ended, as far as that is known.
func (p *pass) ended(h formerAgent) fleet.Leaf[fleet.Duration] {
	if exit := exitOf(h.reg, h.seen); exit != nil && exit.At.Boot != "" {
		return fleet.Known(fleet.Duration(max(0, p.snap.At.Since(exit.At))))
	}
	if h.seen != nil && h.seen.HasEnded() {
		return h.seen.Dwell
	}
	return fleet.Unknown[fleet.Duration]("its end was not seen")
}

// orphanedAgent is what is known of a registered agent that ended.
func (p *pass) orphanedAgent(a *fleet.Agent) orphan {
	h := p.former(a.Name)
	h.seen = a
	o := orphan{what: orphanAgent, who: a.Name, owner: a.Owner, alive: p.lives(h), assigned: h.isWanted(), returns: p.returns(h), age: p.ended(h), over: p.whyOver(h)}
	p.workOf(&o, h)
	return o
}

// orphanedIssue is what is known of an issue that is said to be worked on.
func (p *pass) orphanedIssue(x *fleet.Issue) orphan {
	h := p.former(x.Agent)
	o := orphan{what: orphanWork, who: x.Agent, owner: x.Owner, alive: p.lives(h), assigned: x.Taken, returns: p.returns(h), age: p.ended(h)}
	p.workOf(&o, h)
	return o
}

// workOf fills in where an agent worked, and what is known of that.
func (p *pass) workOf(o *orphan, h formerAgent) {
	path := h.place()
	tree := p.treeOf(h)
	switch {
	case !p.snap.Repos.Fresh():
		o.tree = fleet.Unknown[bool]("repos is " + status(p.snap.Repos.Status))
	case h.reg != nil && h.reg.Worktree != "" && h.seen != nil && h.seen.FolderLost != "" && !p.isGone(h):
		o.tree = fleet.Unknown[bool](h.seen.FolderLost)
	case tree != nil:
		o.tree = fleet.Known(true)
		p.holds(o, tree, h)
	case h.reg != nil && p.isGone(h):
		o.tree, o.clean, o.missing = fleet.Known(true), fleet.Known(true), true
	case h.reg != nil && h.reg.Worktree != "":
		o.tree = fleet.Unknown[bool]("its worktree " + h.reg.Worktree + " is not seen")
	case path == "":
		o.tree = fleet.Unknown[bool]("nothing tells where it worked")
	case !p.snap.Repos.Tells():
		o.tree = fleet.Unknown[bool]("not all of repos was looked at: " + p.snap.Repos.Cut)
	default:
		o.tree = fleet.Known(false)
	}
}

// place is the folder an agent worked in; "" when nothing tells.
func (h formerAgent) place() string {
	switch {
	case h.reg != nil && h.reg.Worktree != "":
		return h.reg.Worktree
	case h.reg != nil && h.reg.Dir != "":
		return h.reg.Dir
	case h.seen != nil && h.seen.Worktree != "":
		return h.seen.Worktree
	case h.seen != nil:
		return h.seen.CWD.Or("")
	}
	return ""
}

// treeOf finds the worktree that an agent worked in. git tells where that is past all
// links; a record may name it by one.
func (p *pass) treeOf(h formerAgent) *fleet.Worktree {
	if tree := p.treeAt(h.place()); tree != nil || h.reg == nil {
		return tree
	}
	return p.treeAt(h.reg.Real)
}

// treeAt finds the worktree that a folder is, or is in.
func (p *pass) treeAt(path string) *fleet.Worktree {
	return fleet.Find(p.snap.Repos.Value.Worktrees, func(w *fleet.Worktree) bool { return isIn(path, w.Path) })
}

func isIn(path, folder string) bool {
	return path != "" && (path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/"))
}

// holds fills in what a worktree holds.
func (p *pass) holds(o *orphan, w *fleet.Worktree, h formerAgent) {
	o.clean, o.unpushed, o.merged, o.missing = isCommitted(w), w.Unpushed, w.Merged, w.Missing
	if w.Missing {
		o.clean = fleet.Known(true) // there is nothing
	}
	if h.reg == nil || h.reg.Checkpoint == nil || h.reg.Checkpoint.Ref == "" {
		return
	}
	if exit := exitOf(h.reg, h.seen); exit != nil && !h.reg.Checkpoint.At.Before(exit.At) {
		o.saved = h.reg.Checkpoint.Ref
	}
}

// isCommitted says whether a worktree holds nothing but what is in a commit.
func isCommitted(w *fleet.Worktree) fleet.Leaf[bool] {
	for _, n := range []fleet.Leaf[int]{w.Dirty, w.Untracked} {
		if n.Or(0) > 0 {
			return fleet.Known(false)
		}
	}
	for _, n := range []fleet.Leaf[int]{w.Dirty, w.Untracked} {
		if !n.IsKnown() {
			return fleet.Unknown[bool](n.Why())
		}
	}
	return fleet.Known(true)
}

// orphanedTree is what is known of a worktree that is not used. run is the run
// that gives it up; nil: none does.
func (p *pass) orphanedTree(w *fleet.Worktree, run *fleet.Run) orphan {
	o := orphan{what: orphanTree, owner: w.Owner, tree: fleet.Known(true), clean: isEmpty(w), unpushed: w.Unpushed, merged: w.Merged, missing: w.Missing, crashed: w.Crashed,
		age: w.Age, alive: fleet.Known(false), assigned: fleet.Known(false)}
	if run != nil && run.IsOver() || w.Missing { // there is nothing to be in the middle of
		o.age = fleet.Known(youngTree)
	}
	if !p.snap.Agents.Fresh() {
		o.alive = fleet.Unknown[bool]("agents is " + status(p.snap.Agents.Status))
		return o
	}
	for i := range p.past.Registrations {
		if reg := &p.past.Registrations[i]; isIn(reg.Worktree, w.Path) || isIn(reg.Dir, w.Path) || isIn(reg.Real, w.Path) {
			p.shares(&o, p.former(reg.Name))
		}
	}
	for i := range p.snap.Agents.Value {
		if a := &p.snap.Agents.Value[i]; isAlive(a) && isIn(a.CWD.Or(""), w.Path) {
			p.shares(&o, p.former(a.Name))
		}
	}
	return o
}

// shares adds one of those who had a worktree: one that lives counts before one that is
// not known to have ended, and who comes back before who does not.
func (p *pass) shares(o *orphan, h formerAgent) {
	lives := p.lives(h)
	was, known := o.alive.Get()
	switch is, seen := lives.Get(); {
	case known && was:
		return
	case seen && is, !seen && known:
		o.who, o.alive = h.name, lives
	}
	if p.returns(h) && !o.assigned.Or(false) {
		o.assigned = fleet.Known(true)
		if o.alive.IsKnown() && !o.alive.Or(true) {
			o.who = h.name
		}
	}
}

// isEmpty says whether a worktree holds nothing that could be lost with it, as its
// probe told; where that cannot be told, that is not known either.
func isEmpty(w *fleet.Worktree) fleet.Leaf[bool] {
	if w.Removable.IsKnown() && !w.Removable.Or(false) {
		return fleet.Known(false)
	}
	return w.Removable
}

// orphanedProcess is what is known of a process that an agent left.
func (p *pass) orphanedProcess(a *fleet.Agent) orphan {
	o := orphan{what: orphanProcess, owner: a.Owner, alive: fleet.Known(!a.Orphan), age: a.Age,
		marked: fleet.Known(a.Owner == fleet.OwnerCustos), moving: fleet.Known(a.Progress == fleet.ProgressSome)}
	if a.Progress != fleet.ProgressSome && a.Progress != fleet.ProgressNone {
		o.moving = fleet.Unknown[bool]("not every sign of life of it can be seen")
	}
	if uid, known := p.userOf(a.Process).Get(); known && uid != p.snap.From.UID {
		o.owner = fleet.OwnerForeign // though its marker can be read: it is another user's
	}
	return o
}

// userOf is the user that a process belongs to.
func (p *pass) userOf(id fleet.ProcessID) fleet.Leaf[int] {
	for i := range p.snap.Processes.Value {
		if x := &p.snap.Processes.Value[i]; x.ID == id {
			return fleet.Known(x.UID)
		}
	}
	return fleet.Unknown[int]("it is in no list of processes")
}
