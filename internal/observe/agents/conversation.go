package agents

import (
	"cmp"
	"context"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Conversing is an agent whose conversation is asked for.
type Conversing struct {
	Process fleet.ProcessID
	Kind    string
	Session string    // the CLI's own name of the conversation; empty where that is not known
	CWD     string    // where it works; empty where that is not known
	Since   time.Time // when its process began
	Home    string    // the folder of its CLI's own that it was given (raw); empty for none
}

// converse reads what the conversations of the agents that run say. Without them the
// agents are described all the same, and as fresh: what they would have told is unknown.
func (l *look) converse(ctx context.Context) {
	if l.o.Conversations == nil {
		return
	}
	var wanted []Conversing
	for _, r := range l.runs {
		if r.kind.Transcripts.Language != "" {
			wanted = append(wanted, l.conversing(r))
		}
	}
	var err error
	if l.spoken, err = l.o.Conversations(ctx, wanted); err != nil {
		l.unspoken = fleet.Line(err.Error(), 300)
	}
}

func (l *look) conversing(r run) Conversing {
	c := Conversing{Process: r.Process.ID, Kind: r.Kind, Session: l.sessionOf(r), CWD: r.Process.CWD.Or(""), Since: l.began(r)}
	if r.reg != nil {
		c.Home = r.kind.Transcripts.Named(fleet.RawPath(r.reg.ConfigDir))
	}
	return c
}

// began is when a process began, by the wall clock.
func (l *look) began(r run) time.Time { return l.now.Wall.Add(-time.Duration(r.Process.Age)) }

// sessionOf is the CLI's own name of the conversation that an agent is at, as its registry
// file, its newest hook, or the record of how it was started says.
func (l *look) sessionOf(r run) (session string) {
	if session = l.registry[r.Process.ID].SessionID; session != "" {
		return session
	}
	var newest fleet.Instant
	for _, e := range l.eventsOf(r) {
		if e.Session != "" && e.Event != fleet.HookNotice && !e.At.Before(newest) { // a notice may be of one that is not shown
			session, newest = e.Session, e.At
		}
	}
	if session == "" && r.reg != nil {
		session = r.reg.SessionID
	}
	return session
}

// written is what an agent's conversation amounts to since its process began.
func (l *look) written(r run) agent.Reported {
	c, ok := l.spoken[r.Process.ID]
	if !ok {
		return agent.Reported{}
	}
	return agent.GatherWritten(c, l.began(r).Add(-startSlack), l.now, l.limits)
}

// startSlack is how exactly the start of a process is known by the wall clock.
const startSlack = 2 * time.Second

// holds notes what is known of an agent's context and conversation.
func (l *look) holds(a *fleet.Agent, r run, told agent.Reported) {
	why := cmp.Or(l.unspoken, "it has not told")
	a.ContextUsed, a.ContextWindow, a.Turns = fleet.Unknown[int64](why), fleet.Unknown[int64](why), fleet.Unknown[int](why)
	if c, ok := l.spoken[r.Process.ID]; ok {
		a.Model, a.ContextUsed, a.ContextWindow, a.Turns = c.Model, c.Used, c.Window, fleet.Known(c.Turns)
		a.SessionID, a.Account = cmp.Or(a.SessionID, c.Session), r.kind.AccountOf(l.o.Accounts, l.o.Home, c.Path)
	}
	byStatus(a, told.Status)
	if a.Quota = told.Quota; len(a.Quota) == 0 {
		a.Quota = l.spoken[r.Process.ID].Quota
	}
	a.QuotaPercent = quotaPercent(a.Quota, l.now.Wall)
	if a.ContextPercent = said(told.Context); !a.ContextPercent.IsKnown() {
		a.ContextPercent = percentOf(a.ContextUsed, a.ContextWindow)
	}
}

// byStatus notes what the CLI told its status line: it alone knows how much its context
// holds, and the transcript is written first of what is used.
func byStatus(a *fleet.Agent, s fleet.StatusReport) {
	a.Model = cmp.Or(a.Model, s.Model)
	if !a.ContextUsed.IsKnown() && s.Used.IsKnown() {
		a.ContextUsed = s.Used
	}
	if s.Window.IsKnown() && s.Model == a.Model {
		a.ContextWindow = s.Window
	}
}

// percentOf is how full a context is; unknown where its size is not told.
func percentOf(used, window fleet.Leaf[int64]) fleet.Leaf[float64] {
	n, ok := used.Get()
	of, sized := window.Get()
	switch {
	case !ok:
		return fleet.Unknown[float64]("it has not told")
	case !sized || of <= 0:
		return fleet.Unknown[float64]("the size of its context is not told")
	}
	return fleet.Known(min(100, 100*float64(n)/float64(of)))
}

// quotaPercent is how much of its plan is used; not known where that was not told lately.
func quotaPercent(all []fleet.Quota, now time.Time) fleet.Leaf[float64] {
	if len(all) == 0 {
		return fleet.Leaf[float64]{}
	}
	percent, blind, _ := fleet.QuotaUsed(all, now)
	if blind != "" {
		return fleet.Unknown[float64](blind)
	}
	return fleet.Known(percent)
}
