package agents

import (
	"fmt"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// veil says whether the terminal server of a run does not answer: its pane is not
// seen, the server it was last seen in lives, and not every server was seen.
func (l *look) veil(r run, m *memory) agent.Veil {
	pane := l.lastPane(r.Process.ID)
	if r.pane != nil || pane == nil || l.blind == "" || !l.lives(pane.Server) {
		m.veiled = fleet.Instant{}
		return agent.Veil{}
	}
	if m.veiled.IsZero() {
		m.veiled = l.now
	}
	why := fmt.Sprintf("its terminal server (process %d) does not answer", pane.Server.PID)
	if s := l.procs[pane.Server.PID].State; s == "T" || s == "t" {
		why = fmt.Sprintf("its terminal server (process %d) is stopped by a signal", pane.Server.PID)
	}
	return agent.Veil{Why: why, Since: m.veiled}
}

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
