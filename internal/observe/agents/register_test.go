package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/decide/follow/registry"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
)

// ledger is what a world remembers of agents.
type ledger struct {
	regs   []fleet.Registration
	events []fleet.HookEvent
	exits  map[string]*fleet.Exit
	marks  map[int]string
	deaf   error
}

func newLedger() *ledger { return &ledger{exits: map[string]*fleet.Exit{}, marks: map[int]string{}} }

func (b *ledger) options(o *Options) {
	o.Registered = func(context.Context) ([]fleet.Registration, error) { return b.regs, nil }
	o.Hooks = func(context.Context) ([]fleet.HookEvent, error) { return b.events, b.deaf }
	o.Exits = func(instance string) *fleet.Exit { return b.exits[instance] }
	o.Marker = func(pid int) (string, bool) { m, ok := b.marks[pid]; return m, ok }
}

// reg registers an agent of ours that runs as a process; 0 for none.
func (b *ledger) reg(name string, pid int) *fleet.Registration {
	r := fleet.Registration{Name: name, Kind: "claude", Owner: fleet.OwnerCustos, Where: fleet.WhereTmux, Desired: fleet.DesiredRunning,
		Instance: "i-" + name, Dir: "/work/a", Role: "coder"}
	if pid != 0 {
		r.Process = id(pid)
		b.marks[pid] = name + ":" + r.Instance
	}
	b.regs = append(b.regs, r)
	return &b.regs[len(b.regs)-1]
}

func exited(status int) *fleet.Exit {
	return &fleet.Exit{Status: fleet.Known(status), Signal: fleet.Unknown[int]("no"), Source: "shim"}
}

func killed(signal int) *fleet.Exit {
	return &fleet.Exit{Status: fleet.Unknown[int]("no"), Signal: fleet.Known(signal), Source: "shim"}
}

// The worktree of an agent is where git has it, past all links, where that was told when it
// was started last.
func TestTheWorktreeOfAnAgentIsWhereItsFolderLed(t *testing.T) {
	w, b := newWorld(), newLedger()
	for name, c := range map[string][2]string{"linked": {"/link/x", "/w/x"}, "plain": {"/w/y", "/w/y"}, "old": {"/w/z", ""}, "folder": {"", "/w"}} {
		r := b.reg(name, 0)
		r.Worktree, r.Real = c[0], c[1]
	}
	found := see(t, w.probe(t, b.options))
	for name, want := range map[string]string{"linked": "/w/x", "plain": "/w/y", "old": "/w/z", "folder": ""} {
		if got := found[name].Worktree; got != want {
			t.Errorf("%s works in worktree %q, want %q", name, got, want)
		}
	}
}

// Every registered agent is there, whether it runs, has ended, or never began.
func TestEveryRegistrationAppears(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("alive", 10).Task = "t1"
	b.reg("crashed", 20)
	b.exits["i-crashed"] = killed(9)
	b.reg("finished", 21)
	b.exits["i-finished"] = exited(0)
	b.reg("silent", 22) // nothing tells how it ended
	b.reg("never", 0).Instance = ""
	b.reg("launched", 0)
	x := b.reg("parked", 0)
	x.Instance, x.Desired = "", fleet.DesiredStopped
	x = b.reg("stopped", 23)
	x.Desired, b.exits["i-stopped"] = fleet.DesiredStopped, killed(9)
	x = b.reg("asked", 24)
	x.Exit = killed(9)
	x.Exit.Instance, x.Exit.Asked = x.Instance, "anna"
	x = b.reg("older", 25) // only its last instance ended
	x.Exit = exited(0)
	x.Exit.Instance = "i-before"
	x = b.reg("rebooted", 26)
	x.Process.Boot = "a"
	x = b.reg("retired", 27)
	x.Desired = fleet.DesiredRetired
	delete(b.marks, 26)
	w.proc(26, 1, "claude").CWD = fleet.Known("/work/other") // has pid and start of the one before the reboot
	w.proc(28, 1, "vim")
	b.reg("reused", 28).Process.Start-- // the pid belongs to another program
	found := see(t, w.probe(t, b.options))
	for name, want := range map[string]fleet.AgentState{"alive": fleet.StateUnknown, "crashed": fleet.StateCrashed, "finished": fleet.StateFinished,
		"silent": fleet.StateUnknown, "never": fleet.StateStarting, "launched": fleet.StateStarting, "parked": fleet.StateStopped, "stopped": fleet.StateStopped,
		"asked": fleet.StateStopped, "older": fleet.StateUnknown, "rebooted": fleet.StateStopped, "reused": fleet.StateUnknown} {
		a := found[name]
		if a.State != want || !a.Registered || a.Owner != fleet.OwnerCustos || a.Role != "coder" || a.Reason == "" || a.Source == "" {
			t.Errorf("%s: %s by %s (%s), registered %t, owner %s; want %s", name, a.State, a.Source, a.Reason, a.Registered, a.Owner, want)
		}
		if (a.Process.PID != 0) != (name == "alive") {
			t.Errorf("%s is process %d", name, a.Process.PID)
		}
	}
	if a := found["crashed"]; a.Exit == nil || a.ExitSignal.Or(0) != 9 || a.Exit.Instance != "i-crashed" {
		t.Errorf("crashed: exit %+v", a.Exit)
	}
	if a := found["rebooted"]; a.Exit == nil || a.Exit.Source != agent.ExitReboot {
		t.Errorf("rebooted: exit %+v", a.Exit)
	}
	if a := found["alive"]; a.Task != "t1" || a.Instance != "i-alive" || a.Conflict != "" {
		t.Errorf("alive: %+v", a)
	}
	if _, ok := found["retired"]; ok || len(found) != 13 {
		t.Errorf("%d agents: %v", len(found), found)
	}
	if a := found["claude@other"]; a.Registered || a.Owner != fleet.OwnerForeign {
		t.Errorf("what has pid and start of a process before the reboot is ours: %+v", a)
	}
}

// The marker finds an agent whose process was never recorded; what inherits it
// is not the agent; and a marker of another Custos makes nothing ours.
func TestMarkers(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("one", 0)
	b.marks[10] = "one:i-one"
	w.proc(11, 10, "bash", "-c", "claude -p x")
	w.proc(12, 11, "claude", "-p", "x")
	b.marks[12] = "one:i-one"
	w.proc(20, 1, "claude").CWD = fleet.Known("/work/foreign")
	b.marks[20] = "one:of-another-custos"
	w.proc(30, 1, "claude").CWD = fleet.Known("/work/leftover")
	b.marks[30] = "gone:i-gone"
	b.exits["i-gone"] = exited(0)
	w.proc(40, 1, "custos-shim", "--dir", "/state/run/agents/i-hidden", "--", "claude")
	w.proc(41, 40, "claude").CWD = fleet.Known("/work/hidden")
	b.reg("hidden", 0)
	found := see(t, w.probe(t, b.options))
	for name, c := range map[string]struct {
		pid    int
		owner  fleet.Owner
		reg    bool
		orphan bool
	}{
		"one": {10, fleet.OwnerCustos, true, false}, "claude@a": {12, fleet.OwnerCustos, false, false},
		"claude@foreign":  {20, fleet.OwnerForeign, false, true},
		"claude@leftover": {30, fleet.OwnerCustos, false, true},
		"hidden":          {41, fleet.OwnerCustos, true, false},
	} {
		a := found[name]
		if a.Process.PID != c.pid || a.Owner != c.owner || a.Registered != c.reg || a.Orphan != c.orphan {
			t.Errorf("%s: process %d, owner %s, registered %t, orphan %t; want %+v", name, a.Process.PID, a.Owner, a.Registered, a.Orphan, c)
		}
	}
	if len(found) != 5 {
		t.Errorf("%d agents: %v", len(found), found)
	}
}

func TestOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		want   bool
	}{
		"without anybody":     {func(*world) {}, true},
		"with a terminal":     {func(w *world) { w.procs[0].TTY = "pts/1" }, false},
		"of a living script":  {func(w *world) { w.procs[0].PPID = 5; w.proc(5, 1, "cron") }, false},
		"of a lost parent":    {func(w *world) { w.procs[0].PPID = 5 }, true},
		"in a pane":           {func(w *world) { w.pane("x", 10) }, false},
		"taken in by systemd": {func(w *world) { w.procs[0].PPID = 5; w.proc(5, 1, "systemd", "--user") }, true},
	} {
		w := newWorld()
		w.proc(10, 1, "claude", "-p", "x")
		c.change(w)
		for _, a := range see(t, w.probe(t, nil)) {
			if a.Orphan != c.want {
				t.Errorf("%s: orphan %t", name, a.Orphan)
			}
		}
	}
}

// What is observed wins over what is recorded, and the disagreement is told.
func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world, *ledger)
		want   string
	}{
		"none":                {func(*world, *ledger) {}, ""},
		"recorded as ended":   {func(_ *world, b *ledger) { b.regs[0].Exit = exited(3); b.regs[0].Exit.Instance = "i-one" }, "exit status 3"},
		"its shim says ended": {func(_ *world, b *ledger) { b.exits["i-one"] = killed(9) }, "signal 9"},
		"its shim says ended just now": {func(w *world, b *ledger) { // the process table may be older than that
			b.exits["i-one"] = killed(9)
			b.exits["i-one"].At = w.now.Add(-4 * time.Second)
		}, ""},
		"its shim said ended a while ago": {func(w *world, b *ledger) {
			b.exits["i-one"] = killed(9)
			b.exits["i-one"].At = w.now.Add(-6 * time.Second)
		}, "signal 9"},
		"an older instance ended": {func(_ *world, b *ledger) { b.regs[0].Exit = exited(3); b.regs[0].Exit.Instance = "i-zero" }, ""},
		"recorded as a zombie": {func(w *world, _ *ledger) {
			w.records = []fleet.AgentRecord{{Name: "one", Process: id(10), State: fleet.StateZombie}}
		}, "the record says zombie"},
		"another process": {func(_ *world, b *ledger) { b.regs[0].Process = id(99) }, "process 99, which is gone"},
		"two with its marker": {func(w *world, b *ledger) {
			b.regs[0].Process = fleet.ProcessID{}
			w.proc(11, 1, "claude")
			b.marks[11] = "one:i-one"
		}, "10 and 11 both"},
		"was to be stopped":          {func(w *world, b *ledger) { stop(w, b, 3*time.Minute) }, "it was to be stopped"},
		"was to be stopped just now": {func(w *world, b *ledger) { stop(w, b, time.Minute) }, ""},
	} {
		w, b := newWorld(), newLedger()
		w.proc(10, 1, "claude")
		b.reg("one", 10)
		c.change(w, b)
		a := see(t, w.probe(t, b.options))["one"]
		if a.Process.PID != 10 || a.State == fleet.StateZombie || a.State == fleet.StateCrashed {
			t.Errorf("%s: a living agent is %s as process %d", name, a.State, a.Process.PID)
		}
		if c.want == "" && a.Conflict != "" || !strings.Contains(a.Conflict, c.want) {
			t.Errorf("%s: conflict %q, want %q", name, a.Conflict, c.want)
		}
	}
}

func stop(w *world, b *ledger, ago time.Duration) {
	b.regs[0].Desired, b.regs[0].DesiredAt = fleet.DesiredStopped, w.now.Add(-ago)
}

// An adopted agent is its process; or the next one in its session and folder.
func TestAdopted(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	w.pane("work", 10)
	w.proc(20, 1, "claude").CWD = fleet.Known("/work/b")
	w.pane("other", 20)
	for _, name := range []string{"work", "mine", "elsewhere"} {
		r := b.reg(name, 0)
		r.Owner, r.Instance = fleet.OwnerAdopted, ""
	}
	b.regs[0].Process = id(9)
	b.regs[1].Process = id(20)
	b.regs[2].Process = id(21)
	found := see(t, w.probe(t, b.options))
	if a := found["work"]; a.Process.PID != 10 || a.Owner != fleet.OwnerAdopted || a.Conflict != "" {
		t.Errorf("work: %+v", a)
	}
	if a := found["mine"]; a.Process.PID != 20 || a.Owner != fleet.OwnerAdopted {
		t.Errorf("mine: %+v", a)
	}
	if a := found["elsewhere"]; a.Process.PID != 0 || a.State != fleet.StateUnknown {
		t.Errorf("elsewhere: %+v", a)
	}
	b.regs[0].Dir = "/work/c" // somebody else's agent is in that session now
	if a := see(t, w.probe(t, b.options))["work"]; a.Process.PID != 0 {
		t.Errorf("an agent in another folder was taken for an adopted one: %+v", a)
	}
}

// A registered program that is no agent CLI is followed by its process; the
// shell that is left of one is not.
func TestRegisteredStrangers(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "my-agent", "--now")
	w.proc(11, 10, "node", "x")
	b.reg("own", 10).Kind = "mine"
	w.proc(20, 1, "npm", "exec", "x")
	w.proc(21, 20, "claude")
	delete(b.marks, 20)
	b.reg("wrapped", 20)
	w.proc(30, 1, "bash")
	pane := w.pane("left", 30)
	b.reg("left", 30)
	w.records = []fleet.AgentRecord{{Name: "left", Kind: "claude", Process: id(30), Pane: &pane.ID, Owner: fleet.OwnerCustos}}
	found := see(t, w.probe(t, b.options))
	if a := found["own"]; a.Process.PID != 10 || len(a.Procs) != 2 || a.Kind != "mine" || a.Owner != fleet.OwnerCustos {
		t.Errorf("own: %+v", a)
	}
	if a := found["wrapped"]; a.Process.PID != 21 || a.Conflict != "" {
		t.Errorf("wrapped: %+v", a)
	}
	if a := found["left"]; a.State != fleet.StateZombie || a.Process.PID != 0 || !a.Registered {
		t.Errorf("left: %s (%s)", a.State, a.Reason)
	}
	if len(found) != 3 {
		t.Errorf("%d agents: %v", len(found), found)
	}
}

// A registered name is not given to another agent, and one name is one agent.
func TestRegisteredNamesAreKept(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	w.pane("work", 10) // foreign, and would be called so
	b.reg("work", 20)
	w.proc(30, 1, "claude").CWD = fleet.Known("/work/b")
	b.reg("other", 30)
	w.records = []fleet.AgentRecord{{Name: "work", Kind: "claude", Process: id(19), Pane: &w.panes[0].ID}}
	found := see(t, w.probe(t, b.options))
	if a := found["work"]; !a.Registered || a.Process.PID != 0 {
		t.Errorf("work: %+v", a)
	}
	if a := found["work#2"]; a.Process.PID != 10 {
		t.Errorf("the foreign one: %+v", found)
	}
}

func hook(w *world, instance string, ago time.Duration, name fleet.HookName, tool, call string) fleet.HookEvent {
	return fleet.HookEvent{ID: fmt.Sprint(instance, ago, name, call), At: w.now.Add(-ago), Instance: instance, Event: name, Tool: tool, CallID: call,
		Context: fleet.Unknown[float64]("not told")}
}

func TestHooksOfAgents(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("one", 10)
	w.proc(11, 10, "bash", "-c", "claude -p x")
	w.proc(12, 11, "claude", "-p", "x")
	b.marks[12] = "one:i-one"
	w.proc(20, 1, "claude").CWD = fleet.Known("/work/b")
	nested := hook(w, "i-one", time.Second, fleet.HookStop, "", "")
	nested.Process = id(12) // it inherited the marker
	old := hook(w, "i-zero", time.Second, fleet.HookStop, "", "")
	alone := hook(w, "", time.Minute, fleet.HookStop, "", "")
	alone.Process = id(20)
	alone.Process.Boot = ""
	begin := hook(w, "i-one", 5*time.Minute, fleet.HookToolBegin, "Bash", "1")
	begin.Context = fleet.Known(91.0)
	b.events = []fleet.HookEvent{nested, old, alone, begin, begin, hook(w, "i-one", 6*time.Minute, fleet.HookPrompt, "", "")}
	p := w.probe(t, b.options)
	found := see(t, p)
	if a := found["one"]; a.State != fleet.StateWorking || a.Source != agent.SourceHook || a.Tool == nil || a.Tool.Name != "Bash" ||
		time.Duration(a.Tool.Age) != 5*time.Minute || a.ContextPercent.Or(0) != 91 || time.Duration(a.Dwell.Or(0)) != 6*time.Minute {
		t.Errorf("one: %s by %s, tool %+v, context %v, for %v", a.State, a.Source, a.Tool, a.ContextPercent, a.Dwell)
	}
	if a := found["claude@b"]; a.State != fleet.StateIdle || a.Source != agent.SourceHook {
		t.Errorf("without a marker: %s by %s", a.State, a.Source)
	}
	b.deaf = errors.New("disk full")
	put, err := p.Look(t.Context())
	if put == nil || err == nil {
		t.Errorf("hooks that cannot be read: %v", err)
	}
}

// Silence makes an agent that is to be at work stuck: after the dwell, seen
// twice, and with no tool that has time left.
func TestStuck(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude", "-p", "x")
	b.reg("one", 10)
	b.events = []fleet.HookEvent{hook(w, "i-one", 0, fleet.HookPrompt, "", "")}
	p := w.probe(t, b.options)
	state := func(d time.Duration) fleet.AgentState {
		w.pass(d)
		return see(t, p)["one"].State
	}
	for _, c := range []struct {
		after time.Duration
		want  fleet.AgentState
	}{{0, fleet.StateWorking}, {14 * time.Minute, fleet.StateWorking}, {2 * time.Minute, fleet.StateWorking}, {9 * time.Second, fleet.StateWorking}, {time.Second, fleet.StateStuck}} {
		if got := state(c.after); got != c.want {
			t.Fatalf("%s later: %s, want %s", c.after, got, c.want)
		}
	}
	w.procs[0].CPUTime += fleet.Duration(10 * time.Second)
	if got := state(time.Second); got != fleet.StateWorking {
		t.Errorf("it moved, and is %s", got)
	}
	b.events = append(b.events, hook(w, "i-one", 0, fleet.HookToolBegin, "Bash", "1"))
	state(29 * time.Minute)
	if got := state(30 * time.Second); got != fleet.StateWorking {
		t.Errorf("with a tool in flight for 29 minutes: %s", got)
	}
	state(time.Minute)
	if got := state(10 * time.Second); got != fleet.StateStuck {
		t.Errorf("with a tool in flight for 30 minutes: %s", got)
	}
}

// A one-shot patrol compares with the record of the one before it.
func TestStuckByPatrolsAlone(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude", "-p", "x")
	b.reg("one", 10)
	b.events = []fleet.HookEvent{hook(w, "i-one", time.Hour, fleet.HookPrompt, "", "")}
	patrol := func() fleet.Agent { // each is a Custos of its own
		a := see(t, w.probe(t, b.options))["one"]
		cycles := a.Cycles
		if a.Progress == fleet.ProgressNone {
			cycles++
		}
		w.records = []fleet.AgentRecord{{Name: "one", Process: a.Process, State: a.State, CPUTime: a.CPUTime.Or(0), LastSeen: w.now,
			Moved: w.now.Add(-time.Duration(a.Still)), Cycles: cycles}}
		w.pass(20 * time.Minute)
		return a
	}
	if a := patrol(); a.Progress != fleet.ProgressUnknown || a.State != fleet.StateWorking {
		t.Errorf("first patrol: %s, progress %s", a.State, a.Progress)
	}
	if a := patrol(); a.Progress != fleet.ProgressNone || a.State != fleet.StateWorking || time.Duration(a.Quiet.Or(0)) != 20*time.Minute {
		t.Errorf("second patrol: %s, progress %s after %v", a.State, a.Progress, a.Quiet)
	}
	if a := patrol(); a.State != fleet.StateStuck || a.Cycles != 1 || time.Duration(a.Quiet.Or(0)) != 40*time.Minute {
		t.Errorf("third patrol: %s after %v, %d cycles", a.State, a.Quiet, a.Cycles)
	}
	w.procs[0].CPUTime += fleet.Duration(time.Minute)
	if a := patrol(); a.Progress != fleet.ProgressSome || a.State != fleet.StateWorking || a.Cycles != 0 {
		t.Errorf("it moved: %s, progress %s, %d cycles", a.State, a.Progress, a.Cycles)
	}
	w.procs[0].ID.Start++ // another process
	b.regs[0].Process = w.procs[0].ID
	if a := patrol(); a.Progress == fleet.ProgressNone {
		t.Error("a new process was judged by the record of another")
	}
}

// While the machine is suspended nothing moves, and nobody is to blame.
func TestSuspendIsNoSilence(t *testing.T) {
	w, b := newWorld(), newLedger()
	awake := time.Duration(0)
	w.proc(10, 1, "claude", "-p", "x")
	b.reg("one", 10)
	b.events = []fleet.HookEvent{hook(w, "i-one", 0, fleet.HookPrompt, "", "")}
	p := w.probe(t, func(o *Options) { b.options(o); o.Awake = func() time.Duration { return awake } })
	look := func(d time.Duration) fleet.Agent {
		w.pass(d)
		awake += d
		return see(t, p)["one"]
	}
	look(0)
	w.procs[0].CPUTime += fleet.Duration(time.Minute)
	look(time.Minute)
	w.pass(8 * time.Hour) // asleep
	for range 3 {
		if a := look(20 * time.Second); a.State != fleet.StateWorking || a.Progress == fleet.ProgressNone {
			t.Fatalf("after eight hours of sleep: %s, progress %s, quiet for %v", a.State, a.Progress, a.Quiet)
		}
	}
	look(15 * time.Minute)
	if a := look(20 * time.Second); a.State != fleet.StateStuck {
		t.Errorf("after a dwell awake: %s", a.State)
	}
}

// The overlay of a death and the next look say the same.
func TestWithDeathAgreesWithTheNextLook(t *testing.T) {
	for name, ours := range map[string]bool{"registered": true, "foreign": false} {
		for _, x := range []*fleet.Exit{killed(9), exited(0), exited(3), {Source: "none", Status: fleet.Unknown[int]("lost"), Signal: fleet.Unknown[int]("lost")}} {
			w, b := newWorld(), newLedger()
			w.proc(10, 1, "claude")
			w.pane("one", 10)
			w.proc(20, 1, "claude").CWD = fleet.Known("/work/b")
			if ours {
				b.reg("one", 10)
			}
			p := w.probe(t, b.options)
			before := agentsOf(t, p)
			exit := *x
			exit.Process, exit.At = id(10), w.now
			after := WithDeath(before, exit, w.now)
			if before[0].Process.PID != 10 || after[0].Process.PID != 0 || after[1].Process.PID != 20 || after[0].Name != "one" {
				t.Fatalf("%s: %+v", name, after)
			}
			p.Died(exit)
			w.panes = nil // closed with it; the table still shows it
			w.pass(time.Second)
			next := see(t, p)["one"]
			if next.State != after[0].State || next.Reason != after[0].Reason || next.ExitStatus != after[0].ExitStatus || next.ExitSignal != after[0].ExitSignal ||
				next.Process.PID != 0 || next.Registered != ours || next.Exit == nil || next.Owner != after[0].Owner {
				t.Errorf("%s: the next look says %s (%s), the overlay %s (%s)", name, next.State, next.Reason, after[0].State, after[0].Reason)
			}
			if again := WithDeath(after, exit, w.now); again[0].State != after[0].State || again[1].Process.PID != 20 {
				t.Errorf("%s: told twice: %+v", name, again)
			}
			w.procs = w.procs[1:]
			w.pass(time.Hour)
			if _, ok := see(t, p)["one"]; ok != ours {
				t.Errorf("%s, an hour later: shown %t", name, ok)
			}
		}
	}
}

// The newest instance with a name is what counts: a death does not hide its
// successor, nor is it shown beside it.
func TestSuccessorOfTheDead(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.pane("one", 10)
	p := w.probe(t, nil)
	see(t, p)
	x := killed(9)
	x.Process, x.At = id(10), w.now
	p.Died(*x)
	w.procs, w.panes = nil, nil
	w.proc(11, 1, "claude")
	w.pane("one", 11)
	w.pass(time.Second)
	if found := see(t, p); len(found) != 1 || found["one"].Process.PID != 11 {
		t.Errorf("%v", found)
	}
}

func agentsOf(t *testing.T, p *Probe) []fleet.Agent {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Agents.Value
}

func TestSuiteWithALedger(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	b.reg("one", 10).Checkpoint = &fleet.Checkpoint{At: w.now}
	b.reg("two", 20)
	b.exits["i-two"] = killed(9)
	b.events = []fleet.HookEvent{hook(w, "i-one", time.Minute, fleet.HookToolBegin, "Bash", "1")}
	observetest.Test(t, func() observe.Probe { return w.probe(t, b.options) })
}

func TestToolDeadlinesAreRead(t *testing.T) {
	p := newWorld().probe(t, func(o *Options) {
		o.ToolDeadline, o.ToolDeadlines, o.Every = "10m", map[string]string{"Bash": "2h"}, "30s"
	})
	if p.limits.Of("Bash") != 2*time.Hour || p.limits.Of("Read") != 10*time.Minute || p.Spec().Every != 30*time.Second {
		t.Errorf("%+v", p.limits)
	}
	good := newWorld().probe(t, nil).o
	for _, change := range []func(*Options){
		func(o *Options) { o.ToolDeadline = "soon" }, func(o *Options) { o.ToolDeadlines = map[string]string{"Bash": "1s"} }, func(o *Options) { o.Every = "1ms" },
	} {
		bad := good
		change(&bad)
		if _, err := New(bad); err == nil {
			t.Errorf("%q %v %q gave no error", bad.ToolDeadline, bad.ToolDeadlines, bad.Every)
		}
	}
}

// BenchmarkLookRegistered200 is a look at 200 agents of ours, each of which has
// told 40 events.
func BenchmarkLookRegistered200(b *testing.B) {
	w, book := newWorld(), newLedger()
	for i := range 200 {
		pid := 1000 + 4*i
		name := fmt.Sprintf("s%d", i)
		w.proc(pid, 1, "custos-shim")
		w.proc(pid+1, pid, "claude")
		w.proc(pid+2, pid+1, "node", "/x/server.js")
		pane := w.pane(name, pid)
		pane.Title = "✳ x"
		w.screens[pane.ID] = "● done\n────────────\n❯ \n────────────\n  ? for shortcuts"
		book.reg(name, pid+1)
		for j := range 20 {
			book.events = append(book.events, hook(w, "i-"+name, time.Duration(100+j)*time.Second, fleet.HookToolBegin, "Bash", fmt.Sprint(j)),
				hook(w, "i-"+name, time.Duration(100+j)*time.Second-time.Millisecond, fleet.HookToolEnd, "Bash", fmt.Sprint(j)))
		}
	}
	kinds, err := agent.Parse()
	if err != nil {
		b.Fatal(err)
	}
	o := Options{Kinds: kinds, Now: func() fleet.Instant { return w.now }, Awake: func() time.Duration { return time.Duration(w.now.Up) },
		Procs:   func(context.Context) ([]fleet.Process, error) { return w.procs, nil },
		Panes:   func(context.Context) ([]fleet.Pane, error) { return w.panes, nil },
		Screens: func(context.Context, []fleet.PaneID, int) (map[fleet.PaneID]string, error) { return w.screens, nil }}
	book.options(&o)
	p, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.pass(10 * time.Second)
		if _, err := p.Look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// What a reboot ended has stopped, whether nobody saw it or its shim still could
// tell; what was on record before has the end that was told then.
func TestWhatARebootEnded(t *testing.T) {
	w, b := newWorld(), newLedger()
	unsaid := &fleet.Exit{Source: "none", Status: fleet.Unknown[int]("lost"), Signal: fleet.Unknown[int]("lost")}
	for i, c := range []struct {
		name     string
		shim     *fleet.Exit
		recorded *fleet.Exit
		boot     string
		rebooted bool
		state    fleet.AgentState
	}{
		{"nobody-saw-it", nil, nil, "a", true, fleet.StateStopped},
		{"hung-up", killed(1), nil, "a", true, fleet.StateStopped},
		{"terminated", killed(15), nil, "a", true, fleet.StateStopped},
		{"told-as-a-status", exited(143), nil, "a", true, fleet.StateStopped},
		{"refused-to-go", killed(9), nil, "a", true, fleet.StateStopped},
		{"seen-to-end-not-how", nil, unsaid, "a", true, fleet.StateStopped},
		{"crashed-while-custos-was-down", exited(3), nil, "a", false, fleet.StateCrashed},
		{"interrupted", killed(2), nil, "a", false, fleet.StateCrashed},
		{"finished", exited(0), nil, "a", false, fleet.StateFinished},
		{"killed-before", killed(9), killed(9), "a", false, fleet.StateCrashed},
		{"closed-before", killed(1), killed(1), "a", false, fleet.StateCrashed},
		{"this-boot", killed(15), nil, "b", false, fleet.StateCrashed},
		{"this-boot-unseen", nil, nil, "b", false, fleet.StateUnknown},
	} {
		r := b.reg(c.name, 100+i)
		r.Process.Boot = c.boot
		if c.shim != nil {
			b.exits[r.Instance] = c.shim
		}
		if c.recorded != nil {
			x := *c.recorded
			x.Instance, x.Process, r.Exit = r.Instance, r.Process, &x
		}
		// told once, it is told again from the record
		for _, look := range []string{"first", "next"} {
			a := see(t, w.probe(t, b.options))[c.name]
			if got := a.Exit != nil && a.Exit.Rebooted(); got != c.rebooted || a.State != c.state || a.Reason == "" || a.Process.PID != 0 {
				t.Errorf("%s, %s look: rebooted %t, %s (%s); want %t, %s", c.name, look, got, a.State, a.Reason, c.rebooted, c.state)
			}
			if noted := registry.Observed(*r, a); noted.Exit != nil {
				r.Exit = noted.Exit
			}
		}
		b.regs = nil
	}
}

// An adopted agent, of which there is no instance, went down with the machine as
// surely as the others.
func TestARebootEndsTheAdopted(t *testing.T) {
	w, b := newWorld(), newLedger()
	r := b.reg("theirs", 10)
	r.Owner, r.Instance, r.Process.Boot = fleet.OwnerAdopted, "", "a"
	if a := see(t, w.probe(t, b.options))["theirs"]; a.Exit == nil || !a.Exit.Rebooted() || a.State != fleet.StateStopped {
		t.Errorf("%s, exit %+v", a.State, a.Exit)
	}
}

// An agent keeps the number of its name when another of that name ends, so that
// the death of one is not told of the other.
func TestNumbersOfNamesStay(t *testing.T) {
	w := newWorld()
	w.proc(40, 1, "claude")
	w.proc(41, 1, "claude")
	p := w.probe(t, nil)
	if found := see(t, p); found["claude@a"].Process.PID != 40 || found["claude@a#2"].Process.PID != 41 {
		t.Fatalf("%v", found)
	}
	x := killed(9)
	x.Process, x.At = id(40), w.now
	p.Died(*x)
	w.procs = w.procs[1:]
	w.pass(time.Second)
	found := see(t, p)
	if a := found["claude@a"]; a.Process.PID != 0 || a.State != fleet.StateCrashed || found["claude@a#2"].Process.PID != 41 {
		t.Errorf("%v", found)
	}
	// the Custos after this one knows it from the record
	w.records = []fleet.AgentRecord{{Name: "claude@a#2", Kind: "claude", Process: id(41)}}
	if found := see(t, w.probe(t, nil)); found["claude@a#2"].Process.PID != 41 || len(found) != 1 {
		t.Errorf("%v", found)
	}
	w.proc(42, 1, "claude")
	if found := see(t, p); found["claude@a#2"].Process.PID != 41 || found["claude@a"].Process.PID != 42 || len(found) != 2 {
		t.Errorf("%v", found)
	}
}

// A death is told once, under the name the agent had, whether the watcher, its
// record or what is left of its pane tells of it.
func TestOneDeathIsOneAgent(t *testing.T) {
	for _, kept := range []string{"dead", "shell", "closed"} {
		for _, recorded := range []string{"no", "yes", "twice"} {
			t.Run(kept+"/"+recorded, func(t *testing.T) {
				w := newWorld()
				w.proc(10, map[bool]int{true: 11, false: 1}[kept == "shell"], "claude")
				w.proc(11, 1, "bash")
				w.pane("two", map[bool]int{true: 11, false: 10}[kept == "shell"]).StartCommand = "claude"
				w.proc(30, 1, "claude")
				w.pane("two", 30).PaneIndex = 1
				p := w.probe(t, nil)
				before := see(t, p)["two:0.0"]
				if before.Process.PID != 10 {
					t.Fatalf("%v", see(t, p))
				}
				if recorded != "no" {
					pane := w.panes[0].ID
					w.records = []fleet.AgentRecord{{Name: "two:0.0", Kind: "claude", Process: id(10), Pane: &pane, LastSeen: w.now}}
				}
				if recorded == "twice" { // by the one that was in the pane before it
					old := w.records[0]
					old.Name, old.Process, old.LastSeen = "claude@a", id(9), w.now.Add(-time.Hour)
					w.records = append([]fleet.AgentRecord{old}, w.records...)
				}
				x := killed(9)
				x.Process, x.At = id(10), w.now
				p.Died(*x)
				w.procs = w.procs[1:]
				if kept == "dead" {
					w.panes[0].Dead, w.panes[0].ID.Root.Start = true, 0
				} else if kept == "closed" {
					w.panes = w.panes[1:]
				}
				for range 2 {
					w.pass(time.Second)
					found := see(t, p)
					a := found["two:0.0"]
					if len(found) != 2 || a.State != fleet.StateCrashed || a.Process.PID != 0 {
						t.Errorf("%d agents: %s (%s), of %v", len(found), a.State, a.Reason, keys(found))
					}
				}
			})
		}
	}
}

func keys(m map[string]fleet.Agent) (names []string) {
	for name, a := range m {
		names = append(names, fmt.Sprintf("%s=%d", name, a.Process.PID))
	}
	return names
}
