package agentrun

import (
	"fmt"
	"syscall"

	"custos/internal/fleet"
	"custos/internal/sys/shim"
)

// Ending says in words how an agent ended.
func Ending(x shim.Exit) string {
	switch {
	case x.Signal != nil && x.OOM != nil && *x.OOM:
		return fmt.Sprintf("signal %d, out of memory", *x.Signal)
	case x.Signal != nil:
		return fmt.Sprintf("signal %d (%s)", *x.Signal, syscall.Signal(*x.Signal))
	case x.OOM != nil && *x.OOM:
		return fmt.Sprintf("status %d, out of memory", *x.Status)
	}
	return fmt.Sprintf("status %d", *x.Status)
}

// At is a moment that a shim wrote down.
func At(t shim.At) fleet.Instant {
	return fleet.Instant{Wall: t.Wall.UTC(), Up: fleet.Duration(t.Up), Boot: t.Boot}
}

// Exit is what a shim wrote, as the ledger keeps it.
func Exit(s shim.Started, x shim.Exit, asked string) fleet.Exit {
	e := fleet.Exit{
		Instance: s.Key, Process: fleet.ProcessID{PID: s.Agent.PID, Start: s.Agent.Start, Boot: s.At.Boot},
		Status: fleet.Unknown[int]("it was ended by a signal"), Signal: fleet.Unknown[int]("it was not ended by a signal"),
		OOM: x.OOM != nil && *x.OOM, Hangup: x.Hangup, Source: "shim", Asked: asked,
		At: At(x.At),
	}
	if x.Status != nil {
		e.Status = fleet.Known(*x.Status)
	}
	if x.Signal != nil {
		e.Signal = fleet.Known(*x.Signal)
	}
	return e
}
