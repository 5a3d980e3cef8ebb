package daemon

import (
	"errors"
	"fmt"

	"custos/internal/caller"
	"custos/internal/hookwire"
	"custos/internal/sys/proc"
)

// whose puts what the kernel says of the process that posts a hook event in the place
// of what the post says of itself: its ancestors, and the agent whose shim is among
// them. Who is below no shim is none of ours, whatever it carries. relays says that
// the process is no part of the agent, only what it calls.
func (e *hookReceiver) whose(pid int, relays bool, p *hookwire.Post) error {
	if pid == 0 {
		e.spooled(p)
		return nil
	}
	line, err := caller.Line(e.s.world.Procs, pid)
	if errors.Is(err, proc.ErrGone) { // it did not wait for an answer: no more is known than of one in the spool
		e.spooled(p)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot tell who posts a hook event: %w", err)
	}
	of := caller.OfShim(line)
	p.Agent, p.Instance = of.Name, of.Instance
	if relays {
		line = line[1:]
	}
	p.PPIDs = nil
	for _, a := range line[:min(len(line), hookwire.MaxAncestors)] {
		if a.ID.PID > 1 {
			p.PPIDs = append(p.PPIDs, hookwire.Process{PID: a.ID.PID, Start: a.ID.Start, Comm: a.Comm})
		}
	}
	return nil
}

// spooled is whose for a post that lies in the spool: the process that posted is gone,
// so its nearest ancestor that lives is asked for. Of one whose ancestors are all gone
// nothing more can be told than what it says.
func (e *hookReceiver) spooled(p *hookwire.Post) {
	for _, a := range p.PPIDs {
		line, err := caller.Line(e.s.world.Procs, a.PID)
		if err == nil && line[0].ID.Start == a.Start {
			of := caller.OfShim(line)
			p.Agent, p.Instance = of.Name, of.Instance
			return
		}
	}
}
