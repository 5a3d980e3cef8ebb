package decide

import (
	"fmt"
	"time"

	"custos/internal/fleet"
)

// orphan is what is known of something that no agent may have any more: the work
// of an agent that ended, an issue, a worktree, a process.
type orphan struct {
	what  orphanKind
	who   string      // the agent that had it, for people; "" when none is known
	owner fleet.Owner // of the thing itself
	// alive says whether the agent that had it lives.
	alive fleet.Leaf[bool]
	// assigned says whether there is work: the agent is to run, the issue is said to
	// be worked on, an agent that is to come back works in the worktree.
	assigned fleet.Leaf[bool]
	returns  bool   // Custos may start its agent again by itself
	over     string // why its work is over; "" while that is not known
	marked   fleet.Leaf[bool]
	moving   fleet.Leaf[bool] // of a process: something of it moves

	// Where the work is. Without a tree the rest of it says nothing.
	tree     fleet.Leaf[bool] // it was done in a worktree of its own
	clean    fleet.Leaf[bool] // which holds nothing that is in no commit
	unpushed fleet.Leaf[int]  // commits on no remote and not in the primary branch
	merged   fleet.Leaf[bool] // its content is in the primary branch
	saved    string           // backup of what is in no commit, made since the agent ended
	missing  bool             // its folder is gone, and git still lists it
	crashed  bool             // it was kept after a crash

	age fleet.Leaf[fleet.Duration] // of a process; else since the agent ended, or anything in the worktree moved
}

type orphanKind string

// What may be orphaned.
const (
	orphanAgent   orphanKind = "agent"    // registered, to run, and ended
	orphanWork    orphanKind = "work"     // an issue that is said to be worked on
	orphanTree    orphanKind = "worktree" // of an agent, and unused
	orphanProcess orphanKind = "process"  // of an agent, without terminal, parent and owner
)

type orphanDo string

// What is done with an orphan. Release, reassign, remove and stop take something
// from an agent: no unknown leads to one of them.
const (
	orphanLeave    orphanDo = "leave"
	orphanWait     orphanDo = "wait"       // it may be decided later
	orphanRelease  orphanDo = "release"    // it may be taken up by anybody, from the beginning
	orphanReassign orphanDo = "reassign"   // by anybody, who goes on from what was committed
	orphanRecover  orphanDo = "recover"    // its own agent goes on
	orphanSave     orphanDo = "checkpoint" // what is in no commit is backed up; then it is asked again
	orphanRemove   orphanDo = "remove"     // the worktree
	orphanStop     orphanDo = "stop"       // the process
	orphanPerson   orphanDo = "ask"        // a person
)

// How long each is left alone, whatever a rule says.
const (
	youngProcess = fleet.Duration(time.Minute)      // it may be on its way to its new parent
	youngTree    = fleet.Duration(10 * time.Minute) // an agent may stand in it between two commands
	youngWork    = fleet.Duration(time.Minute)      // its agent may be on its way back
)

// decide says what is done with an orphan, and why, in words that change only
// when the reason does. testdata/orphans.txtar is the table.
func (o orphan) decide() (orphanDo, string) {
	if !o.owner.MayTouch() {
		return orphanLeave, "it is not ours"
	}
	switch lives, known := o.alive.Get(); {
	case !known:
		return orphanWait, "it cannot be told whether " + o.whose() + " lives: " + o.alive.Why()
	case lives:
		return orphanLeave, o.whose() + " lives"
	}
	switch o.what {
	case orphanAgent:
		return o.agent()
	case orphanWork:
		return o.work()
	case orphanTree:
		return o.worktree()
	case orphanProcess:
		return o.process()
	}
	return orphanWait, "nothing is known of it"
}

func (o orphan) whose() string {
	if o.who == "" {
		return "the agent that had it"
	}
	return "its agent " + word(o.who)
}

// agent: one that ended in the middle of its work goes on with it; what no agent
// will go on with is backed up, and then a person's.
func (o orphan) agent() (orphanDo, string) {
	if do, why := o.unassigned("it is not to run"); do != "" {
		return do, why
	}
	switch {
	case o.missing && o.over == "":
		return orphanPerson, "the folder it worked in is gone: there is nothing to come back to"
	case o.returns:
		return orphanRecover, "it is started again where it was, after a backup of what it left"
	case o.over != "":
		return o.finished()
	}
	if do, why := o.unseen(); do != "" {
		return do, why
	}
	switch {
	case !o.tree.Or(false):
		return orphanPerson, "nothing starts it again, and it had no worktree of its own"
	case !o.clean.Or(false):
		return o.uncommitted()
	case o.behind():
		return orphanPerson, fmt.Sprintf("nothing starts it again, and %s on no remote", commits(o.unpushed.Or(0)))
	}
	return orphanLeave, "nothing of its work is lost"
}

// finished: one whose work is over is not started again; what it left is kept.
func (o orphan) finished() (orphanDo, string) {
	if !o.tree.Or(false) || o.missing || o.saved != "" || o.clean.Or(false) {
		return orphanLeave, o.over
	}
	if do, why := o.unseen(); do != "" {
		return do, o.over + "; " + why
	}
	return orphanSave, o.over + ": it is not started again, and what it left in no commit is backed up"
}

// work: its own agent goes on with it, when it can; else others begin where it
// stopped, as far as that is in commits.
func (o orphan) work() (orphanDo, string) {
	if do, why := o.unassigned("no agent is said to work on it"); do != "" {
		return do, why
	}
	if o.returns {
		return orphanRecover, o.whose() + " is to be started again, and goes on with it"
	}
	if do, why := o.young(youngWork, o.whose()+" ended"); do != "" {
		return do, why
	}
	if do, why := o.unseen(); do != "" {
		return do, why
	}
	switch {
	case !o.tree.Or(false):
		return orphanRelease, "it had no worktree of its own: nothing is lost"
	case !o.clean.Or(false):
		return o.uncommitted()
	case o.missing && !o.behind():
		return orphanRelease, "the folder it was done in is gone, and no agent can come back to it"
	case o.behind():
		return orphanReassign, commits(o.unpushed.Or(0)) + " on no remote: the next agent goes on from there"
	}
	return orphanRelease, "all that was done is committed, and pushed or merged"
}

// worktree: it goes when nothing in it could be lost and no agent comes back to it.
func (o orphan) worktree() (orphanDo, string) {
	if do, why := o.young(youngTree, "it was used"); do != "" {
		return do, why
	}
	switch comes, known := o.assigned.Get(); {
	case !known:
		return orphanWait, "it cannot be told whether anybody comes back to it: " + o.assigned.Why()
	case comes:
		return orphanLeave, o.whose() + " is to come back to it"
	}
	if do, why := o.unseen(); do != "" {
		return do, why
	}
	switch {
	case !o.clean.Or(false):
		return orphanLeave, "something in it could be lost"
	case o.missing:
		return orphanRemove, "its folder is gone, and only git's entry of it is left"
	case o.crashed:
		return orphanRemove, "it was kept after a crash, and no agent came for it in its day: its work is backed up, and its branch stays"
	case o.behind():
		return orphanLeave, commits(o.unpushed.Or(0)) + " on no remote"
	case !o.merged.Or(false):
		return orphanLeave, "its work is not in the primary branch"
	}
	return orphanRemove, "nothing in it could be lost"
}

// process: what an agent of ours left running, and no agent has.
func (o orphan) process() (orphanDo, string) {
	if do, why := o.young(youngProcess, "it began"); do != "" {
		return do, why
	}
	for _, ask := range []struct {
		of      fleet.Leaf[bool]
		want    bool
		unknown string
		no      string
	}{
		{o.marked, true, "whether an agent of ours began it", "it carries no marker of an agent of ours"},
		{o.moving, false, "whether it works", "it works"},
	} {
		switch is, known := ask.of.Get(); {
		case !known:
			return orphanWait, "it cannot be told " + ask.unknown + ": " + ask.of.Why()
		case is != ask.want:
			return orphanLeave, ask.no
		}
	}
	return orphanStop, "no agent has it, and nothing of it moves"
}

// uncommitted: what is in no commit is backed up before anything else.
func (o orphan) uncommitted() (orphanDo, string) {
	if o.saved == "" {
		return orphanSave, "its worktree holds what is in no commit, and nothing starts its agent again"
	}
	return orphanPerson, "what was in no commit is in " + o.saved + ": a person says who goes on with it"
}

func (o orphan) unassigned(no string) (orphanDo, string) {
	switch is, known := o.assigned.Get(); {
	case !known:
		return orphanWait, "it cannot be told whether there is work: " + o.assigned.Why()
	case !is:
		return orphanLeave, no
	}
	return "", ""
}

// young leaves alone what moved just now, or at a moment that is not known.
func (o orphan) young(least fleet.Duration, did string) (orphanDo, string) {
	switch age, known := o.age.Get(); {
	case !known:
		return orphanWait, "it cannot be told when " + did + ": " + o.age.Why()
	case age < least:
		return orphanWait, did + " less than " + least.String() + " ago"
	}
	return "", ""
}

// unseen: nothing is decided about a worktree of which something that matters is
// not known. What is not committed is asked first: it matters most.
func (o orphan) unseen() (orphanDo, string) {
	tree, known := o.tree.Get()
	switch {
	case !known:
		return orphanWait, "it cannot be told where its work is: " + o.tree.Why()
	case !tree:
		return "", ""
	case !o.clean.IsKnown():
		return orphanWait, "it cannot be told what its worktree holds: " + o.clean.Why()
	case o.missing:
		return "", ""
	case !o.unpushed.IsKnown():
		return orphanWait, "it cannot be told whether its commits are anywhere else: " + o.unpushed.Why()
	case !o.merged.IsKnown():
		return orphanWait, "it cannot be told whether its work is merged: " + o.merged.Why()
	}
	return "", ""
}

// behind says whether there are commits that only the worktree's branch has.
func (o orphan) behind() bool { return o.unpushed.Or(0) > 0 && !o.merged.Or(false) }

func commits(n int) string {
	if n == 1 {
		return "1 commit is"
	}
	return fmt.Sprintf("%d commits are", n)
}
