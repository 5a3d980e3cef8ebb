package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/observe"
	"custos/internal/observe/observetest"
	"custos/internal/session"
)

// world is a machine made by hand.
type world struct {
	now     fleet.Instant
	procs   []fleet.Process
	panes   []fleet.Pane
	paneErr error
	screens map[fleet.PaneID]string
	records []fleet.AgentRecord
	asked   int // screens asked for
	paused  int
}

func newWorld() *world {
	return &world{now: fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"},
		screens: map[fleet.PaneID]string{}}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func id(pid int) fleet.ProcessID { return fleet.ProcessID{PID: pid, Start: uint64(pid), Boot: "b"} }

func (w *world) proc(pid, ppid int, args ...string) *fleet.Process {
	w.procs = append(w.procs, fleet.Process{ID: id(pid), PPID: ppid, State: "S", Name: args[0], Exe: fleet.Known("/usr/bin/" + args[0]),
		Args: args, CWD: fleet.Known("/work/a"), Age: fleet.Duration(5 * time.Hour), CPU: fleet.Known(0.0), UID: os.Getuid()})
	return &w.procs[len(w.procs)-1]
}

func (w *world) pane(name string, root int) *fleet.Pane {
	w.panes = append(w.panes, fleet.Pane{ID: fleet.PaneID{Socket: "/s", Server: id(2), Pane: fmt.Sprintf("%%%d", root), Root: id(root)},
		Session: name, SessionID: "$" + name, Activity: fleet.Known(fleet.Duration(time.Hour)), Age: fleet.Known(fleet.Duration(2 * time.Hour))})
	return &w.panes[len(w.panes)-1]
}

func (w *world) probe(t *testing.T, change func(*Options)) *Probe {
	t.Helper()
	kinds, err := agent.Parse()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Kinds: kinds, Home: t.TempDir(), Now: func() fleet.Instant { return w.now },
		Procs:    func(context.Context) ([]fleet.Process, error) { return w.procs, nil },
		Panes:    func(context.Context) ([]fleet.Pane, error) { return w.panes, w.paneErr },
		Recorded: func(context.Context) ([]fleet.AgentRecord, error) { return w.records, nil },
		Screens: func(_ context.Context, ids []fleet.PaneID, _ int) (map[fleet.PaneID]string, error) {
			w.asked += len(ids)
			return w.screens, nil
		},
		Awake:    func() time.Duration { return time.Duration(w.now.Up) },
		Pause:    func(context.Context, time.Duration) { w.paused++ },
		CPUTimes: func([]fleet.ProcessID) map[fleet.ProcessID]fleet.Duration { return nil }}
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func see(t *testing.T, p *Probe) map[string]fleet.Agent {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	found := map[string]fleet.Agent{}
	for _, a := range s.Agents.Value {
		found[a.Name] = a
	}
	if len(found) != len(s.Agents.Value) {
		t.Errorf("%d agents share names: %v", len(s.Agents.Value), s.Agents.Value)
	}
	return found
}

func TestSuite(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.proc(11, 10, "sleep", "5")
	w.pane("work", 10).Title = "✳ x"
	w.proc(20, 1, "codex", "exec", "x")
	w.screens[w.panes[0].ID] = "────────────\n❯ \n────────────\n  ? for shortcuts"
	observetest.Test(t, func() observe.Probe { return w.probe(t, nil) })
}

func TestNames(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.pane("one", 10)
	w.proc(20, 1, "bash")
	w.proc(21, 20, "claude")
	w.pane("two", 20)
	w.proc(30, 1, "codex")
	p := w.pane("two", 30)
	p.WindowIndex, p.PaneIndex = 1, 2
	w.proc(40, 1, "claude")
	w.proc(41, 1, "claude")
	w.proc(50, 10, "bash", "-c", "codex exec x")
	w.proc(51, 50, "codex", "exec", "x")
	found := see(t, w.probe(t, nil))
	for name, pid := range map[string]int{"one": 10, "two:0.0": 21, "two:1.2": 30, "claude@a": 40, "claude@a#2": 41, "codex@a": 51} {
		if found[name].Process.PID != pid {
			t.Errorf("%s is process %d, want %d", name, found[name].Process.PID, pid)
		}
	}
	if len(found) != 6 || found["codex@a"].Pane == nil || !found["codex@a"].OneShot {
		t.Errorf("%d agents: %v", len(found), found)
	}
}

// None needs a whole dwell of watching in which nothing moved.
func TestProgressNeedsTheWholeDwell(t *testing.T) {
	w := newWorld()
	c := w.proc(10, 1, "claude", "-p", "x")
	p := w.probe(t, nil)
	want := func(what string, progress fleet.Progress) fleet.Agent {
		t.Helper()
		a := see(t, p)["claude@a"]
		if a.Progress != progress {
			t.Errorf("%s: progress %s after %v, want %s", what, a.Progress, a.Quiet, progress)
		}
		return a
	}
	want("first look", fleet.ProgressUnknown)
	w.pass(14 * time.Minute)
	want("too early", fleet.ProgressUnknown)
	w.pass(2 * time.Minute)
	if a := want("dwell over", fleet.ProgressNone); time.Duration(a.Quiet.Or(0)) != 16*time.Minute {
		t.Errorf("quiet for %v, want 16m", a.Quiet)
	}
	c.CPUTime += fleet.Duration(2 * time.Second)
	w.pass(10 * time.Second)
	if a := want("it moved", fleet.ProgressSome); a.State != fleet.StateWorking || a.CPU.Or(0) < 19 {
		t.Errorf("state %s with %v %%", a.State, a.CPU)
	}
	w.pass(20 * time.Minute)
	want("quiet again", fleet.ProgressNone)
	w.proc(11, 10, "make")
	want("a tool began", fleet.ProgressSome)
	w.pass(20 * time.Minute)
	w.procs[0].State = "T"
	want("suspended", fleet.ProgressUnknown)
}

// Text alone never makes an agent one without progress, and a pane that was not
// seen may be moving.
func TestWhatIsNotEnoughForNoProgress(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude").TTY = "pts/1"
	pane := w.pane("one", 10)
	pane.Title = "✳ x"
	w.screens[pane.ID] = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel"
	p := w.probe(t, nil)
	see(t, p)
	w.pass(time.Hour)
	a := see(t, p)["one"]
	if a.State != fleet.StateWaiting || a.Source != agent.SourceScreen || a.Progress != fleet.ProgressUnknown {
		t.Errorf("%s by %s, progress %s", a.State, a.Source, a.Progress)
	}
	w.panes, w.paneErr = nil, errors.New("cannot ask tmux server /s")
	w.pass(time.Hour)
	a = see(t, p)["one"]
	if a.Progress != fleet.ProgressUnknown || a.Pane != nil {
		t.Errorf("with tmux unseen: progress %s", a.Progress)
	}
}

func TestDwell(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	pane := w.pane("one", 10)
	pane.Title = "✳ x"
	w.screens[pane.ID] = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel"
	w.proc(20, 1, "codex")
	p := w.probe(t, nil)
	found := see(t, p)
	if d := time.Duration(found["one"].Dwell.Or(0)); d != time.Hour {
		t.Errorf("waiting since its pane last wrote: %s, want 1h", d)
	}
	if found["codex@a"].Dwell.IsKnown() {
		t.Error("a state seen for the first time, without other evidence, has an age")
	}
	w.pass(time.Minute)
	if d := time.Duration(see(t, p)["codex@a"].Dwell.Or(0)); d != time.Minute {
		t.Errorf("second look: %s, want 1m", d)
	}
	w.records = []fleet.AgentRecord{{Process: id(20), State: fleet.StateUnknown, Since: w.now.Add(-3 * time.Hour)}}
	if d := time.Duration(see(t, w.probe(t, nil))["codex@a"].Dwell.Or(0)); d != 3*time.Hour {
		t.Errorf("recorded: %s, want 3h", d)
	}
}

// Whatever tells since when it is in its state, no agent was in it before its process
// began: a pane may be older than what runs in it.
func TestAStateIsNoOlderThanItsProcess(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude").Age = fleet.Duration(time.Minute)
	pane := w.pane("one", 10) // wrote last an hour ago
	pane.Title = "✳ x"
	w.screens[pane.ID] = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n Esc to cancel"
	w.proc(20, 1, "codex").Age = fleet.Duration(time.Minute)
	w.records = []fleet.AgentRecord{{Process: id(20), State: fleet.StateUnknown, Since: w.now.Add(-3 * time.Hour)}}
	for name, a := range see(t, w.probe(t, nil)) {
		if d := time.Duration(a.Dwell.Or(0)); d != time.Minute {
			t.Errorf("%s, one minute old, has been %s for %s", name, a.State, d)
		}
	}
}

func TestScreensAreReadOnceInTenSeconds(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	one := w.pane("one", 10)
	one.Activity = fleet.Known(fleet.Duration(0))
	w.screens[one.ID] = "x"
	w.proc(20, 1, "bash")
	w.pane("two", 20)
	w.proc(30, 1, "claude", "-p", "x")
	w.pane("three", 30)
	p := w.probe(t, nil)
	for range 4 {
		see(t, p)
		w.pass(3 * time.Second)
	}
	if w.asked != 1 {
		t.Errorf("%d screens asked for in 10 s, want 1: only panes that hold an agent with an interface", w.asked)
	}
	w.pass(3 * time.Second)
	see(t, p)
	if w.asked != 2 {
		t.Errorf("%d screens asked for, want 2", w.asked)
	}
	w.panes[0].Activity = fleet.Known(fleet.Duration(time.Hour))
	for range 20 {
		w.pass(12 * time.Second)
		see(t, p)
	}
	if w.asked != 2 {
		t.Errorf("%d screens asked for, though nothing was written", w.asked)
	}
	w.pass(2 * time.Minute)
	see(t, p)
	if w.asked != 3 {
		t.Errorf("%d screens asked for, want one more after five minutes", w.asked)
	}
}

// What is drawn in the window of an agent of ours is told about once a second, give or take a
// little: each time its screen is read.
func TestScreensOfOursAreReadEachSecond(t *testing.T) {
	w, b := newWorld(), newLedger()
	b.reg("a", 10)
	w.proc(10, 9, "claude")
	one := w.pane("a", 10)
	one.Activity = fleet.Known(fleet.Duration(0))
	w.screens[one.ID] = "x"
	p := w.probe(t, b.options)
	for range 5 {
		see(t, p)
		w.pass(950 * time.Millisecond)
	}
	if w.asked != 5 {
		t.Errorf("its screen was read %d times in five looks, 950 ms apart", w.asked)
	}
}

func TestGoneAgents(t *testing.T) {
	w := newWorld()
	record := func(name string, pane *fleet.Pane) {
		paneID := pane.ID
		w.records = append(w.records, fleet.AgentRecord{Name: name, Kind: "claude", Process: id(900), Pane: &paneID, CWD: "/work/" + name})
	}
	w.proc(10, 1, "bash")
	record("zombie", w.pane("zombie", 10))
	w.proc(20, 1, "bash")
	w.proc(21, 20, "vim", "x")
	record("busy", w.pane("busy", 20))
	w.proc(30, 1, "bash")
	w.proc(31, 30, "claude")
	record("again", w.pane("again", 30))
	dead := w.pane("dead", 40)
	record("dead", dead)
	dead.Dead, dead.ExitStatus, dead.ID.Root.Start = true, fleet.Known(3), 0
	w.records = append(w.records, fleet.AgentRecord{Name: "nowhere", Process: id(901)})
	started := w.pane("started", 50)
	w.proc(50, 1, "bash")
	started.StartCommand = `"claude; exec bash"`
	other := w.pane("reused", 60)
	record("reused", other)
	w.proc(60, 1, "bash")
	other.ID.Root.Start++
	w.procs[len(w.procs)-1].ID.Start++
	found := see(t, w.probe(t, nil))
	for name, state := range map[string]fleet.AgentState{"zombie": fleet.StateZombie, "dead": fleet.StateCrashed, "started": fleet.StateZombie, "again": fleet.StateUnknown} {
		if found[name].State != state {
			t.Errorf("%s is %q (%s), want %s", name, found[name].State, found[name].Reason, state)
		}
	}
	if len(found) != 4 || found["zombie"].Process.PID != 0 || found["zombie"].Progress != fleet.ProgressUnknown || found["dead"].ExitStatus.Or(0) != 3 {
		t.Errorf("%d agents: %+v", len(found), found)
	}
	w.panes, w.paneErr = nil, errors.New("cannot ask tmux server /s")
	found = see(t, w.probe(t, nil))
	if a, ok := found["zombie"]; !ok || a.State != fleet.StateUnknown {
		t.Errorf("an agent gone from a pane that was not seen: %+v", a)
	}
	w.paneErr = session.ErrAbsent
	if _, ok := see(t, w.probe(t, nil))["zombie"]; ok {
		t.Error("an agent that left nothing is still reported")
	}
}

func TestRegistry(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.proc(20, 1, "claude")
	w.procs[1].CWD = fleet.Known("/work/b")
	write := func(dir string, pid int, start uint64) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(map[string]any{"pid": pid, "procStart": start, "status": "waiting", "waitingFor": "Bash", "sessionId": "s1",
			"statusUpdatedAt": w.now.Wall.Add(-7 * time.Minute).UnixMilli()})
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", pid)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	write(home+"/.claude/sessions", 10, 10)
	write(home+"/.claude/sessions", 20, 19) // of a process that had the pid before
	more := t.TempDir()
	p := w.probe(t, func(o *Options) { o.Home, o.Registries = home, []string{more} })
	found := see(t, p)
	a := found["claude@a"]
	if a.State != fleet.StateWaiting || a.Source != agent.SourceRegistry || a.SessionID != "s1" || time.Duration(a.Dwell.Or(0)) != 7*time.Minute {
		t.Errorf("%s by %s (%s), session %q, for %v", a.State, a.Source, a.Reason, a.SessionID, a.Dwell)
	}
	if b := found["claude@b"]; b.State != fleet.StateUnknown || b.SessionID != "" {
		t.Errorf("an orphaned record was believed: %s by %s", b.State, b.Source)
	}
	write(more, 20, 20)
	if b := see(t, p)["claude@b"]; b.State != fleet.StateWaiting {
		t.Errorf("a configured registry was not read: %s", b.State)
	}
	account := t.TempDir()
	write(account+"/sessions", 20, 20)
	byAccount := w.probe(t, func(o *Options) {
		o.Home, o.Accounts = home, fleet.Accounts{{Name: "work", Kind: "claude", ConfigDir: fleet.Path(account)}}
	})
	if b := see(t, byAccount)["claude@b"]; b.State != fleet.StateWaiting {
		t.Errorf("the registry of an account was not read: %s", b.State)
	}
	w.procs[1].UID++
	if b := see(t, p)["claude@b"]; b.State == fleet.StateWaiting {
		t.Error("a record that belongs to another user than the process was believed")
	}
	if err := os.Remove(home + "/.claude/sessions/10.json"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(more+"/20.json", home+"/.claude/sessions/10.json"); err != nil {
		t.Fatal(err)
	}
	if a := see(t, p)["claude@a"]; a.Source == agent.SourceRegistry {
		t.Error("a link was followed")
	}
}

func TestOwners(t *testing.T) {
	w := newWorld()
	w.proc(10, 1, "claude")
	w.proc(20, 1, "claude").CWD = fleet.Known("/work/other/b")
	w.proc(30, 1, "claude").CWD = fleet.Known("/home/ours")
	w.proc(40, 1, "claude").CWD = fleet.Unknown[string]("permission denied")
	w.records = []fleet.AgentRecord{{Process: id(30), Owner: fleet.OwnerCustos}, {Process: id(10), Owner: fleet.OwnerAdopted}}
	found := see(t, w.probe(t, func(o *Options) { o.Adopt = []string{"/work/other/*"} }))
	for name, owner := range map[string]fleet.Owner{"claude@a": fleet.OwnerForeign, "claude@b": fleet.OwnerAdopted, "claude@ours": fleet.OwnerCustos, "claude@?": fleet.OwnerForeign} {
		if found[name].Owner != owner {
			t.Errorf("%s is %s, want %s", name, found[name].Owner, owner)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{}, {Dwell: "soon"}, {Dwell: "1s"}, {Adopt: []string{"relative"}}} {
		if o.Dwell != "" || o.Adopt != nil {
			good := newWorld().probe(t, nil).o
			good.Dwell, good.Adopt = o.Dwell, o.Adopt
			o = good
		}
		if _, err := New(o); err == nil {
			t.Errorf("dwell %q, adopt %q gave no error", o.Dwell, o.Adopt)
		}
	}
}

func TestBlindProcessTableIsAnError(t *testing.T) {
	p := newWorld().probe(t, func(o *Options) {
		o.Procs = func(context.Context) ([]fleet.Process, error) { return nil, errors.New("no /proc") }
	})
	if put, err := p.Look(t.Context()); err == nil || put != nil {
		t.Errorf("%v", err)
	}
}

func BenchmarkLook200(b *testing.B) {
	w := newWorld()
	for i := range 200 {
		pid := 1000 + 4*i
		w.proc(pid, 1, "bash")
		w.proc(pid+1, pid, "claude")
		w.proc(pid+2, pid+1, "node", "/x/server.js")
		pane := w.pane(fmt.Sprintf("s%d", i), pid)
		pane.Title = "✳ x"
		w.screens[pane.ID] = "● done\n────────────\n❯ \n────────────\n  ? for shortcuts"
	}
	kinds, err := agent.Parse()
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(Options{Kinds: kinds, Now: func() fleet.Instant { return w.now }, Awake: func() time.Duration { return time.Duration(w.now.Up) },
		Procs:   func(context.Context) ([]fleet.Process, error) { return w.procs, nil },
		Panes:   func(context.Context) ([]fleet.Pane, error) { return w.panes, nil },
		Screens: func(context.Context, []fleet.PaneID, int) (map[fleet.PaneID]string, error) { return w.screens, nil }})
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
