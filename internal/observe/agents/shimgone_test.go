package agents

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"custos/internal/agent"
	"custos/internal/fleet"
)

// Nobody saw how an agent ended, and its shim is gone without a word: that it did not
// end by itself is certain. One whose shim may still tell, and one that goes on without
// its shim, are not taken for ended.
func TestEndedWithItsShimUnseen(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(30, 1, "claude")
	gone := map[string]bool{}
	for name, pid := range map[string]int{"unseen": 20, "told": 21, "open": 22, "adopted": 23, "rebooted": 24, "lives": 30} {
		b.reg(name, pid)
		gone["i-"+name] = name != "open" && name != "told"
	}
	b.exits["i-told"] = exited(0)
	for i := range b.regs {
		switch r := &b.regs[i]; r.Name {
		case "adopted":
			r.Owner, r.Instance = fleet.OwnerAdopted, ""
		case "rebooted":
			r.Process.Boot = "a"
		}
	}
	found := see(t, w.probe(t, func(o *Options) {
		b.options(o)
		o.ShimGone = func(instance string) bool { return gone[instance] }
	}))
	for name, want := range map[string]fleet.AgentState{"unseen": fleet.StateCrashed, "told": fleet.StateFinished, "open": fleet.StateUnknown,
		"adopted": fleet.StateUnknown, "rebooted": fleet.StateStopped} {
		if a := found[name]; a.State != want || (a.Exit != nil && a.Exit.ShimGone) != (name == "unseen") {
			t.Errorf("%s: %s (%s), exit %+v; want %s", name, a.State, a.Reason, a.Exit, want)
		}
	}
	if a := found["lives"]; a.Process.PID != 30 || a.Exit != nil || a.Conflict != "" {
		t.Errorf("lives: %+v", a)
	}
}

// An agent that lives on without its shim is known to have lost it only where that is
// gone for certain.
func TestALiveAgentThatLostItsShim(t *testing.T) {
	for name, c := range map[string]struct {
		parent, gone, adopted bool
		lost                  string
	}{
		"it is there":        {parent: true, lost: "false"},
		"it is gone":         {gone: true, lost: "true"},
		"it cannot be told":  {lost: "unknown"},
		"it never had one":   {gone: true, adopted: true, lost: "false"},
		"there after a look": {parent: true, gone: true, lost: "false"},
	} {
		w, b := newWorld(), newLedger()
		if c.parent {
			w.proc(9, 1, shimName, "--dir", "/run/agents/i-a")
		}
		w.proc(10, 9, "claude")
		r := b.reg("a", 10)
		r.Where = fleet.WhereHeadless
		if c.adopted {
			r.Owner = fleet.OwnerAdopted
		}
		a := see(t, w.probe(t, func(o *Options) {
			b.options(o)
			o.ShimGone = func(string) bool { return c.gone }
		}))["a"]
		lost, known := a.ShimLost.Get()
		if got := fmt.Sprint(lost); a.Process.PID != 10 || known && got != c.lost || known == (c.lost == "unknown") {
			t.Errorf("%s: %v, known %v; want %s", name, lost, known, c.lost)
		}
	}
}

// The death of the shim is no key at a terminal, though somebody has just typed there.
func TestNoKeyEndsAShim(t *testing.T) {
	w := newWorld()
	x := *exited(0)
	x.At, x.Process, x.ShimGone, x.Source = w.now, id(10), true, "proc"
	a := WithDeath([]fleet.Agent{{Name: "a", Registered: true, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Attached: 1, Process: id(10)}}, x, w.now)[0]
	if a.State != fleet.StateCrashed || a.Unsettled() {
		t.Errorf("%s (%s)", a.State, a.Reason)
	}
	if !x.Failed() || x.Ender() != fleet.EnderMachinery {
		t.Errorf("failed %t, ended by %s", x.Failed(), x.Ender())
	}
}

// What an ended instance left running is told with the agent, whether that lives again
// or not: what stands below its shim, by the record, and below no other shim.
func TestWhatAnEndedInstanceLeftIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		exit, other, lives bool
		left               []fleet.ProcessID
	}{
		"it ended":              {exit: true, left: []fleet.ProcessID{id(20), id(21)}},
		"it ended, and is back": {exit: true, lives: true, left: []fleet.ProcessID{id(20), id(21)}},
		"it runs":               {lives: true},
		"another has its pid":   {exit: true, other: true},
	} {
		w, b := newWorld(), newLedger()
		w.proc(9, 1, shimName, "--dir", "/run/agents/old")
		w.proc(20, 9, "vite")
		w.proc(21, 20, "node")
		w.proc(22, 9, "x").State = "Z"
		w.proc(12, 20, shimName, "--dir", "/run/agents/kid") // another agent, begun from below
		w.proc(13, 12, "node")
		if c.lives {
			w.proc(10, 1, "claude")
		}
		b.reg("a", 10)
		if c.exit {
			b.exits["old"] = exited(1)
		}
		a := see(t, w.probe(t, func(o *Options) {
			b.options(o)
			o.Shim = func(instance string) (string, fleet.ProcessID) {
				of := id(9)
				if c.other {
					of.Start++
				}
				return map[string]string{"old": "a", "kid": "b"}[instance], of
			}
		}))["a"]
		if !slices.Equal(a.Left, c.left) || (a.Process.PID != 0) != c.lives {
			t.Errorf("%s: left %v (%s), want %v", name, a.Left, a.LeftSays, c.left)
		}
		if says := "vite (process 20, since "; len(c.left) > 0 && !strings.HasPrefix(a.LeftSays, says) {
			t.Errorf("%s: says %q", name, a.LeftSays)
		}
	}
}

// Where agents stand is told of those that ran at the last look, of whatever kind, with what they were
// started for; before it, nothing is.
func TestWhereAgentsStand(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(30, 1, "claude").CWD = fleet.Known("/work/b")
	w.proc(31, 1, "my-wrapper").CWD = fleet.Known("/work/c")
	b.reg("wrapped", 31)
	b.reg("ended", 22)
	b.regs[0].Kind = "generic"
	b.regs[0].Dir, b.regs[0].Files = "/work/c", []string{"docs", "/work/x/*.go"}
	b.exits["i-ended"] = exited(0)
	p := w.probe(t, b.options)
	if all, looked := p.Standing(); looked {
		t.Errorf("before the first look: %q", all)
	}
	see(t, p)
	all, looked := p.Standing()
	slices.SortFunc(all, func(a, b Stand) int { return strings.Compare(a.Folder, b.Folder) })
	if want := []Stand{{Folder: "/work/b"}, {"/work/c", []string{"/work/c/docs", "/work/x/*.go"}}}; !looked || !reflect.DeepEqual(all, want) {
		t.Errorf("they stand in %q, want %q", all, want)
	}
}

// All is calm while many run and each is idle by its own word; what a screen, or nothing, tells of is looked at as ever.
func TestCalm(t *testing.T) {
	one := func(source string, state fleet.AgentState, pid int) fleet.Agent {
		return fleet.Agent{State: state, Source: source, Process: fleet.ProcessID{PID: pid}}
	}
	hinted := one(agent.SourceHook, fleet.StateIdle, 1)
	hinted.Hint = true
	for what, c := range map[string]struct {
		others int // idle by their hooks
		more   []fleet.Agent
		want   bool
	}{
		"nobody runs":          {0, nil, false},
		"a few":                {many - 1, nil, false},
		"many":                 {many, nil, true},
		"by other words":       {many - 2, []fleet.Agent{one(agent.SourceRegistry, fleet.StateIdle, 2), one(agent.SourceTranscript, fleet.StateIdle, 3)}, true},
		"one ended":            {many, []fleet.Agent{one(agent.SourceProcess, fleet.StateCrashed, 0)}, true},
		"the last of many did": {many - 1, []fleet.Agent{one(agent.SourceProcess, fleet.StateCrashed, 0)}, false},
		"one works":            {many, []fleet.Agent{one(agent.SourceHook, fleet.StateWorking, 2)}, false},
		"one asks":             {many, []fleet.Agent{one(agent.SourceHook, fleet.StateWaiting, 2)}, false},
		"nothing is known":     {many, []fleet.Agent{one(agent.SourceHook, fleet.StateUnknown, 2)}, false},
		"a screen says so":     {many, []fleet.Agent{one("screen", fleet.StateIdle, 2)}, false},
		"a newer CLI's screen": {many, []fleet.Agent{hinted}, false},
	} {
		found := c.more
		for i := range c.others {
			found = append(found, one(agent.SourceHook, fleet.StateIdle, 100+i))
		}
		if got := isCalm(found); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
