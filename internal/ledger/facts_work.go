package ledger

import (
	"slices"

	"custos/internal/fleet"
)

// work is every piece of work of the ledger that is not closed, or lately, and
// every other one that something here depends on.
func (f facts) work() (out []fleet.WorkFacts) {
	waits := f.waits()
	for i := range f.past.Records.Work {
		if w := &f.past.Records.Work[i]; !w.Over() {
			out = append(out, f.item(w.Ref(), waits))
		}
	}
	for _, d := range f.past.Records.Dependencies {
		known := slices.ContainsFunc(out, func(w fleet.WorkFacts) bool { return w.Ref == d.Of })
		if d.State == fleet.DependencyWaits && d.Of.Tracker() != fleet.TrackerOwn && !known {
			out = append(out, f.item(d.Of, waits))
		}
	}
	return out
}

// waits is what each piece of work waits for.
func (f facts) waits() map[fleet.Ref][]fleet.Dependency {
	out := map[fleet.Ref][]fleet.Dependency{}
	for _, d := range f.past.Records.Dependencies {
		if d.State == fleet.DependencyWaits {
			out[d.Of] = append(out[d.Of], d)
		}
	}
	return out
}

func (f facts) item(r fleet.Ref, waits map[fleet.Ref][]fleet.Dependency) fleet.WorkFacts {
	seen := f.trackers.seen(r)
	w := fleet.WorkFacts{Ref: r, Tracker: r.Tracker(), Title: seen.Title, Project: seen.Project, Priority: seen.Priority, Agent: seen.Agent,
		State: fleet.Known(seen.State), Alive: fleet.Known(true)}
	if seen.Why != "" {
		w.State = fleet.Unknown[fleet.WorkState](seen.Why)
	}
	if own := f.trackers.own[r]; own != nil {
		w.Age, w.Since = f.age(own.At), f.age(own.Since)
	}
	for _, d := range waits[r] {
		w.Waits = max(w.Waits, f.age(d.Since))
		if need := f.trackers.seen(d.Needs); need.Why != "" {
			w.Unseen = append(w.Unseen, d.Needs)
		} else if need.State == fleet.WorkClosed {
			continue
		}
		w.BlockedBy = append(w.BlockedBy, d.Needs)
	}
	w.Ready, w.Alive = f.ready(w), f.alive(seen.Agent)
	return w
}

// ready says whether somebody may take work up.
func (f facts) ready(w fleet.WorkFacts) fleet.Leaf[bool] {
	state, known := w.State.Get()
	if !known {
		return fleet.Unknown[bool](w.State.Why())
	}
	return fleet.Known(state == fleet.WorkOpen && len(w.BlockedBy) == 0)
}

// alive says whether the agent that has work lives: true when nobody has it.
func (f facts) alive(agent string) fleet.Leaf[bool] {
	if agent == "" {
		return fleet.Known(true)
	}
	if !f.snap.Agents.Fresh() {
		return fleet.Unknown[bool]("agents are not seen now")
	}
	return fleet.Known(slices.ContainsFunc(f.snap.Agents.Value, func(a fleet.Agent) bool { return a.Name == agent && a.Process.PID != 0 }))
}
