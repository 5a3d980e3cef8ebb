package work

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Follow returns what becomes of work, and of what it waits for.
func Follow(p fleet.Pass) fleet.Follows {
	c := &pass{past: p.Past, snap: p.Snapshot, policy: p.Policy, at: p.Snapshot.At, trackers: ledger.NewTrackers(p.Past, p.Snapshot), changed: p.Plan.Records.Work}
	c.work()
	c.sling(p.Plan)
	c.teams()
	c.dispatch()
	c.relieve()
	c.dependencies()
	return c.out
}

// pass is one pass over the work on record.
type pass struct {
	past     fleet.Past
	snap     fleet.Snapshot
	policy   fleet.Policy
	at       fleet.Instant
	trackers ledger.Trackers
	changed  []fleet.WorkItem // by what came before, in this pass
	out      fleet.Follows
}

// work gives back what nobody will go on with, and writes down what was left.
func (c *pass) work() {
	for _, w := range c.past.Records.Work {
		if w.State == fleet.WorkTaken && !w.Person && len(w.Begin) == 0 && !c.isChanged(w.ID) { // what is being handed out: see sling
			c.giveBack(w)
		}
	}
	for i := range c.past.Registrations {
		c.leftBehind(&c.past.Registrations[i])
	}
}

// giveBack releases work whose agent is gone for good: it is retired; or, where
// Custos may act by itself, its process is seen to be gone and nothing starts it
// again. Of what is not seen nothing is given back.
func (c *pass) giveBack(w fleet.WorkItem) {
	r := c.registered(w.Agent)
	if r == nil {
		return
	}
	why := ""
	switch {
	case r.Desired == fleet.DesiredRetired:
		why = "its agent " + r.Name + " is retired"
	case r.Failed != "" && !c.lives(r.Name):
		why = "its agent " + r.Name + " is not started again: " + r.Failed
		if !r.Dispatched && c.isKept(w, why) {
			return
		}
	case r.Dispatched:
		if why = c.leftUndone(w, r); why == "" {
			return
		}
	default:
		return
	}
	if left := leftBy(r); left != "" {
		why += "; it left " + left
	}
	c.giveBackFor(w, why)
}

// leftUndone says how an agent has ended that Custos started for one piece of work alone, and that has neither done nor
// handed it in; "" while it lives, where it is not seen, where a person stopped it, and where it is started again.
func (c *pass) leftUndone(w fleet.WorkItem, r *fleet.Registration) string {
	switch {
	case r.Exit == nil || r.Exit.Instance != r.Instance || !c.isGone(r.Name) || ledger.HandedIn(c.past.Records, w.Ref()):
		return ""
	case r.Desired == fleet.DesiredStopped && r.DesiredBy == fleet.ByCustos:
		return "its agent " + r.Name + " was stopped: nothing came of it"
	case isOver(r):
		return "its agent " + r.Name + " has ended, and it is not done"
	}
	return ""
}

// isKept says whether the work of an agent that is not started again is not given back
// even so, and has it told why.
func (c *pass) isKept(w fleet.WorkItem, why string) bool {
	held := fleet.HeldMove{Move: fleet.Move{Record: fleet.Subject{Kind: fleet.KindWork, Name: w.ID}, From: string(w.State), To: string(fleet.WorkOpen), Why: why}}
	switch {
	case c.policy.Frozen != "":
		held.Guard, held.Held, held.Hint = fleet.GuardFrozen, c.policy.Frozen, "custos thaw"
	case c.policy.Mode != fleet.ModeAuto:
		held.Guard, held.Held = fleet.GuardMode, "the mode is "+string(c.policy.Mode)+": work is given back by itself only in mode auto"
		held.Hint = "custos work release " + w.ID
	case !c.isGone(w.Agent):
		held.Guard, held.Held = fleet.GuardEvidence, "it is not seen whether agent "+w.Agent+" is gone"
	default:
		return false
	}
	c.out.Hold(held)
	return true
}

// lives says whether an agent is seen to run: a person began it again.
func (c *pass) lives(name string) bool {
	return c.snap.Agents.Fresh() && slices.ContainsFunc(c.snap.Agents.Value, func(a fleet.Agent) bool { return a.Name == name && a.Process.PID != 0 })
}

// isGone says whether an agent is seen to have ended.
func (c *pass) isGone(name string) bool {
	if !c.snap.Agents.Fresh() {
		return false
	}
	return !slices.ContainsFunc(c.snap.Agents.Value, func(a fleet.Agent) bool {
		return a.Name == name && (a.Process.PID != 0 || a.State == fleet.StateUnknown)
	})
}

// leftBy says where what an agent did last is.
func leftBy(r *fleet.Registration) string {
	var left []string
	if r.Branch != "" {
		left = append(left, "branch "+r.Branch)
	}
	if r.Checkpoint != nil && r.Checkpoint.Ref != "" {
		left = append(left, "the backup "+r.Checkpoint.Ref)
	}
	return strings.Join(left, " and ")
}

// leftBehind writes one piece of work down for a backup of what an agent had not
// committed, when the agent ended before it and is not to come back. The agent of a
// run is its run's business.
func (c *pass) leftBehind(r *fleet.Registration) {
	p := r.Checkpoint
	if p == nil || p.Ref == "" || r.Exit == nil || r.Run != "" || p.At.Before(r.Exit.At) || c.at.Since(p.At) > month || !c.isGone(r.Name) || !isOver(r) {
		return
	}
	key := "backup/" + p.Ref
	if slices.ContainsFunc(c.past.Records.Work, func(w fleet.WorkItem) bool { return w.Key == key }) {
		return
	}
	var body strings.Builder
	fmt.Fprintf(&body, "Agent %s ended, nothing starts it again, and %d files that it had not committed are kept in\n%s of %s.\n", r.Name, len(p.Files), p.Ref, r.Repo)
	fmt.Fprintf(&body, "To look at them: git -C %s worktree add DIR %s\n", r.Repo, p.Ref)
	if r.Task != "" {
		fmt.Fprintf(&body, "Its task: %s\n", r.Task)
	}
	w, err := ledger.AddWork(fleet.WorkItem{Head: fleet.Head{Key: key}, Title: "Left behind by " + r.Name + ": " + p.Ref, Body: body.String(), Project: r.Project, Role: r.Role,
		Labels: []string{"left-behind"}}, fleet.ByCustos, c.at)
	if err == nil {
		c.out.Records.Work = append(c.out.Records.Work, w)
	}
}

// isOver says whether nothing starts an agent again by itself. One that a person
// stopped is that person's to start.
func isOver(r *fleet.Registration) bool {
	switch {
	case r.Desired == fleet.DesiredRetired || r.Failed != "":
		return true
	case r.Desired != fleet.DesiredRunning:
		return false
	}
	return r.Restart == fleet.RestartNever || r.Restart == fleet.RestartOnFailure && !r.Exit.Failed()
}
