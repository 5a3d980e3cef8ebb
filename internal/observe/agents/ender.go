package agents

import (
	"slices"
	"syscall"
	"time"

	"custos/internal/fleet"
)

// How far apart an end and what explains it may lie.
const (
	typedWithin = 5 * time.Second  // keys and the end they bring about; tmux counts in whole seconds
	toldWithin  = time.Minute      // the farewell of a CLI and its end: it may have to end its servers first
	fellWithin  = 10 * time.Second // the end of a terminal server and that of what ran in it
)

// prompted is the kind of an agent that has a prompt at which it can be ended; "" of one
// that answers one prompt, and says farewell when it has.
func prompted(kind string, oneShot bool) string {
	if oneShot {
		return ""
	}
	return kind
}

// attribute adds to an exit what tells who ended the instance: a person at its
// terminal, or the end of its terminal server. What somebody asked for needs no
// other reason. isNew says that the exit is on no record yet: only then may a
// server that nobody saw end have been its end.
func (l *look) attribute(x *fleet.Exit, kind string, pane *fleet.PaneID, isNew bool) {
	if x.Asked != "" || x.Rebooted() || x.At.IsZero() {
		return
	}
	if x.Quit == "" {
		x.Quit = l.quit(*x, kind, pane)
	}
	if x.Server == "" && x.Quit == "" && pane != nil && l.fellWith(*x, *pane, isNew) {
		x.Server = pane.Socket
	}
}

// quit says how a person ended an instance at its terminal; "" when no person was
// seen to.
func (l *look) quit(x fleet.Exit, kind string, pane *fleet.PaneID) string {
	if !x.ByKeys() {
		return ""
	}
	k, _ := l.o.Kinds.Get(kind)
	if e, ok := l.farewell(x); ok && !x.Hangup && slices.Contains(k.QuitReasons, e.Text) {
		return "its own exit command: " + fleet.Line(e.Text, 40)
	}
	if pane == nil || x.ShimGone { // no key ends a shim
		return ""
	}
	if now := l.paneRecorded(*pane); now != nil {
		if typed, ok := now.Typed.Get(); ok && l.now.Add(-time.Duration(typed)).Since(x.At).Abs() <= typedWithin {
			return "keys at its terminal"
		}
	}
	return ""
}

// farewell returns the event by which an instance told of the end of its session,
// when that was the last it told. Another agent that it started inherits its
// marker, and tells of itself.
func (l *look) farewell(x fleet.Exit) (last fleet.HookEvent, ok bool) {
	events := l.events.byProcess[key(x.Process)]
	if x.Instance != "" {
		events = l.events.byInstance[x.Instance]
	}
	for _, e := range events {
		if e.Process.PID != 0 && !sameProcess(e.Process, x.Process) && !l.wasPart(e.Process, x.Process) {
			continue
		}
		if !e.At.Before(last.At) || !ok {
			last, ok = e, true
		}
	}
	return last, ok && last.Event == fleet.HookSessionEnd && x.At.Since(last.At).Abs() <= toldWithin
}

// wasPart says whether a process was seen below an agent while that ran, and is of no other
// agent: a launcher has its hooks called by the program that it starts.
func (l *look) wasPart(id, of fleet.ProcessID) bool {
	whole := l.seen[key(of)].agent
	has := func(a fleet.Agent, id fleet.ProcessID) bool {
		return slices.ContainsFunc(a.Procs, func(p fleet.ProcessID) bool { return sameProcess(p, id) })
	}
	if !has(whole, id) {
		return false
	}
	for _, s := range l.seen {
		if a := s.agent; !sameProcess(a.Process, of) && has(whole, a.Process) && has(a, id) {
			return false
		}
	}
	return true
}

// fellWith says whether an instance ended with the terminal server it ran in.
// Where nobody saw when the server went, an end by the signal of a closed terminal, or
// after it was closed, is its.
func (l *look) fellWith(x fleet.Exit, pane fleet.PaneID, isNew bool) bool {
	if pane.Server.PID == 0 || l.lives(pane.Server) {
		return false
	}
	if fell, seen := l.dead[key(pane.Server)]; seen {
		return x.At.Since(fell.At).Abs() <= fellWithin
	}
	signal, _ := fleet.EndSignal(x.Status, x.Signal)
	return isNew && (x.Hangup || signal == int(syscall.SIGHUP))
}

// lastPane returns the pane in which a process was last seen; nil for none.
func (l *look) lastPane(id fleet.ProcessID) *fleet.PaneID {
	if s, ok := l.seen[key(id)]; ok && s.pane != nil {
		return s.pane
	}
	if rec, ok := l.recordOf(id); ok {
		return rec.Pane
	}
	return nil
}
