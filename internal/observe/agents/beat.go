package agents

import (
	"custos/internal/agent"
	"custos/internal/fleet"
)

// promise writes into a running agent which heartbeat it has promised, and how
// old the last beat is.
func (l *look) promise(a *fleet.Agent, r run, told agent.Reported, beat fleet.Instant) {
	h := l.heartbeat(a, r.reg)
	if h == nil {
		return
	}
	a.HeartbeatEvery, a.HeartbeatGrace = h.Every, h.Grace
	a.HeartbeatAge = agent.Beat(told, beat, a.Quiet, h.Allowed(), l.now)
}

// broken does the same for a registered agent that does not run: it showed that
// it was at work when it ended, at the latest.
func (l *look) broken(a *fleet.Agent, reg *fleet.Registration) {
	h := l.heartbeat(a, reg)
	if h == nil {
		return
	}
	a.HeartbeatEvery, a.HeartbeatGrace = h.Every, h.Grace
	a.HeartbeatAge = fleet.Unknown[fleet.Duration]("it does not run, and it is not told when it ended")
	if x := a.Exit; x != nil && !x.At.IsZero() {
		a.HeartbeatAge = fleet.Known(fleet.Duration(max(0, l.now.Since(x.At))))
	}
}

func (l *look) heartbeat(a *fleet.Agent, reg *fleet.Registration) *fleet.Heartbeat {
	var own *fleet.Heartbeat
	if reg != nil {
		own = reg.Heartbeat
	}
	return fleet.HeartbeatOf(l.o.Contracts, a.Name, a.Role, own)
}
