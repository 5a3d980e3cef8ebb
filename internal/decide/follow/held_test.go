package follow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// heldWords are moves that are held back, as a person reads them.
func heldWords(list []fleet.HeldMove) (out []string) {
	for _, m := range list {
		until := ""
		if !m.Until.IsZero() {
			until = " until " + m.Until.Wall.Format("15:04")
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s > %s (%s: %s%s) %s", m.Record, m.From, m.To, m.Guard, m.Held, until, m.Hint)))
	}
	return out
}

func wantHeld(t *testing.T, p fleet.Plan, want ...string) {
	t.Helper()
	if got := heldWords(p.Held); !slices.Equal(got, want) {
		t.Errorf("held back is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// think is what a pass would follow, at this instant.
func (w *village) think() fleet.Plan {
	w.snap.At, w.snap.Forge.At, w.snap.Beads.At = w.at(), w.at(), w.at()
	w.snap.Coordination = ledger.Facts(w.past, w.snap)
	return Follow(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy})
}

func titled(g fleet.Gate) fleet.Gate {
	g.Title = "a gate"
	return g
}

// TestHeldGates: a gate stays open while what it waits for is hidden, and that is told;
// one that only waits is not held back by anything.
func TestHeldGates(t *testing.T) {
	w := newVillage(t)
	for _, d := range []time.Duration{time.Minute, time.Hour} {
		w.gate(titled(timerGate(w.now+d)), "ann")
	}
	w.gate(fleet.Gate{Type: fleet.GateHuman, Title: "a word"}, "ann")
	w.now += 2 * time.Minute
	w.past.Newest = w.at().Add(time.Hour)
	w.past.Newest.Boot = "another"
	wantHeld(t, w.think(),
		"gate/g1: open > closed (evidence: the clock is behind what is on record)",
		"gate/g2: open > closed (evidence: the clock is behind what is on record)")
	w.past.Newest = w.at()
	wantHeld(t, w.think())
	w.gate(titled(pullGate()), "ann")
	w.blind(&w.snap.Forge.Sight, true)
	wantHeld(t, w.think(), "gate/g4: open > closed (evidence: its forge is not seen now: it does not answer)")
}

// TestHeldConvoy: one whose members were all seen closed is not done while a tracker is
// not seen.
func TestHeldConvoy(t *testing.T) {
	w := newVillage(t)
	w.issue(3, true)
	w.convoy(fleet.Convoy{Title: "release"}, "shop#3")
	w.pass()
	wantHeld(t, w.think())
	v := &w.past.Records.Convoys[0]
	v.Members[0].State = fleet.WorkClosed
	w.blind(&w.snap.Forge.Sight, true)
	wantHeld(t, w.think(), "convoy/c1: open > done (evidence: shop#3: its tracker is not seen now: it does not answer)")
}

// TestHeldWork: work of an agent that was given up is kept for it while people are asked,
// or all is frozen, or it cannot be told whether it lives.
func TestHeldWork(t *testing.T) {
	for name, c := range map[string]struct {
		policy fleet.Policy
		failed string
		change func(*village)
		want   string
	}{
		"asked":  {policy: fleet.Policy{Mode: fleet.ModeAsk}, want: "(mode: the mode is ask: work is given back by itself only in mode auto) custos work release w1"},
		"frozen": {policy: fleet.Policy{Mode: fleet.ModeAuto, Frozen: "ann: wait"}, want: "(frozen: ann: wait) custos thaw"},
		"unseen": {policy: fleet.Policy{Mode: fleet.ModeAuto}, change: func(w *village) { w.blind(&w.snap.Agents.Sight, true) },
			want: "(evidence: it is not seen whether agent me is gone)"},
		"unknown": {policy: fleet.Policy{Mode: fleet.ModeAuto}, change: func(w *village) {
			w.snap.Agents.Value = []fleet.Agent{{Name: "me", State: fleet.StateUnknown}}
		}, want: "(evidence: it is not seen whether agent me is gone)"},
		"it lives": {policy: fleet.Policy{Mode: fleet.ModeAuto}, change: func(w *village) {
			w.snap.Agents.Value = []fleet.Agent{{Name: "me", Process: fleet.ProcessID{PID: 7}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newVillage(t)
			w.policy = c.policy
			if c.change != nil {
				c.change(w)
			}
			w.register(fleet.Registration{Name: "me", Desired: fleet.DesiredRunning, Failed: "3 in 1h"})
			r := w.add("a")
			w.change(r, func(v fleet.WorkItem) (fleet.WorkItem, error) { return ledger.TakeWork(v, "me", "ann", w.at()) })
			if c.want == "" {
				wantHeld(t, w.think())
				return
			}
			wantHeld(t, w.think(), "work/w1: in progress > open "+c.want)
		})
	}
}
