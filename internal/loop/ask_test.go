package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/observe"
)

// desk is a machine with a forge and a tracker of beads beside it.
type desk struct {
	*machine
	owner   fleet.Owner
	mode    fleet.Mode
	frozen  string
	stale   bool
	without bool // no forge may be written to
}

func newDesk(t *testing.T) *desk {
	d := &desk{machine: newMachine(t), owner: fleet.OwnerConfigured, mode: fleet.ModeObserve}
	d.loop = loop.New(loop.Options{Board: d, Rules: d.rules, Policy: d.policy, History: d.machine, Act: d.machine, Journal: d.machine,
		Touches: func(string) []fleet.PartName { return []fleet.PartName{fleet.PartForge, fleet.PartBeads} },
		Every:   20 * time.Minute, Tick: time.Minute, Log: slog.New(slog.DiscardHandler)})
	return d
}

func (d *desk) Snapshot() fleet.Snapshot {
	s := d.machine.Snapshot()
	s.Forge.Value.Issues = []fleet.Issue{{Name: "shop#12", Project: "shop", Number: 12, Owner: d.owner, Open: fleet.Known(true), Agent: "dev"}}
	s.Beads.Value = []fleet.Bead{{ID: "hq-a1", Project: "shop", State: fleet.WorkTaken, Assignee: "dev"}}
	if d.stale {
		s.Coordination.Sight.Status, s.Forge.Status = fleet.StatusStale, fleet.StatusStale
	}
	return s
}

func (d *desk) policy(o fleet.PatrolOrder) fleet.Policy {
	p := d.machine.policy(o)
	p.Mode, p.Frozen = d.mode, d.frozen
	for _, do := range []string{"close-issue", "close-bead"} {
		p.Abilities[do] = fleet.Ability{Do: do, Idempotent: true, Touches: []fleet.PartName{fleet.PartForge}}
	}
	if d.without {
		p.Abilities["close-issue"] = fleet.Ability{Do: "close-issue", Cannot: "no forge is configured"}
	}
	return p
}

func (d *desk) close(t *testing.T, ref fleet.Ref, by string) ([]fleet.Action, error) {
	return d.loop.Ask(t.Context(), by, func(past fleet.Past, snap fleet.Snapshot) (*fleet.Finding, error) {
		return ledger.MoveElsewhere(past, snap, ref, "close", "done", by)
	})
}

// What a person asks for is committed as one action and nothing else is: not what
// rules lead to in the same pass.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.dead = true
		for n, ref := range []fleet.Ref{"shop#12", "bd:hq-a1"} {
			begun, err := d.close(t, ref, "ann")
			if err != nil || len(begun) != 1 || len(d.turns) != n+1 {
				t.Fatalf("%s: %+v, %v", ref, begun, err)
			}
			turn := d.turns[n]
			if a := turn.Plan.Actions[0]; len(turn.Plan.Actions) != 1 || a.Approved != "ann" || a.By != "ann" || a.Text != "done" || a.ID == "" || len(turn.Assessment.Alerts) != 0 || turn.Patrol != 0 {
				t.Errorf("%s: committed %+v", ref, turn)
			}
		}
		if begun, err := d.close(t, "shop#12", "ann"); !errors.Is(err, loop.ErrNothingOffered) {
			t.Errorf("at once again: %+v, %v", begun, err)
		}
	})
}

// Every guard is asked, and says why not. An agent's word approves of nothing.
func TestAskIsGuarded(t *testing.T) {
	for name, c := range map[string]struct {
		by, want string
		change   func(*desk)
	}{
		"frozen":            {"ann", "frozen", func(d *desk) { d.frozen = "by bob" }},
		"foreign":           {"ann", "foreign", func(d *desk) { d.owner = fleet.OwnerForeign }},
		"not seen":          {"ann", "not seen now", func(d *desk) { d.stale = true }},
		"no forge":          {"ann", "cannot", func(d *desk) { d.without = true }},
		"not committed":     {"ann", "cannot start", func(d *desk) { d.clash = 1 }},
		"an agent, observe": {"agent/dev", "mode", func(*desk) {}},
		"an agent, ask":     {"agent/dev", "approval", func(d *desk) { d.mode = fleet.ModeAsk }},
		"another agent":     {"agent/eve", "is not eve's", func(d *desk) { d.mode = fleet.ModeAuto }},
		"an agent, auto":    {"agent/dev", "", func(d *desk) { d.mode = fleet.ModeAuto }},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t)
			c.change(d)
			begun, err := d.close(t, "shop#12", c.by)
			switch {
			case c.want == "" && (err != nil || len(begun) != 1 || begun[0].Approved != "" || begun[0].By != "agent/dev"):
				t.Errorf("%s: %+v, %v", name, begun, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || len(d.turns) != 0):
				t.Errorf("%s: %+v, %v", name, begun, err)
			}
		})
	}
}

// Where nothing was looked at yet, what is asked for waits for the looks that it rests
// on, and for no other.
func TestAskWaitsForItsOwnFirstLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		forge := after(2*time.Second, fleet.PartForge, func(s *fleet.Snapshot) { s.Forge.Value = d.Snapshot().Forge.Value }, nil)
		board := observe.New(observe.Options{Probes: []observe.Probe{forge, slowly(48 * time.Second)}, Now: d.now})
		d.loop = loop.New(loop.Options{Board: board, Rules: d.rules, Policy: d.policy, History: d.machine, Act: d.machine, Journal: d.machine,
			Touches: func(string) []fleet.PartName { return nil }, Every: 20 * time.Minute, Tick: time.Minute, Log: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		go board.Run(ctx)
		begun, err := d.loop.Ask(t.Context(), "ann", func(past fleet.Past, snap fleet.Snapshot) (*fleet.Finding, error) {
			return ledger.MoveElsewhere(past, snap, "shop#12", "close", "done", "ann")
		}, ledger.MovedIn("shop#12")...)
		if took := time.Since(d.begun); err != nil || len(begun) != 1 || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("after %s: %+v, %v", took, begun, err)
		}
		stop()
		synctest.Wait()
	})
}
