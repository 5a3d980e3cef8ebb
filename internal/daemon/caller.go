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
// marker and its ancestors', by an ancestor that is an agent's process, by a
// terminal or a session it shares with an agent, or by Custos' own tmux server
// among its ancestors. An error means that it cannot be told. It stops accidents
// and careless agents; one that scrubs its environment and begins a session of its
// own, away from its ancestors, is not recognised.
func (s *system) agentOf(ctx context.Context, c server.Caller) (string, error) {
	if c.PID <= 0 {
		return "", errors.New("the kernel does not tell its process")
	}
	s.board.Await(ctx, fleet.PartAgents)
	snap := s.board.Snapshot()
	agents := snap.Agents
	if !agents.Usable() {
		return "", fmt.Errorf("agents are not seen now: %s", agents.Why)
	}
	line, err := lineage(s.world.Procs, c.PID)
	if err != nil {
		return "", err
	}
	if name, ok := marked(s.world.Procs, line); ok {
		return server.Marked + name, nil
	}
	for _, a := range agents.Value {
		if belongs(a, line) || s.sharesSession(a, line[0]) {
			return a.Name, nil
		}
	}
	return byServer(snap, s.world.Own.Socket, line)
}

// marked returns the agent whose marker one of the processes carries.
func marked(procs *proc.Reader, line []proc.Stat) (string, bool) {
	for _, p := range line {
		if value, ok, err := procs.Env(p.ID.PID, "CUSTOS_AGENT"); err == nil && ok {
			name, _, _ := shim.ParseMarker(value)
			return fleet.Line(name, 80), true
		}
	}
	return "", false
}

// sharesSession says whether a process is of the session (of the kernel's) that
// Custos made for an agent: what an agent forks twice stays in it.
func (s *system) sharesSession(a fleet.Agent, caller proc.Stat) bool {
	if a.Owner != fleet.OwnerCustos || a.Process.PID == 0 || caller.SID == 0 {
		return false
	}
	is, err := s.world.Procs.Stat(a.Process.PID)
	return err == nil && is.ID.Start == a.Process.Start && is.SID == caller.SID
}

// byServer judges who was begun by a tmux server, and not in a pane (run-shell, a
// popup, a hook of tmux): in Custos' own server it is an agent; in one where an
// agent runs it cannot be told. Who has lost the session that it was begun in
// cannot be told either.
func byServer(snap fleet.Snapshot, own string, line []proc.Stat) (string, error) {
	in := map[int]bool{}
	for _, p := range line {
		in[p.ID.PID] = true
	}
	for _, p := range snap.Sessions.Value {
		if p.ID.Socket == own && in[p.ID.Server.PID] {
			return "of Custos' tmux server", nil
		}
	}
	for _, a := range snap.Agents.Value {
		if a.Pane != nil && in[a.Pane.ID.Server.PID] && !inPane(snap, a.Pane.ID.Server, in) {
			return "", fmt.Errorf("the tmux server that agent %s runs in has begun it", fleet.Line(a.Name, 80))
		}
	}
	if c := line[0]; c.TTY == "" && c.SID != 0 && !in[c.SID] {
		return "", errors.New("it was cut off from the session it was begun in")
	}
	return "", nil
}

// inPane says whether one of the processes is the first one of a pane of a server.
func inPane(snap fleet.Snapshot, server fleet.ProcessID, in map[int]bool) bool {
	for _, p := range snap.Sessions.Value {
		if p.ID.Server == server && in[p.ID.Root.PID] {
			return true
		}
	}
	return false
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
func lineage(procs *proc.Reader, pid int) (line []proc.Stat, err error) {
	const deepest = 64
	for range deepest {
		stat, err := procs.Stat(pid)
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
