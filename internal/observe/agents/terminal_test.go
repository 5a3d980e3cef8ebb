package agents

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// While its terminal server is stopped, or does not answer, nobody knows what an
// agent does: it is unknown, not as it was last seen. What its hooks tell since
// counts; and it ends with the silence.
func TestStateUnderATerminalServerThatDoesNotAnswer(t *testing.T) {
	w, b := newWorld(), newLedger()
	server := w.proc(2, 1, "tmux")
	w.proc(10, 2, "claude")
	b.reg("a", 10)
	w.pane("a", 10)
	stop := fleet.HookEvent{ID: "1", At: w.now.Add(-time.Minute), Instance: "i-a", Process: id(10), Event: fleet.HookStop}
	b.events = []fleet.HookEvent{stop}
	p := w.probe(t, b.options)
	want := func(state fleet.AgentState, says string) {
		t.Helper()
		if a := see(t, p)["a"]; a.State != state || !strings.Contains(a.Reason, says) {
			t.Errorf("it is %s (%s), want %s: %q", a.State, a.Reason, state, says)
		}
		w.pass(10 * time.Second)
		w.records = []fleet.AgentRecord{{Name: "a", Kind: "claude", Process: id(10), Pane: &fleet.PaneID{Socket: "/s", Server: server.ID, Pane: "%10", Root: id(10)}, LastSeen: w.now}}
	}
	want(fleet.StateIdle, "turn has ended")
	panes := w.panes
	w.panes, w.paneErr = nil, errors.New("cannot ask tmux server /s: no answer within 2s")
	want(fleet.StateUnknown, "does not answer")
	w.procs[0].State = "T"
	want(fleet.StateUnknown, "process 2) is stopped by a signal")
	p = w.probe(t, b.options) // another Custos, from the record
	want(fleet.StateUnknown, "stopped by a signal")
	b.events = append(b.events, fleet.HookEvent{ID: "2", At: w.now, Instance: "i-a", Process: id(10), Event: fleet.HookPrompt})
	want(fleet.StateWorking, "prompt was submitted")
	b.events, w.panes, w.paneErr, w.procs[0].State = b.events[:1], panes, nil, "S"
	want(fleet.StateIdle, "turn has ended")
	w.panes, w.paneErr = nil, errors.New("another server is silent")
	w.proc(20, 1, "claude") // without a terminal: no server's silence hides it
	b.reg("headless", 20).Where = fleet.WhereHeadless
	b.events = append(b.events, fleet.HookEvent{ID: "3", At: w.now, Instance: "i-headless", Process: id(20), Event: fleet.HookStop})
	if a := see(t, p)["headless"]; a.State != fleet.StateIdle {
		t.Errorf("one without a terminal is %s (%s)", a.State, a.Reason)
	}
}

// What runs below a terminal server that is stopped by a signal is seen by nobody,
// whatever of it was seen before, by who looks for the first time too; and it is told
// which process that is. One without a server, or below one that runs, has none.
func TestAgentsBelowATerminalServerThatIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		state string // of the server
		pane  bool   // was still seen
		want  int
	}{
		"stopped, for the first time": {state: "T", want: 2},
		"traced":                      {state: "t", want: 2},
		"stopped since the panes":     {state: "T", pane: true, want: 2},
		"it runs":                     {state: "S", pane: true},
		"it is gone":                  {state: "Z"},
	} {
		w, b := newWorld(), newLedger()
		w.proc(2, 1, "tmux: server").State = c.state
		w.proc(9, 2, "custos-shim")
		w.proc(10, 9, "claude").TTY = "pts/1"
		b.reg("a", 10)
		w.proc(20, 2, "claude") // of a daemon that was started in a pane, say
		b.reg("headless", 20).Where = fleet.WhereHeadless
		if c.pane {
			w.pane("a", 10)
		} else {
			w.paneErr = errors.New("cannot ask tmux server /s: it is stopped by a signal")
		}
		found := see(t, w.probe(t, b.options))
		if a := found["a"]; a.TerminalStopped != c.want || c.want != 0 && (a.State != fleet.StateUnknown || !strings.Contains(a.Reason, "process 2) is stopped by a signal")) {
			t.Errorf("%s: %d, %s (%s), want %d", name, a.TerminalStopped, a.State, a.Reason, c.want)
		}
		if n := found["headless"].TerminalStopped; n != 0 {
			t.Errorf("%s: one without a terminal is below server %d", name, n)
		}
	}
}

// An agent that lives on without its pane is known to have lost it only where every
// server was seen, or its own is gone.
func TestALiveAgentThatLostItsPane(t *testing.T) {
	blind := errors.New("cannot ask tmux server /s: no answer within 2s")
	for name, c := range map[string]struct {
		where  fleet.Where
		server bool // lives
		pane   bool // is there
		err    error
		lost   string
	}{
		"it is there":         {where: fleet.WhereTmux, server: true, pane: true, lost: "false"},
		"its pane is gone":    {where: fleet.WhereTmux, server: true, lost: "true"},
		"its server is gone":  {where: fleet.WhereTmux, lost: "true"},
		"gone, and blind":     {where: fleet.WhereTmux, err: blind, lost: "true"},
		"its server is blind": {where: fleet.WhereTmux, server: true, err: blind, lost: "unknown"},
		"it never had one":    {where: fleet.WhereHeadless, server: true, lost: "false"},
	} {
		w, b := newWorld(), newLedger()
		if c.server {
			w.proc(2, 1, "tmux")
		}
		w.proc(10, 1, "claude")
		b.reg("a", 10).Where = c.where
		if c.pane {
			w.pane("a", 10)
		}
		if c.where == fleet.WhereTmux {
			w.records = []fleet.AgentRecord{{Name: "a", Kind: "claude", Process: id(10), Pane: &fleet.PaneID{Socket: "/s", Server: id(2), Pane: "%10", Root: id(10)}, LastSeen: w.now}}
		}
		w.paneErr = c.err
		lost, known := see(t, w.probe(t, b.options))["a"].PaneLost.Get()
		if got := fmt.Sprint(lost); known && got != c.lost || known == (c.lost == "unknown") {
			t.Errorf("%s: %v, known %v; want %s", name, lost, known, c.lost)
		}
	}
}

// An agent whose pane is not seen is called as it was: a daemon that has just been
// started again may look before its terminal server answers.
func TestAnAgentKeepsItsNameWhileItsPaneIsNotSeen(t *testing.T) {
	w := newWorld()
	w.proc(2, 1, "tmux")
	w.proc(10, 2, "claude")
	w.pane("builder", 10)
	p := w.probe(t, nil)
	if _, ok := see(t, p)["builder"]; !ok {
		t.Fatal("it is not called by its session")
	}
	w.records = []fleet.AgentRecord{{Name: "builder", Kind: "claude", Process: id(10), Pane: &w.panes[0].ID, LastSeen: w.now}}
	panes := w.panes
	for name, err := range map[string]error{"it does not answer": errors.New("no answer within 2s"), "it is not found yet": nil} {
		w.panes, w.paneErr = nil, err
		for what, p := range map[string]*Probe{"this Custos": p, "the next one": w.probe(t, nil)} {
			if found := see(t, p); len(found) != 1 || found["builder"].Process.PID != 10 {
				t.Errorf("%s, %s: %v", name, what, slices.Collect(maps.Keys(found)))
			}
		}
	}
	w.panes, w.paneErr = panes, nil
	w.panes[0].Session = "renamed" // a person gives the session another name
	if _, ok := see(t, p)["renamed"]; !ok {
		t.Error("it is not called by its session's new name")
	}
}
