package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"custos/internal/caller"
	"custos/internal/control"
	"custos/internal/fleet"
	"custos/internal/server"
)

// agentsLook is how long who asks is kept waiting for agents to be seen, beside the
// deadline of a look: less than a command waits for a brake (cli's feel).
const agentsLook = 3 * time.Second

// agentOf names the agent a caller belongs to, "" for a person. An error means that it
// cannot be told, which counts as an agent.
func (s *system) agentOf(ctx context.Context, c server.Caller) (string, error) {
	if c.PID <= 0 {
		return "", errors.New("the kernel does not tell its process")
	}
	// What is seen of agents, when a look that is late has had its chance.
	snap := s.board.Seen(ctx, fleet.PartAgents, agentsLook)
	find := caller.Finder{Procs: s.world.Procs, Socket: s.world.Own.Socket}
	line, err := caller.Line(find.Procs, c.PID)
	if err != nil {
		return "", err
	}
	switch a, ok, err := find.Whose(snap, line); {
	case ok && a.Marked:
		return control.Marked + a.Name, nil
	case ok:
		return a.Name, nil
	case !snap.Agents.Usable():
		return "", fmt.Errorf("%w: %s", server.ErrUnseen, snap.Agents.Why)
	default:
		return "", err
	}
}
