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
		r := record(a, s.At, s.Patrol > 0)
		if old := known[a.Name]; old == nil || s.Patrol > 0 || !same(*old, r) {
			out = append(out, r)
		}
	}
	return out
}

// same says whether a record tells nothing new.
func same(old, is fleet.AgentRecord) bool {
	age := is.LastSeen.Since(old.LastSeen)
	return old.Process == is.Process && old.State == is.State && old.Owner == is.Owner && old.Instance == is.Instance &&
		old.Cycles == is.Cycles && age >= 0 && age < time.Minute
}

func record(a fleet.Agent, at fleet.Instant, patrol bool) fleet.AgentRecord {
	r := fleet.AgentRecord{Name: a.Name, Kind: a.Kind, Owner: a.Owner, Process: a.Process, CWD: a.CWD.Or(""),
		State: a.State, LastSeen: at, OneShot: a.OneShot, Instance: a.Instance,
		CPUTime: a.CPUTime.Or(0), Moved: at.Add(-time.Duration(a.Still)), Cycles: cycles(a, patrol)}
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

// cycles counts the patrols in a row that found an agent unresponsive. Only
// patrols count; whatever shows that it is not, begins anew, and what tells
// nothing changes nothing.
func cycles(a fleet.Agent, patrol bool) int {
	works := a.State == fleet.StateWorking || a.State == fleet.StateStarting
	switch {
	case a.Progress == fleet.ProgressSome:
		return 0
	case patrol && (a.State == fleet.StateStuck || works && a.Progress == fleet.ProgressNone):
		return a.Cycles + 1
	case a.State == fleet.StateStuck, a.State == fleet.StateUnknown, a.State == fleet.StateStopped, works:
		return a.Cycles
	}
	return 0
}
