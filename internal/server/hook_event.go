package server

import (
	"slices"
	"time"

	"custos/internal/fleet"
	"custos/internal/hookwire"
)

// HookEvent fills in an event, as agent.ParseHook read it from the payload of a
// post, with what the post says of who and when. The process is the nearest
// ancestor of the hook that is no shell: the agent, or a process of its tree.
func HookEvent(p hookwire.Post, e fleet.HookEvent) fleet.HookEvent {
	e.ID = p.ID
	e.At = fleet.Instant{Wall: time.Unix(0, p.Wall).UTC(), Up: fleet.Duration(p.UpNanos), Boot: fleet.Line(p.Boot, 64)}
	e.Deny(p.Denied)
	e.Agent, e.Instance = fleet.Text(p.Agent), fleet.Line(p.Instance, 128)
	shells := []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "timeout", "env"}
	for _, a := range p.PPIDs {
		if !slices.Contains(shells, a.Comm) {
			e.Process = fleet.ProcessID{PID: a.PID, Start: a.Start, Boot: e.At.Boot}
			break
		}
	}
	return e
}
