package agents

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// TestHeartbeats: what agents have promised, and how old their last beat is: by
// their hooks, by their own word, and of one that has ended since its end.
func TestHeartbeats(t *testing.T) {
	w, b := newWorld(), newLedger()
	promise := &fleet.Heartbeat{Every: fleet.Duration(10 * time.Minute), Grace: fleet.Duration(time.Minute)}
	for i, name := range []string{"hooked", "beaten", "silent", "free"} {
		w.proc(10+i, 1, "claude")
		w.pane(name, 10+i)
		b.reg(name, 10+i).Heartbeat = promise
	}
	b.reg("gone", 0).Heartbeat = promise
	b.regs[3].Heartbeat, b.regs[3].Role = nil, ""
	b.regs[2].Heartbeat = nil // its role has promised
	end := exited(0)
	end.Instance, end.At = "i-gone", w.now.Add(-20*time.Minute)
	b.regs[4].Exit, b.regs[4].Process = end, fleet.ProcessID{PID: 99, Start: 99, Boot: "b"}
	own := fleet.HookEvent{ID: "beat", At: w.now.Add(-2 * time.Minute), Instance: "i-beaten", Process: id(11), Kind: "claude", Event: fleet.HookBeat}
	b.events = []fleet.HookEvent{hook(w, "i-hooked", 7*time.Minute, fleet.HookStop, "", ""), hook(w, "i-beaten", time.Hour, fleet.HookStop, "", ""), own}
	p := w.probe(t, func(o *Options) {
		b.options(o)
		o.Contracts = []fleet.Contract{{Name: "c", Role: "coder", Heartbeat: fleet.Heartbeat{Every: fleet.Duration(time.Hour)}}}
	})
	got := see(t, p)
	minutes := func(n int) fleet.Leaf[fleet.Duration] {
		return fleet.Known(fleet.Duration(n) * fleet.Duration(time.Minute))
	}
	for name, want := range map[string]struct {
		every int
		age   fleet.Leaf[fleet.Duration]
	}{"hooked": {10, minutes(7)}, "beaten": {10, minutes(2)}, "gone": {10, minutes(20)}} {
		if a := got[name]; a.HeartbeatEvery != fleet.Duration(want.every)*fleet.Duration(time.Minute) || a.HeartbeatAge != want.age {
			t.Errorf("%s promised every %v and last beat %v ago (%s); want %dm, %v", name, a.HeartbeatEvery, a.HeartbeatAge.Or(-1), a.HeartbeatAge.Why(), want.every, want.age.Or(-1))
		}
	}
	if a := got["silent"]; a.HeartbeatEvery != fleet.Duration(time.Hour) || a.HeartbeatGrace != 0 || a.HeartbeatAge.IsKnown() {
		t.Errorf("silent: %v, %v, though it was not watched yet", a.HeartbeatEvery, a.HeartbeatAge.Or(-1))
	}
	if a := got["free"]; a.HeartbeatEvery != 0 || a.HeartbeatAge.IsKnown() {
		t.Errorf("free has promised nothing: %v, %v", a.HeartbeatEvery, a.HeartbeatAge.Or(-1))
	}
	if a := got["beaten"]; a.State != fleet.StateIdle || a.Progress == fleet.ProgressSome {
		t.Errorf("its own word changed what it does: %s, progress %s", a.State, a.Progress)
	}
}
