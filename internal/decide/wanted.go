package decide

import (
	"time"

	"custos/internal/fleet"
)

// workOver says why an agent that ended has nothing to come back to: whatever it was
// seen to work on since it was registered is closed or merged, and nothing of it is
// open. "" where that is not known. Who serves a role, a pool or a run is wanted for
// what comes next.
func (p *pass) workOver(reg *fleet.Registration) string {
	if !endsWithItsWork(reg) {
		return ""
	}
	if p.over == nil {
		p.over = p.everyonesWork()
	}
	w := p.over[reg.Name]
	if reg.Origin != "" && w.closed == "" && !w.open {
		w = p.over[reg.Origin] // trackers call it as its own system does
	}
	if w.open || w.closed == "" || !reg.CreatedAt.IsZero() && w.age > p.snap.At.Since(reg.CreatedAt) {
		return ""
	}
	return w.closed + ": its work is over"
}

// endsWithItsWork says whether an agent is wanted for its own work only.
func endsWithItsWork(reg *fleet.Registration) bool {
	return reg != nil && !reg.Standing && reg.Pool == "" && reg.Run == "" && reg.Restart != fleet.RestartAlways
}

// askWorkSeen: each tracker was looked at once since Custos began, so that it can be
// told whether an agent's work is over. Who was ordered to is not asked.
func (p *pass) askWorkSeen(r *request) *refusal {
	if r.order != nil || !endsWithItsWork(r.reg) {
		return nil
	}
	for _, name := range []fleet.PartName{fleet.PartForge, fleet.PartBeads} {
		if s := p.snap.Sight(name); s.Status == fleet.StatusPending && s.At.IsZero() {
			return &refusal{why: "it cannot be told whether its work is over: " + string(name) + " is pending: " + s.Why, hint: hintLook}
		}
	}
	return nil
}

// worked is what is known of all that one agent worked on.
type worked struct {
	open   bool          // something of it is open, or not known to be closed
	closed string        // what was closed last, in words
	age    time.Duration // since then
}

// everyonesWork goes once through every tracker that is seen.
func (p *pass) everyonesWork() map[string]worked {
	all := map[string]worked{}
	note := func(agent, closed string, age fleet.Leaf[fleet.Duration]) {
		if agent == "" {
			return
		}
		w := all[agent]
		since, known := age.Get()
		switch {
		case closed == "":
			w.open = true
		case known && (w.closed == "" || time.Duration(since) < w.age):
			w.closed, w.age = closed, time.Duration(since)
		}
		all[agent] = w
	}
	since := func(at fleet.Instant) fleet.Leaf[fleet.Duration] {
		return fleet.Known(fleet.Duration(max(0, p.snap.At.Since(at))))
	}
	for i := range p.past.Records.Work {
		w := &p.past.Records.Work[i]
		note(w.Agent, when(w.Over(), "work "+w.ID+" is closed"), since(w.Since))
	}
	p.beadWork(note, since)
	p.forgeWork(note)
	return all
}

// beadWork: a bead without an assignee is worked on by the agent that has it as its task.
func (p *pass) beadWork(note func(agent, closed string, age fleet.Leaf[fleet.Duration]), since func(fleet.Instant) fleet.Leaf[fleet.Duration]) {
	tasked := map[fleet.Ref][]string{}
	for _, r := range p.past.Registrations {
		tasked[fleet.Ref(r.Task)] = append(tasked[fleet.Ref(r.Task)], r.Name)
	}
	for i := range p.snap.Beads.Value {
		b := &p.snap.Beads.Value[i]
		age := fleet.Unknown[fleet.Duration]("nothing tells when it was closed")
		if at, known := b.Closed.Get(); known {
			age = since(at)
		}
		who := []string{b.Assignee}
		if b.Assignee == "" {
			who = tasked[fleet.BeadRef(b.ID)]
		}
		for _, name := range who {
			note(name, when(b.State == fleet.WorkClosed, "bead "+b.ID+" is closed"), age)
		}
	}
}

func (p *pass) forgeWork(note func(agent, closed string, age fleet.Leaf[fleet.Duration])) {
	forge := &p.snap.Forge.Value
	for i := range forge.Issues {
		x := &forge.Issues[i]
		note(x.Agent, when(!x.Open.Or(true), "issue "+x.Name+" is closed"), x.Closed)
	}
	for i := range forge.Pulls {
		note(forge.Pulls[i].Agent, "", fleet.Leaf[fleet.Duration]{})
	}
	for i := range forge.Ended {
		if x := &forge.Ended[i]; x.Merged { // one that was closed without may be begun anew
			note(x.Agent, "pull request "+x.Name+" is merged", x.Ended)
		}
	}
}

func when(is bool, words string) string {
	if is {
		return words
	}
	return ""
}

// finishUp adds to the wishes of a finding what takes the place of a recovery that
// is not wanted any more: what the agent left in no commit is backed up.
func (p *pass) finishUp(wishes []fleet.Wish) []fleet.Wish {
	for i := range wishes {
		w := wishes[i]
		if w.Do != doRecover || w.Target.Agent == nil || p.workOver(p.known.registered[w.Subject.Name]) == "" {
			continue
		}
		if do, _ := p.orphanedAgent(w.Target.Agent).decide(); do == orphanSave {
			w.Do, w.Text = doCheckpoint, ""
			return append(wishes[:len(wishes):len(wishes)], w)
		}
	}
	return wishes
}
