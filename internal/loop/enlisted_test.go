package loop_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/loop"
)

// guests is a machine with an agent that another system started and that configuration
// adopts. It is seen as registered when it was looked at since.
type guests struct {
	*machine
	regs    []fleet.Registration
	seen    fleet.Agent
	touched int
}

func (w *guests) Touched(parts ...fleet.PartName) {
	if !slices.Contains(parts, fleet.PartAgents) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched++
	w.seen.Registered = len(w.regs) > 0
	w.loop.Wake("looked")
}

func (w *guests) Snapshot() fleet.Snapshot {
	s := w.machine.Snapshot()
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Agents.Value = []fleet.Agent{w.seen}
	return s
}

func (w *guests) Past(ctx context.Context, at fleet.Instant) (fleet.Past, error) {
	p, err := w.machine.Past(ctx, at)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.Registrations = slices.Clone(w.regs)
	return p, err
}

func (w *guests) Start(ctx context.Context, t fleet.Turn) error {
	w.mu.Lock()
	w.regs = append(w.regs, t.Plan.Registrations...)
	w.mu.Unlock()
	return w.machine.Start(ctx, t)
}

// TestWhoIsEnlistedIsLookedAtAgain: an agent that a pass registers by itself is seen as
// registered at once, and not only when the agents are looked at by the clock; and that
// is one look.
func TestWhoIsEnlistedIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &guests{machine: newMachine(t)}
		w.seen = fleet.Agent{Name: "shop-b", Kind: "claude", Owner: fleet.OwnerAdopted, Process: fleet.ProcessID{PID: 7, Start: 1, Boot: "b"},
			Origin: &fleet.Origin{System: "legio", Name: "b", Role: "builder", Start: []string{"claude"}}}
		w.loop = loop.New(loop.Options{Board: w, Rules: w.rules, Policy: w.policy, History: w, Act: w, Journal: w,
			Touches: func(string) []fleet.PartName { return nil }, Every: 20 * time.Minute, Tick: time.Minute, Log: slog.New(slog.DiscardHandler)})
		w.hours(t, time.Second)
		if len(w.regs) != 1 || !w.seen.Registered {
			t.Errorf("%d are registered, and it is seen as registered: %v", len(w.regs), w.seen.Registered)
		}
		w.hours(t, time.Hour)
		if len(w.regs) != 1 || w.touched != 1 {
			t.Errorf("%d registrations and %d looks, want one of each", len(w.regs), w.touched)
		}
	})
}
