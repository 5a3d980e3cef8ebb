package decide

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// The actions that take something from an agent that is gone, beside those that
// have a name already.
const (
	doStopTree = "stop-tree"
	doComment  = "comment"
	doAssign   = "assign"
)

// ruleOrphaned is the built-in rule that gives work back.
const ruleOrphaned = "orphaned-work"

// askOrphan refuses what the table of orphans (orphan.decide) does not say is to
// be done with what an agent left. Only rules and runs are asked: a person may know
// better, and the action looks once more itself.
func (p *pass) askOrphan(r *request) *refusal {
	if r.order != nil {
		return nil
	}
	t := r.wish.Target
	switch {
	case r.wish.Do == doRemoveTree && t.Worktree != nil:
		return allow(p.orphanedTree(t.Worktree, r.run), orphanRemove)
	case r.wish.Do == doStopTree && t.Agent != nil && t.Agent.Orphan:
		return allow(p.orphanedProcess(t.Agent), orphanStop)
	case t.Issue != nil && givesBack(r):
		return p.askRelease(r)
	case t.Agent == nil || isAlive(t.Agent):
		return nil
	case r.wish.Do == doRecover:
		return allow(p.orphanedAgent(t.Agent), orphanRecover)
	case r.wish.Do == doCheckpoint:
		return allow(p.orphanedAgent(t.Agent), orphanSave, orphanRecover)
	}
	return nil
}

// givesBack says whether a wish takes an issue from who works on it.
func givesBack(r *request) bool {
	return r.finding.Rule == ruleOrphaned || r.wish.Do == doAssign && strings.HasPrefix(r.wish.Text, "-")
}

func (p *pass) askRelease(r *request) *refusal {
	return allow(p.orphanedIssue(r.wish.Target.Issue), orphanRelease, orphanReassign)
}

// allow refuses everything but what the table says.
func allow(o orphan, dos ...orphanDo) *refusal {
	do, why := o.decide()
	if slices.Contains(dos, do) {
		return nil
	}
	no := &refusal{why: why}
	switch {
	case do == orphanWait:
		no.hint = hintLook
	case o.over != "":
		no.hint = "custos stop " + word(o.who)
	case do == orphanRecover && o.who != "":
		no.hint = "custos recover " + word(o.who)
	}
	return no
}

// handover says, where an issue is given back, what of it is already done: the agent that
// takes it up goes on from there.
func (p *pass) handover(r *request) string {
	x := r.wish.Target.Issue
	if x == nil || r.wish.Do != doComment || r.finding.Rule != ruleOrphaned {
		return r.wish.Text
	}
	do, _ := p.orphanedIssue(x).decide()
	tree := p.treeOf(p.former(x.Agent))
	if tree == nil {
		return r.wish.Text
	}
	branch := fleet.Line(tree.Branch.Or(""), 200)
	switch unpushed, known := tree.Unpushed.Get(); {
	case do == orphanReassign && branch == "":
		branch = "no branch, at " + fleet.Line(tree.Head.Or("?"), 40)
		fallthrough
	case do == orphanReassign:
		return r.wish.Text + " What was committed was not pushed: " + commits(unpushed) + " on " + branch + " only."
	case do == orphanRelease && branch != "" && known && unpushed == 0 && tree.Merged.IsKnown() && !tree.Merged.Or(true):
		return r.wish.Text + " What was committed is pushed, to " + branch + ": no pull request asks for it, and it is not in the primary branch."
	}
	return r.wish.Text
}
