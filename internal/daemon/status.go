package daemon

import (
	"context"
	"fmt"
	"os"
	"time"

	"custos/internal/api"
	"custos/internal/fleet"
)

// status says how Custos itself is. It reads the ledger and the board, and
// waits for no look.
func (s *system) status(isDaemon bool) func(context.Context) api.Status {
	return func(ctx context.Context) api.Status {
		past, err := s.ledger.Past(ctx, s.world.Now())
		trouble := s.loop.Trouble()
		out := api.Status{Daemon: isDaemon, Version: s.o.Version, Mode: s.cfg.Mode, Frozen: Frozen(s.cfg), Paused: pausedLines(past), Amnesia: past.Amnesia, Patrols: past.Patrol,
			Firing: firing(past.Alerts), Pending: pending(past.Alerts), Agents: len(s.board.Snapshot().Agents.Value), State: fleet.Path(s.cfg.StateDir), Notes: s.opsNotes(append(notes(past, err, trouble), s.selfNotes()...))}
		if why := s.full(); why != "" {
			out.Notes = append(out.Notes, why)
		}
		out.Untold = untold(past, err)
		for _, a := range past.Actions {
			if a.Open() {
				out.InFlight++
			}
		}
		if !past.PatrolAt.IsZero() {
			out.LastPatrol = &past.PatrolAt.Wall
		}
		if isDaemon {
			s.daemonStatus(&out)
		}
		return out
	}
}

func (s *system) daemonStatus(out *api.Status) {
	out.PID, out.Socket, out.Started = os.Getpid(), fleet.Path(Socket(s.cfg)), &s.world.StartedAt.Wall
	if own, err := os.Executable(); err == nil {
		out.Program = fleet.Path(own)
	}
	if s.cfg.Found {
		out.Config = fleet.Path(s.cfg.File)
	}
	if out.LastPatrol != nil {
		next := out.LastPatrol.Add(s.loop.Interval()).Truncate(time.Second)
		out.NextPatrol = &next
	}
}

// untold says why nothing can be told of what was done before; "" when it can. A past
// that is lost is made anew from the next patrol on.
func untold(past fleet.Past, err error) string {
	switch {
	case err != nil:
		return "the ledger cannot be read"
	case past.Blind != "":
		return "what was done before cannot be read"
	case past.Amnesia && past.PatrolAt.IsZero():
		return "what was done before is lost"
	}
	return ""
}

func firing(alerts []fleet.Alert) map[string]int {
	out := map[string]int{}
	for _, a := range alerts {
		if a.Status == fleet.AlertFiring {
			out[string(a.Priority)]++
		}
	}
	return out
}

func pending(alerts []fleet.Alert) (n int) {
	for _, a := range alerts {
		if a.Status == fleet.AlertPending {
			n++
		}
	}
	return n
}

func notes(past fleet.Past, err error, trouble string) []string {
	out := []string{}
	if err != nil {
		out = append(out, fmt.Sprintf("the ledger cannot be read: %v", err))
	}
	if past.Blind != "" {
		out = append(out, "what was done before cannot be read, so nothing is done now: "+past.Blind)
	}
	if trouble != "" {
		out = append(out, "passes cannot be finished now, so what is shown may be old: "+trouble)
	}
	if past.Amnesia {
		out = append(out, "amnesia: what was done before is lost ("+past.Lost+"); Custos observes until a person acknowledges the alert of rule "+amnesiaRule)
	}
	return out
}
