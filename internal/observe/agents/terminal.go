package agents

import (
	"fmt"
	"strings"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// veil says whether the terminal server of a run is stopped, or does not answer: its
// pane is not seen, the server it was last seen in lives, and not every server was seen.
func (l *look) veil(r run, m *memory) agent.Veil {
	pane, why := l.lastPane(r.Process.ID), ""
	if stopped := l.serverStopped(r); stopped != 0 {
		why = fmt.Sprintf("its terminal server (process %d) is stopped by a signal", stopped)
	} else if r.pane == nil && pane != nil && l.blind != "" && l.lives(pane.Server) {
		why = fmt.Sprintf("its terminal server (process %d) does not answer", pane.Server.PID)
	}
	if why == "" {
		m.veiled = fleet.Instant{}
		return agent.Veil{}
	}
	if m.veiled.IsZero() {
		m.veiled = l.now
	}
	return agent.Veil{Why: why, Since: m.veiled}
}

// serverStopped returns the terminal server of a run while that is stopped by a signal:
// the one that it stands below with a terminal, whether or not a pane of it was ever
// seen, or that of its pane. 0 for none.
func (l *look) serverStopped(r run) int {
	if pane := l.lastPane(r.Process.ID); pane != nil && l.lives(pane.Server) && isHalted(l.procs[pane.Server.PID]) {
		return pane.Server.PID
	}
	for p := range l.upwards(r.Process.PPID) {
		if r.Process.TTY != "" && strings.HasPrefix(p.Name, "tmux") && isHalted(p) {
			return p.ID.PID
		}
	}
	return 0
}

// isHalted says whether a process is stopped by a signal, or by who traces it.
func isHalted(p fleet.Process) bool { return p.State == "T" || p.State == "t" }

// paneLost says whether a run lives on without the pane that it was in, or that it
// was started in: nobody can see it or type to it.
func (l *look) paneLost(r run) fleet.Leaf[bool] {
	last := l.lastPane(r.Process.ID)
	inPane := last != nil || r.reg != nil && r.reg.Owner == fleet.OwnerCustos && r.reg.Where == fleet.WhereTmux
	switch {
	case r.pane != nil, r.Parent.PID != 0, !inPane:
		return fleet.Known(false)
	case last != nil && !l.lives(last.Server):
		return fleet.Known(true)
	case l.o.Panes == nil || l.blind != "":
		return fleet.Unknown[bool]("not every terminal server could be seen")
	}
	return fleet.Known(true)
}

// shimLost says whether a run lives on without the shim that started it: nobody writes
// down how it ends, or what it prints.
func (l *look) shimLost(r run) fleet.Leaf[bool] {
	if r.reg == nil || r.reg.Owner != fleet.OwnerCustos || r.reg.Instance == "" {
		return fleet.Known(false)
	}
	for p := range l.upwards(r.Process.PPID) {
		if shimOf(p) == r.reg.Instance {
			return fleet.Known(false)
		}
	}
	if l.o.ShimGone != nil && l.o.ShimGone(r.reg.Instance) {
		return fleet.Known(true)
	}
	return fleet.Unknown[bool]("it cannot be told whether its shim lives")
}
