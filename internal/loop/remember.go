package loop

import (
	"time"

	"custos/internal/fleet"
)

// remember returns what the ledger is to keep of the agents seen, so that one
// that is gone can be missed. When agents could not be seen, nothing changes.
func remember(s fleet.Snapshot) []fleet.AgentRecord {
	if s.Agents.Status != fleet.StatusOK {
		return nil
	}
	var out []fleet.AgentRecord
	for _, a := range s.Agents.Value {
		if a.Process.PID == 0 {
			continue // gone: the record of when it lived is the one to keep
		}
		r := fleet.AgentRecord{Name: a.Name, Kind: a.Kind, Owner: a.Owner, Process: a.Process, CWD: a.CWD.Or(""),
			State: a.State, LastSeen: s.At, OneShot: a.OneShot}
		if a.Pane != nil {
			r.Pane = &a.Pane.ID
		}
		if d, ok := a.Dwell.Get(); ok {
			r.Since = s.At.Add(-time.Duration(d))
		}
		out = append(out, r)
	}
	return out
}
