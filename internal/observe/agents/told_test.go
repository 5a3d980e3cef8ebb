package agents

import (
	"slices"
	"testing"
	"time"

	"custos/internal/fleet"
)

// fleetOf is what a look sees, as a list.
func fleetOf(t *testing.T, p *Probe) []fleet.Agent {
	t.Helper()
	put, err := p.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s fleet.Snapshot
	put(&s)
	return s.Agents.Value
}

func named(t *testing.T, all []fleet.Agent, name string) fleet.Agent {
	t.Helper()
	i := slices.IndexFunc(all, func(a fleet.Agent) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no %s in %v", name, all)
	}
	return all[i]
}

// What an agent tells says at once what the next look says: its state, since when, whence.
func TestWhatAnAgentTellsIsSeenAtOnce(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	w.pane("work", 10)
	w.screens[w.panes[0].ID] = "────────────\n❯ \n────────────\n  ? for shortcuts"
	b.reg("work", 10)
	p := w.probe(t, b.options)
	board := fleetOf(t, p)
	for i, c := range []struct {
		event fleet.HookName
		tool  string
		want  fleet.AgentState // "": a look has to tell
	}{
		{fleet.HookSessionStart, "", ""},
		{fleet.HookPrompt, "", fleet.StateWorking},
		{fleet.HookToolBegin, "Bash", ""},
		{fleet.HookPermission, "Bash", fleet.StateWaiting},
		{fleet.HookToolEnd, "Bash", fleet.StateWorking},
		{fleet.HookToolBegin, "Read", ""},
		{fleet.HookNotice, "", ""},
		{fleet.HookStatus, "", ""},
		{fleet.HookStop, "", fleet.StateIdle},
		{fleet.HookPrompt, "", fleet.StateWorking},
		{fleet.HookFailure, "", ""},
		{fleet.HookPrompt, "", fleet.StateWorking},
		{fleet.HookQuestion, "", fleet.StateWaiting},
		{fleet.HookAnswered, "", fleet.StateWorking},
		{fleet.HookStop, "", fleet.StateIdle},
		{fleet.HookPermission, "", ""}, // after the turn it reminds only
		{fleet.HookSessionEnd, "", ""},
	} {
		w.pass(time.Second)
		e := fleet.HookEvent{ID: string(rune('a' + i)), At: w.now, Instance: "i-work", Process: id(10), Kind: "claude", Event: c.event, Tool: c.tool}
		b.events = append(b.events, e)
		news, ok := p.Told(e)
		if ok != (c.want != "") {
			t.Fatalf("%d %s: told %v", i, c.event, ok)
		}
		if ok {
			before := slices.Clone(board)
			shown := named(t, WithTold(board, []Told{news}, w.now), "work")
			if named(t, board, "work").State != named(t, before, "work").State {
				t.Fatal("the list that was given was changed")
			}
			if shown.State != c.want || shown.ComposerEmpty.IsKnown() || shown.Dialog != nil {
				t.Errorf("%d %s: shown as %s (%s), composer %v", i, c.event, shown.State, shown.Reason, shown.ComposerEmpty)
			}
			if i%2 == 0 { // now and then no look comes between
				seen := named(t, fleetOf(t, p), "work")
				if shown.State != seen.State || shown.Reason != seen.Reason || shown.Source != seen.Source || shown.Dwell != seen.Dwell || shown.Progress != seen.Progress || (shown.Tool == nil) != (seen.Tool == nil) {
					t.Errorf("%d %s: told %s (%s, %s, %v, %v), the look says %s (%s, %s, %v, %v)", i, c.event,
						shown.State, shown.Reason, shown.Source, shown.Dwell, shown.Progress, seen.State, seen.Reason, seen.Source, seen.Dwell, seen.Progress)
				}
			}
		}
	}
	fleetOf(t, p)
	if len(p.late) != 0 {
		t.Errorf("%d events are kept that looks have heard", len(p.late))
	}
}

// An agent that another one started has that one's marker, and tells nothing of it; nor does
// what no look has seen yet, or a process that has ended.
func TestWhatAnotherAgentTellsIsNotItsParents(t *testing.T) {
	w, b := newWorld(), newLedger()
	w.proc(10, 1, "claude")
	w.proc(11, 10, "node", "helper.js")
	w.proc(12, 10, "codex", "exec", "x")
	w.pane("work", 10)
	b.reg("work", 10)
	b.marks[12] = "work:i-work"
	p := w.probe(t, b.options)
	board := fleetOf(t, p)
	before := named(t, board, "work").State
	for pid, want := range map[int]fleet.AgentState{10: fleet.StateWorking, 11: fleet.StateWorking, 12: before, 13: before, 0: before} {
		e := fleet.HookEvent{ID: "e", At: w.now, Instance: "i-work", Kind: "claude", Event: fleet.HookPrompt}
		if pid != 0 {
			e.Process = id(pid)
		}
		news, _ := p.Told(e)
		if got := named(t, WithTold(board, []Told{news}, w.now), "work"); got.State != want {
			t.Errorf("process %d: %s, want %s", pid, got.State, want)
		}
	}
	if before == fleet.StateWorking {
		t.Error("it works already: the test tells nothing")
	}
}
