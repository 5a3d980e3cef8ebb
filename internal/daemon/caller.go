package daemon

import (
	"context"
	"errors"
	"fmt"

	"custos/internal/fleet"
	"custos/internal/server"
	"custos/internal/sys/proc"
	"custos/internal/sys/shim"
)

// agentOf names the agent a caller belongs to, "" for a person: by its own
// marker and its ancestors', by an ancestor that is an agent's process, or by a
// terminal it shares with an agent. An error means that it cannot be told. It
// stops accidents and careless agents; one that scrubs its environment and
// leaves both its ancestors and its terminal is not recognised.
func (s *system) agentOf(ctx context.Context, c server.Caller) (string, error) {
	if c.PID <= 0 {
		return "", errors.New("the kernel does not tell its process")
	}
	s.board.Await(ctx, fleet.PartAgents)
	agents := s.board.Snapshot().Agents
	if !agents.Usable() {
		return "", fmt.Errorf("agents are not seen now: %s", agents.Why)
	}
	line, err := s.lineage(c.PID)
	if err != nil {
		return "", err
	}
	for _, p := range line {
		if value, ok, err := s.world.Procs.Env(p.ID.PID, "CUSTOS_AGENT"); err == nil && ok {
			name, _, _ := shim.ParseMarker(value)
			return server.Marked + fleet.Line(name, 80), nil
		}
	}
	for _, a := range agents.Value {
		if belongs(a, line) {
			return a.Name, nil
		}
	}
	return "", nil
}

// belongs says whether one of the processes is the agent's, or the caller, the
// first of them, sits at the agent's terminal.
func belongs(a fleet.Agent, line []proc.Stat) bool {
	for _, p := range line {
		for _, id := range append([]fleet.ProcessID{a.Process}, a.Procs...) {
			if id.PID == p.ID.PID && id.Start == p.ID.Start {
				return true
			}
		}
	}
	return a.Process.PID != 0 && a.TTY != "" && a.TTY == line[0].TTY
}

// lineage is the process and its ancestors, itself first.
func (s *system) lineage(pid int) (line []proc.Stat, err error) {
	const deepest = 64
	for range deepest {
		stat, err := s.world.Procs.Stat(pid)
		if err != nil {
			return nil, fmt.Errorf("its ancestors cannot be followed: %w", err)
		}
		line = append(line, stat)
		if stat.PPID <= 0 || stat.ID.PID == 1 {
			return line, nil
		}
		pid = stat.PPID
	}
	return nil, fmt.Errorf("it has more than %d ancestors", deepest)
}
