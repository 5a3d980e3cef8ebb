package agents

import (
	"cmp"
	"slices"
	"time"

	"custos/internal/agent"
	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// live describes one running agent.
func (l *look) live(r run) fleet.Agent {
	m := l.remember(r)
	cpu := l.cpu(r, m)
	events, beat := agent.WithoutBeats(l.eventsOf(r))
	told := agent.Gather(l.spoke(r, events), r.registered(), l.now, l.limits)
	sig := l.signals(r, cpu, told)
	if sig.Written = l.written(r); told.Last.IsZero() { // it has no hooks: its transcript tells of its tools
		told.Tool, told.Loop = sig.Written.Tool, sig.Written.Loop
	}
	sig.Veil = l.veil(r, m)
	sig.Version = l.versionOf(r, m, sig)
	sig.Outgrown = r.kind.Outgrown(sig.Version)
	v := agent.State(sig)
	if v.Broken {
		told.Tool, sig.Told.Tool = nil, nil
	}
	reg := l.registry[r.Process.ID]
	a := fleet.Agent{Name: r.called, Kind: r.Kind, Owner: l.owner(r),
		Process: r.Process.ID, TTY: r.Process.TTY, CWD: r.Process.CWD, FolderGone: folderGone(r.Process.CWD), Args: r.Process.Args,
		OneShot: r.OneShot, Age: fleet.Known(r.Process.Age), CPU: cpu, RSS: fleet.Known(rss(r.Tree)),
		CPUTime: fleet.Known(cpuOf(r.Tree)), SessionID: cmp.Or(reg.SessionID, told.Session),
		ExitStatus: fleet.Unknown[int]("it runs"), ExitSignal: fleet.Unknown[int]("it runs"),
		ContextPercent: said(told.Context), Tool: told.Tool, Conflict: r.conflict, Orphan: l.orphan(r)}
	for _, t := range r.Tree {
		a.Procs = append(a.Procs, t.ID)
	}
	if r.pane != nil {
		pane := *r.pane
		a.Pane, a.Attached = &pane, pane.Attached
	}
	a.PaneLost, a.ShimLost, a.TerminalStopped = l.paneLost(r), l.shimLost(r), l.serverStopped(r)
	a.Progress, a.Quiet = l.progress(r, m, v, sig)
	a.Still = l.still(m, a.Quiet)
	v = agent.Settle(v, told, l.silence(a, m))
	a.State, a.Reason, a.Source, a.Signals = v.State, v.Reason, v.Source, v.Signals
	a.Version, a.Outgrown, a.Hint = sig.Version, sig.Outgrown, v.Hint
	a.Deaf = agent.Deaf(sig)
	a.Dwell = l.stay(r, m, v, sig)
	if a.Failure = failureOf(told, sig.Written); a.Failure != "" && a.State == fleet.StateIdle {
		a.Reason = a.Failure + " ended its last turn; " + a.Reason
	}
	if a.Answered = told.Answered; a.Answered.Before(sig.Written.Answered) {
		a.Answered = sig.Written.Answered
	}
	if v.State == fleet.StateRateLimited {
		a.RateLimitedUntil, a.RateLimitedAt = limitOf(l.withReset(told, r.reg), sig.Written)
	}
	a.Denied = told.Denied
	l.holds(&a, r, told)
	l.shows(&a, r, sig)
	l.health(&a, m)
	if r.called != "" {
		a.Instance = r.instance
	}
	l.describe(&a, r)
	l.promise(&a, r, told, beat)
	l.bill(&a, r.reg)
	return a
}

// failureOf is what ended an agent's last turn, by its hooks, or by its transcript where that
// is more exact: what that tells from before the newest prompt ended an earlier one.
func failureOf(told, written agent.Reported) string {
	exact := conversation.IsCause(written.Failure) && !conversation.IsCause(told.Failure)
	if !exact && told.Failure != "" || written.Last.Wall.Before(told.Prompt.Wall) {
		return told.Failure
	}
	return written.Failure
}

// limitOf is until when an agent is limited, and when that was told, by its hooks or else
// by its transcript.
func limitOf(told, written agent.Reported) (until, at fleet.Instant) {
	if told.Limited.IsZero() || told.Until.IsZero() && !written.Until.IsZero() {
		return written.Until, written.Limited
	}
	return told.Until, told.Limited
}

// withReset is what an agent's hooks told, with when its limit is reset: its output may tell that alone.
func (l *look) withReset(told agent.Reported, reg *fleet.Registration) agent.Reported {
	if told.State != fleet.StateRateLimited || !told.Until.IsZero() {
		return told
	}
	// As of then: of a limit that has been reset since it would say nothing.
	if last := l.toldInOutput(reg, told.Limited); last.State == fleet.StateRateLimited {
		told.Until, told.Limited = limitOf(told, last)
	}
	return told
}

// toldInOutput is what an agent's output says of how it was at a moment; the zero value where none is read.
func (l *look) toldInOutput(reg *fleet.Registration, at fleet.Instant) agent.Reported {
	if s := l.streamed(reg); s != nil {
		return agent.Gather(s.events, reg.Instance, at, l.limits)
	}
	return agent.Reported{}
}

// registered is the instance whose hook events count; "" where none is known.
func (r run) registered() string {
	if r.reg != nil {
		return r.reg.Instance
	}
	return r.instance
}

func said(context fleet.Leaf[float64]) fleet.Leaf[float64] {
	if context.IsKnown() {
		return context
	}
	return fleet.Unknown[float64]("it has not told")
}

// signals gathers what was seen of a run.
func (l *look) signals(r run, cpu fleet.Leaf[float64], told agent.Reported) agent.Signals {
	sig := agent.Signals{Kind: r.kind, OneShot: r.OneShot, Suspended: isHalted(r.Process),
		Age: fleet.Known(r.Process.Age), CPU: cpu, Told: told, Now: l.now,
		Hooked: r.reg != nil && r.reg.Owner == fleet.OwnerCustos, Unheard: l.unheard}
	if sig.Hooked && told.Last.IsZero() && l.o.Deaf != nil {
		sig.Deaf = l.o.Deaf(r.kind.Name)
	}
	if reg, ok := l.registry[r.Process.ID]; ok {
		sig.Registry = fleet.Known(reg)
	}
	if r.pane != nil && r.Parent.PID == 0 { // the pane shows the agent at the top, not what it started
		sig.Title, sig.Activity = fleet.Known(r.pane.Title), r.pane.Activity
		if text, ok := l.screened[r.pane.ID]; ok {
			sig.Screen, sig.Seen = fleet.Known(text), l.Probe.screens[r.pane.ID].seen.Again(r.kind, text)
		}
	}
	return sig
}

// shows reads what a person would see at the agent's prompt.
func (l *look) shows(a *fleet.Agent, r run, sig agent.Signals) {
	text, ok := sig.Screen.Get()
	if !ok || r.OneShot {
		a.ComposerEmpty = fleet.Unknown[bool]("its screen was not seen")
		return
	}
	a.ComposerEmpty = agent.IsEmpty(sig.Seen.Composer)
	if l.isPutBack(r, sig.Seen.Composer) {
		a.ComposerEmpty = fleet.Known(true)
	}
	if a.Hint {
		a.ComposerEmpty = fleet.Unknown[bool](agent.IsHint(a.Kind, a.Version, a.Outgrown))
	}
	if a.State != fleet.StateWaiting && a.State != fleet.StateDialog {
		return
	}
	if d, ok := agent.ReadDialog(r.kind, text, sig.Title.Or("")); ok && l.Probe.screens[r.pane.ID].rest == d.Hash {
		a.Dialog = &fleet.Dialog{ID: d.ID, Says: d.Says, Question: d.Question, Tool: d.Tool, Args: d.Args,
			Person: d.Person, Default: d.Default, Hash: d.Hash}
		for _, c := range d.Choices {
			a.Dialog.Choices = append(a.Dialog.Choices, fleet.Choice(c))
		}
	}
}

// isPutBack says whether what stands at the prompt of a run is the newest prompt that it told
// of: its CLI has put that back there, and a nudge takes it away. What its transcript says counts
// where it has told of none by hook.
func (l *look) isPutBack(r run, composer fleet.Leaf[string]) bool {
	shown, known := composer.Get()
	if !known || shown == "" || len(r.kind.Composer.Clear) == 0 {
		return false
	}
	hooked := func(e fleet.HookEvent) bool { return e.Event == fleet.HookPrompt }
	told := l.eventsOf(r)
	if !slices.ContainsFunc(told, hooked) {
		told = l.spoken[r.Process.ID].Events
	}
	return agent.IsNewestPrompt(shown, told)
}

// silence is what makes a verdict of one look into one over time.
func (l *look) silence(a fleet.Agent, m *memory) agent.Silence {
	if a.Progress != fleet.ProgressNone {
		m.noneSince = fleet.Instant{}
	} else if m.noneSince.IsZero() {
		m.noneSince = l.now
	}
	s := agent.Silence{Progress: a.Progress, Quiet: a.Quiet, Tool: a.Tool, Cycles: m.cycles}
	if !m.noneSince.IsZero() {
		s.Lasted = max(0, l.now.Since(m.noneSince))
	}
	return s
}

// health notes when the agent was last in order. The cycles that the record
// counted stand until a look finds it in order.
func (l *look) health(a *fleet.Agent, m *memory) {
	healthy, _ := agent.Responsive(a.State, a.Progress)
	if healthy {
		m.healthy, m.cycles = l.now, 0
	}
	a.Cycles = m.cycles
	if rec, ok := l.recordOf(a.Process); ok && !healthy {
		a.Cycles = rec.Cycles // the patrols since this look began to watch
		m.cycles = rec.Cycles
	}
	a.LastHealthy = fleet.Unknown[fleet.Duration]("it was not seen in order yet")
	if !m.healthy.IsZero() {
		a.LastHealthy = fleet.Known(fleet.Duration(max(0, l.now.Since(m.healthy))))
	}
}

// still is for how long nothing was seen to move.
func (l *look) still(m *memory, quiet fleet.Leaf[fleet.Duration]) fleet.Duration {
	since := m.began
	if m.moved.Since(since) > 0 {
		since = m.moved
	}
	if m.shownMoved.Since(since) > 0 && !m.shownMoved.IsZero() {
		since = m.shownMoved
	}
	still := fleet.Duration(max(0, l.now.Since(since)))
	return min(still, quiet.Or(still))
}

func rss(tree []fleet.Process) (sum int64) {
	for _, p := range tree {
		sum += p.RSS
	}
	return sum
}

// owner says whose an agent is: what is registered, what belongs to an instance
// of ours, what Custos recorded as its own, what the configuration adopts, or
// somebody's. A recorded adoption is not taken over: it ends when the
// configuration says so.
func (l *look) owner(r run) fleet.Owner {
	switch {
	case r.reg != nil && (r.reg.Owner == fleet.OwnerCustos || r.reg.Owner == fleet.OwnerAdopted):
		return r.reg.Owner
	case r.ours:
		return fleet.OwnerCustos
	}
	if rec, ok := l.recordOf(r.Process.ID); ok && rec.Owner == fleet.OwnerCustos {
		return fleet.OwnerCustos
	}
	if owner := l.ownerOf(r.Process.CWD.Or("")); owner == fleet.OwnerAdopted || !r.lost {
		return owner
	}
	return fleet.OwnerUnknown
}

// orphan says whether nobody has this process any more: it has no terminal and
// no parent but the one that takes in orphans, and either no owner, or one that
// has ended.
func (l *look) orphan(r run) bool {
	if r.reg != nil || r.pane != nil || r.Process.TTY != "" || r.Parent.PID != 0 || !l.reparented(r.Process) {
		return false
	}
	if r.ours {
		return !l.running(r.instance)
	}
	return l.owner(r) == fleet.OwnerForeign
}

// reparented says whether a process was taken in by init, a session manager or
// the shim of an agent, which begin no agents without a terminal themselves but
// the one that is registered.
func (l *look) reparented(p fleet.Process) bool {
	parent, ok := l.procs[p.PPID]
	return !ok || p.PPID <= 1 || slices.Contains([]string{"systemd", "init", "tini", "dumb-init", shimName}, parent.Name)
}

// running says whether the registered agent of an instance was found.
func (l *look) running(instance string) bool {
	return slices.ContainsFunc(l.runs, func(r run) bool { return r.reg != nil && r.reg.Instance == instance })
}

// recordOf finds the record of a process.
func (l *look) recordOf(id fleet.ProcessID) (fleet.AgentRecord, bool) {
	i, ok := l.recorded[key(id)]
	if !ok || !sameProcess(l.records[i].Process, id) {
		return fleet.AgentRecord{}, false
	}
	return l.records[i], true
}

// forgive takes out of every memory the time in which the machine was suspended:
// what did not move then was not silent.
func (l *look) forgive() {
	awake := l.o.Awake()
	slept := l.now.Since(l.at) - (awake - l.awake)
	l.awake = awake
	if !l.looked || l.at.Boot != l.now.Boot || slept < 5*time.Second {
		return
	}
	for _, m := range l.memory {
		for _, at := range []*fleet.Instant{&m.began, &m.moved, &m.shownMoved, &m.noneSince, &m.baseAt, &m.cpuAt} {
			if !at.IsZero() {
				*at = at.Add(slept)
			}
		}
	}
}
