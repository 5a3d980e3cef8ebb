package loop

import (
	"time"

	"custos/internal/fleet"
)

// remember returns what the ledger is to keep of the agents seen, so that one
// that is gone can be missed, and that a later Custos, even a one-shot patrol,
// can tell what moved since. When agents could not be seen, nothing changes. What
// only got older is kept once a minute: a pass that a death woke must not write
// down two hundred others first.
func remember(s fleet.Snapshot, past []fleet.AgentRecord) []fleet.AgentRecord {
	if s.Agents.Status != fleet.StatusOK {
		return nil
	}
	known := make(map[string]*fleet.AgentRecord, len(past))
	for i := range past {
		known[past[i].Name] = &past[i]
	}
	var out []fleet.AgentRecord
	for _, a := range s.Agents.Value {
		if a.Process.PID == 0 {
			continue // gone: the record of when it lived is the one to keep
		}
		r, old := record(a, s.At), known[a.Name]
		if r.Pane == nil && old != nil && old.Process == a.Process {
			r.Pane = old.Pane // it cannot be seen, or is lost: where it was tells which
		}
		count(&r, a, s, old)
		if old == nil || s.Patrol > 0 || !same(*old, r) {
			out = append(out, r)
		}
	}
	return out
}

// How old the moment at which an agent was last seen may become in its record: where it has moved
// since then, and where nothing has, which is what a fleet at its prompts is like.
const (
	movedEvery = time.Minute
	stillEvery = 5 * time.Minute
)

// same says whether a record tells nothing new.
func same(old, is fleet.AgentRecord) bool {
	age, most := is.LastSeen.Since(old.LastSeen), movedEvery
	if !old.LastSeen.Before(is.Moved) {
		most = stillEvery
	}
	return old.Process == is.Process && old.State == is.State && old.Owner == is.Owner && old.Instance == is.Instance &&
		old.Cycles == is.Cycles && age >= 0 && age < most
}

func record(a fleet.Agent, at fleet.Instant) fleet.AgentRecord {
	r := fleet.AgentRecord{Name: a.Name, Kind: a.Kind, Owner: a.Owner, Process: a.Process, CWD: a.CWD.Or(""),
		State: a.State, LastSeen: at, OneShot: a.OneShot, Instance: a.Instance,
		CPUTime: a.CPUTime.Or(0), Moved: at.Add(-time.Duration(a.Still))}
	if a.Pane != nil {
		r.Pane = &a.Pane.ID
	}
	if d, ok := a.Dwell.Get(); ok {
		r.Since = at.Add(-time.Duration(d))
	}
	if d, ok := a.LastHealthy.Get(); ok {
		r.LastHealthy = at.Add(-time.Duration(d))
	}
	return r
}

// cycle is how far apart two looks at an agent have to be, for each to count as
// a cycle: patrols that a person asks for one after the other see it but once.
const cycle = time.Minute

// count counts the patrols in a row that found an agent unresponsive. Only
// patrols count, and of those that rest on one look, or on looks within a minute,
// the first; whatever shows that it is not unresponsive begins anew, and what
// tells nothing changes nothing.
func count(r *fleet.AgentRecord, a fleet.Agent, s fleet.Snapshot, old *fleet.AgentRecord) {
	r.Cycles = a.Cycles
	if old != nil && old.Process == a.Process {
		r.Cycles, r.CycledAt = old.Cycles, old.CycledAt // newer than the look
	}
	works := a.State == fleet.StateWorking || a.State == fleet.StateStarting
	switch {
	case a.Progress == fleet.ProgressSome:
		r.Cycles = 0
	case a.State == fleet.StateStuck || works && a.Progress == fleet.ProgressNone:
		if s.Patrol > 0 && (r.CycledAt.IsZero() || s.Agents.At.Since(r.CycledAt) >= cycle) {
			r.Cycles, r.CycledAt = r.Cycles+1, s.Agents.At
		}
	case !works && a.State != fleet.StateUnknown && a.State != fleet.StateStopped:
		r.Cycles = 0
	}
}
