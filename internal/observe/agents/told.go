package agents

import (
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// keepLate is for how long an event is kept that no look hears of: a look hears of each that
// is written down.
const keepLate = time.Minute

// Told is what a hook event makes of an agent, before a look has seen it.
type Told struct {
	event   fleet.HookEvent
	says    agent.Reported
	verdict agent.Verdict
}

// Told says what an event that has just been written down makes of the agent of ours that
// told it. It is false where a look has to tell: of tools that come and go, of the end of a
// turn by an error, which the transcript knows more exactly, and of sessions. It waits for no look.
func (p *Probe) Told(e fleet.HookEvent) (Told, bool) {
	p.newsMu.Lock()
	defer p.newsMu.Unlock()
	kind, known := p.o.Kinds.Get(e.Kind)
	if e.Instance == "" || !known {
		return Told{}, false
	}
	p.late = append(p.late, e)
	if !p.decides(e) {
		return Told{}, false
	}
	now := p.o.Now()
	told := slices.DeleteFunc(slices.Concat(p.heard[e.Instance], p.late), func(o fleet.HookEvent) bool {
		return o.Process.PID != 0 && !sameProcess(o.Process, e.Process)
	})
	says := agent.Gather(told, e.Instance, now, p.limits)
	t := Told{e, says, agent.Settle(agent.State(agent.Signals{Kind: kind, Told: says, Now: now}), says, agent.Silence{})}
	p.waits[e.Instance] = says.State == fleet.StateWaiting
	return t, says.Turn == e.At && says.Failure == "" && t.verdict.State != fleet.StateUnknown
}

// decides says whether an event may change what an agent is doing. Tools do so only where it
// waited for an answer.
func (p *Probe) decides(e fleet.HookEvent) bool {
	switch e.Event {
	case fleet.HookPrompt, fleet.HookPermission, fleet.HookQuestion, fleet.HookAnswered, fleet.HookStop, fleet.HookRest:
		return true
	case fleet.HookToolBegin, fleet.HookToolEnd:
		return p.waits[e.Instance]
	}
	return false
}

// listened takes over what a look has heard and found: what was told since stays told.
func (l *look) listened(found []fleet.Agent) {
	l.newsMu.Lock()
	defer l.newsMu.Unlock()
	l.heard = l.events.byInstance
	l.late = slices.DeleteFunc(l.late, func(e fleet.HookEvent) bool {
		heard := slices.ContainsFunc(l.heard[e.Instance], func(h fleet.HookEvent) bool { return h.ID == e.ID })
		return heard || l.now.Since(e.At) > keepLate
	})
	clear(l.waits)
	for i := range found {
		if found[i].State == fleet.StateWaiting {
			l.waits[found[i].Instance] = true
		}
	}
}

// WithTold returns the agents as they are after what some of them told, oldest first. An
// agent counts as having told it only where a process of its own did, as the last look found
// those: other agents that it has started carry its marker, too. The slice it is given is not
// changed.
func WithTold(agents []fleet.Agent, news []Told, now fleet.Instant) []fleet.Agent {
	out := agents
	for _, t := range news {
		i := teller(out, t.event)
		if i < 0 {
			continue
		}
		if &out[0] == &agents[0] {
			out = slices.Clone(agents)
		}
		out[i] = after(out[i], t, now)
	}
	return out
}

// teller is the agent that told an event; -1 where that is not certain.
func teller(agents []fleet.Agent, e fleet.HookEvent) int {
	has := func(a fleet.Agent) bool {
		return slices.ContainsFunc(a.Procs, func(p fleet.ProcessID) bool { return sameProcess(p, e.Process) })
	}
	i := slices.IndexFunc(agents, func(a fleet.Agent) bool { return a.Registered && a.Instance == e.Instance && has(a) })
	if i < 0 || slices.ContainsFunc(agents[:i], has) || slices.ContainsFunc(agents[i+1:], has) {
		return -1
	}
	return i
}

// after describes an agent by what it told just now. What its screen showed before is not
// known to be there any more.
func after(a fleet.Agent, t Told, now fleet.Instant) fleet.Agent {
	const why = "it has told of something new, and its screen was not read since"
	a.State, a.Reason, a.Source, a.Signals, a.Hint = t.verdict.State, t.verdict.Reason, t.verdict.Source, t.verdict.Signals, false
	a.Dwell = fleet.Known(fleet.Duration(max(0, now.Since(t.verdict.Since))))
	a.Tool, a.Dialog, a.ComposerEmpty = t.says.Tool, nil, fleet.Unknown[bool](why)
	a.Progress, a.Quiet, a.Still = fleet.ProgressSome, fleet.Known(fleet.Duration(max(0, now.Since(t.event.At)))), 0
	if t.event.Event == fleet.HookPrompt {
		a.Failure = ""
	}
	return a
}
