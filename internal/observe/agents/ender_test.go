package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/decide/follow/registry"
	"custos/internal/fleet"
)

// Who ended an agent of ours is known by evidence alone. A signal that a terminal
// could have sent is no evidence: anything sends it.
func TestWhoEndedAnAgent(t *testing.T) {
	told := func(reason string) func(*world, *ledger) {
		return func(w *world, b *ledger) {
			b.events = append(b.events, fleet.HookEvent{ID: "e", At: w.now.Add(-time.Second), Instance: "i-a", Process: id(10), Kind: "claude", Event: fleet.HookSessionEnd, Text: reason})
		}
	}
	typed := func(ago time.Duration) func(*world, *ledger) {
		return func(w *world, _ *ledger) {
			p := w.pane("a", 9)
			p.Dead, p.Typed = true, fleet.Known(fleet.Duration(ago))
			w.proc(2, 1, "tmux")
			w.records = []fleet.AgentRecord{{Name: "a", Kind: "claude", Process: id(10), Pane: &p.ID, LastSeen: w.now}}
		}
	}
	for name, c := range map[string]struct {
		exit  *fleet.Exit
		world func(*world, *ledger)
		ender fleet.Ender
		state fleet.AgentState
		says  string
	}{
		"SIGHUP":                             {exit: killed(1), ender: fleet.EnderUnknown, state: fleet.StateCrashed, says: "not known who"},
		"SIGINT":                             {exit: killed(2), ender: fleet.EnderUnknown, state: fleet.StateCrashed, says: "not known who"},
		"SIGINT, as the CLI tells it":        {exit: exited(130), ender: fleet.EnderUnknown, state: fleet.StateCrashed, says: "not known who"},
		"SIGTERM":                            {exit: killed(15), ender: fleet.EnderMachinery, state: fleet.StateCrashed, says: "not known who"},
		"SIGKILL":                            {exit: killed(9), ender: fleet.EnderMachinery, state: fleet.StateCrashed},
		"its exit command":                   {exit: exited(0), world: told("prompt_input_exit"), ender: fleet.EnderPerson, state: fleet.StateStopped, says: "exit command"},
		"a logout":                           {exit: exited(0), world: told("logout"), ender: fleet.EnderPerson, state: fleet.StateStopped},
		"a farewell that tells nothing":      {exit: exited(143), world: told("other"), ender: fleet.EnderMachinery, state: fleet.StateCrashed},
		"a farewell, and then a signal":      {exit: killed(15), world: told("prompt_input_exit"), ender: fleet.EnderMachinery, state: fleet.StateCrashed},
		"an end by itself":                   {exit: exited(0), ender: fleet.EnderUnknown, state: fleet.StateFinished},
		"Ctrl-C by somebody who looks":       {exit: exited(130), world: typed(time.Second), ender: fleet.EnderPerson, state: fleet.StateStopped, says: "keys at its terminal"},
		"Ctrl-D by somebody who looks":       {exit: exited(0), world: typed(time.Second), ender: fleet.EnderPerson, state: fleet.StateStopped},
		"somebody looks, and typed long ago": {exit: exited(130), world: typed(time.Minute), ender: fleet.EnderUnknown, state: fleet.StateCrashed},
		"killed while somebody typed":        {exit: killed(9), world: typed(time.Second), ender: fleet.EnderMachinery, state: fleet.StateCrashed},
		"an error while somebody typed":      {exit: exited(1), world: typed(time.Second), ender: fleet.EnderUnknown, state: fleet.StateCrashed},
		"its child's farewell": {exit: exited(0), world: func(w *world, b *ledger) {
			told("prompt_input_exit")(w, b)
			b.events[0].Process = id(77)
		}, ender: fleet.EnderUnknown, state: fleet.StateFinished},
		"a farewell of long ago": {exit: exited(0), world: func(w *world, b *ledger) {
			told("prompt_input_exit")(w, b)
			b.events[0].At = w.now.Add(-time.Hour)
		}, ender: fleet.EnderUnknown, state: fleet.StateFinished},
		"an order, carried out by its exit command": {exit: exited(0), world: func(w *world, b *ledger) {
			told("prompt_input_exit")(w, b)
			b.regs[0].Exit = &fleet.Exit{Instance: "i-a", Process: id(10), Status: fleet.Known(0), Source: "shim", Asked: fleet.ByCustos}
		}, ender: fleet.EnderMachinery, state: fleet.StateStopped, says: "@custos asked"},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			reg := b.reg("a", 10)
			x := *c.exit
			x.At, x.Instance, x.Process = w.now, reg.Instance, reg.Process
			b.exits[reg.Instance] = &x
			if c.world != nil {
				c.world(w, b)
			}
			p := w.probe(t, b.options)
			for _, look := range []string{"first", "next"} { // and from the record, for good
				a := see(t, p)["a"]
				if a.Exit == nil || a.Exit.Ender() != c.ender || a.State != c.state || !strings.Contains(a.Reason, c.says) {
					t.Fatalf("%s look: %s (%s), exit %+v; want %s by %s", look, a.State, a.Reason, a.Exit, c.state, c.ender)
				}
				if look == "first" {
					*reg = registry.Observed(*reg, a)
					w.panes, b.events = nil, nil
					delete(b.exits, reg.Instance)
				}
			}
		})
	}
}

// Codex gives one reason for every end, and tells of those at its prompt alone: by /quit,
// Ctrl-C and Ctrl-D, and neither by a signal nor by a terminal that is closed (0.169.0). It
// ends seconds later, and the next Ctrl-C is a signal then. One that answers a prompt and
// ends by itself tells the same.
func TestAFarewellOfCodexIsThatOfAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		exit  *fleet.Exit
		where fleet.Where
		state fleet.AgentState
	}{
		"/quit":                      {exited(0), fleet.WhereTmux, fleet.StateStopped},
		"Ctrl-C, and another":        {killed(2), fleet.WhereTmux, fleet.StateStopped},
		"killed while it ends":       {killed(9), fleet.WhereTmux, fleet.StateCrashed},
		"its terminal was closed":    {hungUp(exited(0)), fleet.WhereTmux, fleet.StateCrashed},
		"it has answered its prompt": {exited(0), fleet.WhereHeadless, fleet.StateFinished},
	} {
		w, b := newWorld(), newLedger()
		reg := b.reg("a", 10)
		reg.Kind, reg.Where = "codex", c.where
		x := *c.exit
		x.At, x.Instance, x.Process = w.now, reg.Instance, reg.Process
		b.exits[reg.Instance] = &x
		b.events = append(b.events, fleet.HookEvent{ID: "e", At: w.now.Add(-time.Second), Instance: "i-a", Process: id(10), Kind: "codex", Event: fleet.HookSessionEnd, Text: "other"})
		if a := see(t, w.probe(t, b.options))["a"]; a.State != c.state {
			t.Errorf("%s: %s (%s), want %s", name, a.State, a.Reason, c.state)
		}
	}
}

// What calls the hooks of Codex is the program below its launcher: its farewell is that of the
// agent. That of another agent, which it started through a shell, is not.
func TestAFarewellFromBelowALauncher(t *testing.T) {
	for told, want := range map[int]fleet.AgentState{10: fleet.StateStopped, 11: fleet.StateStopped, 13: fleet.StateCrashed, 14: fleet.StateCrashed, 77: fleet.StateCrashed} {
		w, b := newWorld(), newLedger()
		reg := b.reg("a", 10)
		reg.Kind, reg.Where = "codex", fleet.WhereTmux
		w.proc(10, 9, "node", "/x/@openai/codex/bin/codex.js")
		w.proc(11, 10, "codex")
		w.proc(12, 11, "bash", "-c", "codex exec x")
		w.proc(13, 12, "node", "/x/@openai/codex/bin/codex.js", "exec", "x")
		w.proc(14, 13, "codex", "exec", "x")
		p := w.probe(t, b.options)
		if a := see(t, p)["a"]; a.Process != id(10) || len(a.Procs) != 5 {
			t.Fatalf("it is %+v", a)
		}
		w.procs = nil
		x := *killed(2)
		x.At, x.Instance, x.Process = w.now, reg.Instance, reg.Process
		b.exits[reg.Instance] = &x
		b.events = append(b.events, fleet.HookEvent{ID: "e", At: w.now.Add(-time.Second), Instance: "i-a", Process: id(told), Kind: "codex", Event: fleet.HookSessionEnd, Text: "other"})
		if a := see(t, p)["a"]; a.State != want {
			t.Errorf("told by process %d: %s (%s), want %s", told, a.State, a.Reason, want)
		}
	}
}

// Who ends by itself before it has taken what it was started for has not done it,
// whatever its status: it has crashed, now and from the record. What is not known of
// its prompt makes nobody crash, and who was ended by somebody is not asked.
func TestAnEndBeforeItsPromptIsNotDone(t *testing.T) {
	start, turn, end := fleet.HookSessionStart, fleet.HookToolBegin, fleet.HookSessionEnd
	for name, c := range map[string]struct {
		state fleet.Delivery
		told  []fleet.HookName
		quit  bool
		want  fleet.AgentState
	}{
		"it was never given":                   {state: fleet.DeliveryPending, want: fleet.StateCrashed},
		"it could not be given":                {state: fleet.DeliveryUndelivered, want: fleet.StateCrashed},
		"it started, and took nothing":         {state: fleet.DeliverySent, told: []fleet.HookName{start, end}, want: fleet.StateCrashed},
		"it may have told more":                {state: fleet.DeliverySent, told: []fleet.HookName{start}, want: fleet.StateFinished},
		"its start was not heard":              {state: fleet.DeliverySent, told: []fleet.HookName{fleet.HookBeat, end}, want: fleet.StateFinished},
		"it began a turn":                      {state: fleet.DeliverySent, told: []fleet.HookName{start, turn, end}, want: fleet.StateFinished},
		"it was told by somebody else":         {state: fleet.DeliveryUndelivered, told: []fleet.HookName{turn}, want: fleet.StateFinished},
		"it told nothing":                      {state: fleet.DeliverySent, want: fleet.StateFinished},
		"it had nothing to do":                 {told: []fleet.HookName{start}, want: fleet.StateFinished},
		"a person ended it before it was told": {state: fleet.DeliveryPending, quit: true, want: fleet.StateStopped},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			reg := b.reg("a", 10)
			if reg.PromptState = c.state; c.state != "" {
				reg.Prompt = "mend the tests"
			}
			for _, n := range c.told {
				b.events = append(b.events, fleet.HookEvent{ID: string(n), At: w.now.Add(-time.Second), Instance: reg.Instance, Process: id(10), Kind: "claude", Event: n})
			}
			if c.quit {
				b.events = append(b.events, fleet.HookEvent{ID: "e", At: w.now, Instance: reg.Instance, Process: id(10), Kind: "claude", Event: fleet.HookSessionEnd, Text: "prompt_input_exit"})
			}
			x := *exited(0)
			x.At, x.Instance, x.Process = w.now, reg.Instance, reg.Process
			b.exits[reg.Instance] = &x
			p := w.probe(t, b.options)
			for _, look := range []string{"first", "next"} {
				a := see(t, p)["a"]
				if crashed := c.want == fleet.StateCrashed; a.State != c.want || a.Exit.Failed() != crashed || crashed != strings.Contains(a.Reason, "too early") {
					t.Fatalf("%s look: %s (%s), exit %+v; want %s", look, a.State, a.Reason, a.Exit, c.want)
				}
				*reg = registry.Observed(*reg, a)
				b.events = nil
				w.pass(2 * toldWithin)
			}
			if (len(reg.Deaths) > 0) != (c.want == fleet.StateCrashed) {
				t.Errorf("deaths %v", reg.Deaths)
			}
		})
	}
}

// What ends with its terminal server is told so: whether its server was seen to end
// first or last, or nobody was there to see it; and nothing else is.
func TestWhatEndsWithItsTerminalServer(t *testing.T) {
	server, other := id(2), id(3)
	for name, c := range map[string]struct {
		seen  bool // the server's end was seen
		after time.Duration
		exit  *fleet.Exit
		lives bool
		with  bool
	}{
		"hung up":                     {seen: true, exit: killed(1), with: true},
		"well":                        {seen: true, exit: exited(0), with: true},
		"long before":                 {seen: true, after: time.Hour, exit: killed(1)},
		"nobody saw it, hung up":      {exit: killed(1), with: true},
		"nobody saw it, and hangs up": {exit: exited(129), with: true},
		"nobody saw it, and leaves":   {exit: hungUp(exited(0)), with: true},
		"nobody saw it, and is done":  {exit: exited(0)},
		"nobody saw it, killed":       {exit: killed(9)},
		"the server lives":            {exit: killed(1), lives: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(), newLedger()
			reg := b.reg("a", 10)
			pane := fleet.PaneID{Socket: "/s", Server: server, Pane: "%1", Root: id(9)}
			w.records = []fleet.AgentRecord{{Name: "a", Kind: "claude", Process: id(10), Pane: &pane, LastSeen: w.now}}
			w.proc(3, 1, "tmux")
			x := *c.exit
			x.At, x.Instance, x.Process = w.now, reg.Instance, reg.Process
			b.exits[reg.Instance] = &x
			p := w.probe(t, b.options)
			if c.lives {
				w.proc(2, 1, "tmux")
			}
			if c.seen {
				p.Died(fleet.Exit{Process: server, At: w.now.Add(c.after)})
			}
			p.Died(fleet.Exit{Process: other, At: w.now})
			w.pass(2 * c.after)
			a := see(t, p)["a"]
			if got := a.Exit.Server != ""; got != c.with || c.with && (a.State != fleet.StateCrashed || !a.Exit.Failed() || a.Exit.Ender() != fleet.EnderMachinery) {
				t.Errorf("%s (%s), exit %+v", a.State, a.Reason, a.Exit)
			}
		})
	}
}

// The end of a server joins the ends that were told before its own, and only those
// of what ran in it.
func TestAServersDeathJoinsThoseInIt(t *testing.T) {
	w := newWorld()
	in := func(name string, server int, exit *fleet.Exit, ago time.Duration) fleet.Agent {
		a := fleet.Agent{Name: name, Registered: true, Desired: fleet.DesiredRunning, State: fleet.StateCrashed,
			Pane: &fleet.Pane{ID: fleet.PaneID{Socket: "/s", Server: id(server)}}}
		if exit != nil {
			x := *exit
			x.At = w.now.Add(-ago)
			a.Exit = &x
		}
		return a
	}
	asked := killed(1)
	asked.Asked = "ann"
	before := []fleet.Agent{in("hung-up", 2, killed(1), time.Second), in("elsewhere", 3, killed(1), time.Second), in("earlier", 2, killed(9), time.Hour),
		in("asked", 2, asked, time.Second), in("alive", 2, nil, 0)}
	shown := fmt.Sprint(before)
	after := WithServerDeath(before, fleet.Exit{Process: id(2), At: w.now}, "/s", w.now)
	for _, a := range after {
		if with := a.Exit != nil && a.Exit.Server == "/s"; with != (a.Name == "hung-up") {
			t.Errorf("%s: exit %+v", a.Name, a.Exit)
		}
	}
	if a := after[0]; a.State != fleet.StateCrashed || !strings.Contains(a.Reason, "terminal server /s went") {
		t.Errorf("%s (%s)", a.State, a.Reason)
	}
	if now := fmt.Sprint(before); now != shown {
		t.Errorf("it changed what it was given:\n%s\n%s", shown, now)
	}
}

// An end that a person may have brought about in this moment is not told as a
// crash before it was looked at; where nobody looks, it is told at once.
func TestAnEndThatMayBeAPersonsIsLookedAtFirst(t *testing.T) {
	w := newWorld()
	for name, c := range map[string]struct {
		attached int
		restart  fleet.Restart
		exit     *fleet.Exit
		state    fleet.AgentState
	}{
		"Ctrl-C, somebody looks":         {1, fleet.RestartOnFailure, exited(130), fleet.StateUnknown},
		"the pane is closed, they look":  {1, fleet.RestartOnFailure, killed(1), fleet.StateUnknown},
		"SIGINT, nobody looks":           {0, fleet.RestartOnFailure, killed(2), fleet.StateUnknown}, // its hooks may have told that a person ended it
		"SIGHUP, nobody looks":           {0, fleet.RestartOnFailure, killed(1), fleet.StateCrashed},
		"SIGTERM, somebody looks":        {1, fleet.RestartOnFailure, killed(15), fleet.StateCrashed},
		"it failed, somebody looks":      {1, fleet.RestartOnFailure, exited(1), fleet.StateCrashed},
		"/exit, where it is to run on":   {0, fleet.RestartAlways, exited(0), fleet.StateUnknown},
		"by itself, and nothing follows": {0, fleet.RestartOnFailure, exited(0), fleet.StateFinished},
	} {
		x := *c.exit
		x.At, x.Process = w.now, id(10)
		a := WithDeath([]fleet.Agent{{Name: "a", Registered: true, Desired: fleet.DesiredRunning, Restart: c.restart, Attached: c.attached, Process: id(10)}}, x, w.now)[0]
		if a.State != c.state || a.Unsettled() != (c.state == fleet.StateUnknown) {
			t.Errorf("%s: %s (%s), want %s", name, a.State, a.Reason, c.state)
		}
		if noted := registry.Observed(fleet.Registration{Process: id(10)}, a); (noted.Exit == nil) != a.Unsettled() {
			t.Errorf("%s: the record is %+v", name, noted.Exit)
		}
	}
}

func hungUp(x *fleet.Exit) *fleet.Exit {
	x.Hangup = true
	return x
}
