package agents

import (
	"fmt"
	"hash/fnv"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// memory is what is kept of one running agent from look to look.
type memory struct {
	began   fleet.Instant // of watching it
	last    fleet.Instant // look in which it was seen
	cpu     fleet.Duration
	cpuAt   fleet.Instant
	base    fleet.Duration // CPU time when it last counted as moving
	baseAt  fleet.Instant
	members uint64
	moved   fleet.Instant // zero until CPU or tree were seen to move

	shown      map[string]uint64 // hashes of title, screen and registry
	shownMoved fleet.Instant

	state  fleet.AgentState
	since  fleet.Instant
	exact  bool // since is not just when watching began
	isNew  bool
	before fleet.Leaf[float64]

	veiled    fleet.Instant // since when its terminal server has not answered; zero when it does
	noneSince fleet.Instant // since when looks have found no progress; zero when the last found some
	healthy   fleet.Instant // when it was last in order
	cycles    int           // patrols that found it unresponsive

	version  string // of the package that its program belongs to
	packaged bool   // that was looked for
}

// noise is the share of a core that an agent may use and still count as not
// moving: an interface that only keeps itself alive uses more, a process that
// waits for the network uses less.
const noise = 0.001

// remember finds or makes the memory of an agent, and notes what moved.
func (l *look) remember(r run) *memory {
	cpu, members := cpuOf(r.Tree), membersOf(r.Tree)
	m, ok := l.memory[r.Process.ID]
	if !ok {
		m = &memory{began: l.now, last: l.now, cpu: cpu, cpuAt: l.now, base: cpu, baseAt: l.now, members: members, isNew: true, shown: map[string]uint64{}}
		m.before = fleet.Unknown[float64]("not seen twice yet")
		l.memory[r.Process.ID] = m
		l.recollect(r, m)
		return m
	}
	m.isNew, m.last = false, l.now
	if passed := l.now.Since(m.cpuAt); passed >= sampleFor { // over less, one tick looks like work
		m.before = fleet.Known(100 * float64(max(0, cpu-m.cpu)) / float64(passed))
		m.cpu, m.cpuAt = cpu, l.now
	}
	least := max(20*time.Millisecond, time.Duration(noise*float64(l.now.Since(m.baseAt))))
	if members != m.members || time.Duration(cpu-m.base) >= least {
		m.moved, m.base, m.baseAt = l.now, cpu, l.now
	}
	m.members = members
	return m
}

// recollect goes on from what was recorded of the same process, by an earlier
// Custos: it has been watched since then, and is compared with what it was.
func (l *look) recollect(r run, m *memory) {
	rec, ok := l.recordOf(r.Process.ID)
	if !ok || rec.Moved.IsZero() || rec.Moved.Boot != l.now.Boot || l.now.Before(rec.Moved) || l.now.Before(rec.LastSeen) {
		return
	}
	m.began, m.healthy, m.cycles = rec.Moved, rec.LastHealthy, rec.Cycles
	least := max(20*time.Millisecond, time.Duration(noise*float64(l.now.Since(rec.LastSeen))))
	if d := time.Duration(m.cpu - rec.CPUTime); d < 0 || d >= least { // less: one that it had started has ended
		m.moved = l.now
	}
}

func cpuOf(tree []fleet.Process) (sum fleet.Duration) {
	for _, p := range tree {
		sum += p.CPUTime
	}
	return sum
}

func membersOf(tree []fleet.Process) uint64 {
	h := fnv.New64a()
	for _, p := range tree {
		fmt.Fprintf(h, "%d:%d ", p.ID.PID, p.ID.Start)
	}
	return h.Sum64()
}

// cpu returns the percent of a core the tree uses: since the last look, else as
// the process table has it, else between the two samples of a first look.
func (l *look) cpu(r run, m *memory) fleet.Leaf[float64] {
	if m.before.IsKnown() {
		return m.before
	}
	sum := 0.0
	for _, p := range r.Tree {
		if c, ok := p.CPU.Get(); ok {
			sum += c
			continue
		}
		later, ok := l.sampled[p.ID]
		if !ok {
			return m.before
		}
		sum += 100 * float64(max(0, later-p.CPUTime)) / float64(sampleFor)
	}
	if sum >= 1 && m.isNew {
		m.moved = l.now
	}
	return fleet.Known(sum)
}

// progress tells movement from memory and from what ages tell by themselves.
func (l *look) progress(r run, m *memory, v agent.Verdict, sig agent.Signals) (fleet.Progress, fleet.Leaf[fleet.Duration]) {
	l.noteShown(m, sig)
	motion := agent.Motion{CPU: l.quiet(m), Activity: sig.Activity, InPane: r.pane != nil}
	if r.pane == nil && l.blind != "" && r.Process.TTY != "" {
		motion.InPane = true
		motion.Activity = fleet.Unknown[fleet.Duration]("its terminal may be a pane that could not be seen: " + l.blind)
	}
	if r.Parent.PID != 0 && r.pane != nil {
		motion.Activity = r.pane.Activity // written by it or by the agent above it
	}
	if !m.shownMoved.IsZero() {
		motion.Others = append(motion.Others, fleet.Duration(max(0, l.now.Since(m.shownMoved))))
	}
	if reg, ok := sig.Registry.Get(); ok && !reg.Updated.IsZero() {
		motion.Others = append(motion.Others, fleet.Duration(max(0, l.now.Wall.Sub(reg.Updated))))
	}
	if !sig.Told.Last.IsZero() {
		motion.Others = append(motion.Others, fleet.Duration(max(0, l.now.Since(sig.Told.Last))))
	}
	if !sig.Written.Last.IsZero() {
		motion.Others = append(motion.Others, fleet.Duration(max(0, l.now.Since(sig.Written.Last))))
	}
	p, quiet := agent.Progress(motion, l.dwell)
	switch {
	case p == fleet.ProgressNone && (inTime(sig.Told.Tool) || sig.Told.Last.IsZero() && inTime(sig.Written.Tool)):
		return fleet.ProgressUnknown, quiet // it waits for its tool
	case p == fleet.ProgressNone && sig.Suspended:
		return fleet.ProgressUnknown, quiet // somebody stopped it: it cannot move
	case p == fleet.ProgressNone && v.Source == agent.SourceScreen:
		return fleet.ProgressUnknown, quiet // text alone never justifies an action
	}
	return p, quiet
}

// quiet returns how long ago CPU or tree moved. When they never did, watching
// for the whole dwell is as good.
func (l *look) quiet(m *memory) fleet.Leaf[fleet.Duration] {
	watched := max(0, l.now.Since(m.began))
	switch {
	case !m.moved.IsZero():
		return fleet.Known(fleet.Duration(max(0, l.now.Since(m.moved))))
	case watched >= l.dwell:
		return fleet.Known(fleet.Duration(watched))
	}
	return fleet.Unknown[fleet.Duration]("it has not been watched for " + l.dwell.String() + " yet")
}

// noteShown notes when title, screen or registry changed. One that is not seen
// any more has not moved.
func (l *look) noteShown(m *memory, sig agent.Signals) {
	now := map[string]string{}
	if s, ok := sig.Title.Get(); ok {
		now["title"] = s
	}
	if s, ok := sig.Screen.Get(); ok {
		now["screen"] = s
	}
	if reg, ok := sig.Registry.Get(); ok {
		now["registry"] = reg.Status + reg.SessionID + reg.Updated.String()
	}
	for source, s := range now {
		before, seen := m.shown[source]
		if h := hash(s); !seen || h != before {
			m.shown[source] = h
			if seen {
				m.shownMoved = l.now
			}
		}
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash never fails
	return h.Sum64()
}

// stay returns how long the agent has been in its state: as its registry says,
// as was watched or recorded, or, for what its pane shows, at least since the
// pane last wrote anything.
func (l *look) stay(r run, m *memory, v agent.Verdict, sig agent.Signals) fleet.Leaf[fleet.Duration] {
	lasted := l.lasted(r, m, v, sig)
	if d, known := lasted.Get(); known {
		return fleet.Known(min(r.Process.Age, max(0, d))) // a pane may be older than what runs in it
	}
	return lasted
}

// lasted is the same by what tells it: the agent itself, a hook, a record, or our watch.
func (l *look) lasted(r run, m *memory, v agent.Verdict, sig agent.Signals) fleet.Leaf[fleet.Duration] {
	if reg, ok := sig.Registry.Get(); ok && v.Source == agent.SourceRegistry && !reg.Updated.IsZero() {
		return fleet.Known(fleet.Duration(l.now.Wall.Sub(reg.Updated)))
	}
	if !v.Since.IsZero() {
		return fleet.Known(fleet.Duration(l.now.Since(v.Since)))
	}
	if m.state != v.State {
		m.state, m.since, m.exact = v.State, l.now, !m.isNew
		l.earlier(r, m, v, sig)
	}
	if m.isNew && !m.exact {
		return fleet.Unknown[fleet.Duration]("seen for the first time")
	}
	return fleet.Known(fleet.Duration(l.now.Since(m.since)))
}

// earlier looks for evidence that a state seen for the first time is older.
func (l *look) earlier(r run, m *memory, v agent.Verdict, sig agent.Signals) {
	if !m.isNew {
		return
	}
	for _, rec := range l.records {
		if sameProcess(rec.Process, r.Process.ID) && rec.State == v.State && !rec.Since.IsZero() && l.now.Since(rec.Since) > 0 {
			m.since, m.exact = rec.Since, true
			return
		}
	}
	if quiet, ok := sig.Activity.Get(); ok && (v.Source == agent.SourceTitle || v.Source == agent.SourceScreen) {
		m.since, m.exact = l.now.Add(-time.Duration(quiet)), true
	}
}

// forget drops what has ended, so that memory does not grow with time, and
// keeps how the living look.
func (l *look) forget(found []fleet.Agent) {
	for id, m := range l.memory {
		if m.last != l.now {
			delete(l.memory, id)
		}
	}
	for id, s := range l.Probe.screens {
		if l.now.Since(s.used) > 5*screensEvery {
			delete(l.Probe.screens, id)
		}
	}
	for id := range l.marks {
		if p, ok := l.procs[id.PID]; !ok || p.ID.Start != id.Start {
			delete(l.marks, id)
		}
	}
	nested := l.nested()
	for _, a := range found {
		if a.Process.PID != 0 {
			pane := l.lastPane(a.Process)
			if a.Pane != nil {
				pane = &a.Pane.ID
			}
			l.seen[key(a.Process)] = sighting{a, pane, l.now, nested[a.Process]}
		}
	}
	l.forgetDead()
}

// forgetDead drops the dead that nobody will ask for.
func (l *look) forgetDead() {
	for id, x := range l.dead {
		if l.now.Since(x.At) > keepExits {
			delete(l.dead, id)
		}
	}
	for id, s := range l.seen {
		_, dead := l.dead[id]
		if old := l.now.Since(s.at); old > keepCrashed || !dead && old > keepEnded {
			delete(l.seen, id)
		}
	}
}

// inTime says whether a tool runs that may.
func inTime(t *fleet.ToolCall) bool { return t != nil && !t.Over() }
