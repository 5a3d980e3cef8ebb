package server

import (
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/view"
)

// A recovery that its grace holds back is told in one way by `why`, `show` and
// `ps --pending`, as a patrol tells it; one that lacks only a word is planned, for who
// gives it.
func TestOnePlanOfARecovery(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	lost := fleet.Subject{Kind: fleet.KindAgent, Name: "lost"}
	recovery := fleet.Action{ID: "0123456789abcdef", Do: "recover", Subject: lost, For: fleet.AlertKey{Rule: "agent-crashed", Subject: lost}, Why: "it crashed"}
	for guard, c := range map[fleet.Guard]struct {
		why   string
		state string
	}{
		fleet.GuardGrace:    {"it leaves agents alone for 2m", "held back"},
		fleet.GuardMode:     {"the mode is observe", "planned"},
		fleet.GuardApproval: {"it needs a word", "planned"},
	} {
		p := fleet.Pass{Snapshot: fleet.Snapshot{At: now}, Plan: fleet.Plan{At: now, Actions: []fleet.Action{recovery}}}
		p.Past.Registrations = []fleet.Registration{{Name: "lost", Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Exit: &fleet.Exit{At: now.Add(-time.Minute)}}}
		p.Policy.ApprovedBy = "you"
		p.Itself = &fleet.Plan{At: now, Skipped: []fleet.Skipped{{Action: recovery, Guard: guard, Why: c.why, Until: now.Add(2 * time.Minute)}}}
		s := view.Story(view.StoryOf{Subject: lost}, p, nil, nil, newWorld())
		isHeld := c.state == "held back"
		if len(s.Skipped) != count(isHeld) || len(s.Planned) != count(!isHeld) {
			t.Errorf("%s: why plans %+v and holds back %+v", guard, s.Planned, s.Skipped)
		}
		next := strings.Join(s.Facts, " ")
		if strings.Contains(next, "Next: recover, now") == isHeld || strings.Contains(next, "Next: recover, not before 2026-11-20 09:02:00 UTC") != isHeld {
			t.Errorf("%s: %q", guard, next)
		}
		got := view.Pending(p)
		if len(got) != 1 || got[0].Agent != "lost" || got[0].What != "recover" || got[0].State != c.state || got[0].For != "1m0s" || isHeld != (got[0].Until != nil) {
			t.Errorf("%s: pending %+v", guard, got)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Where a person's word would lead to another order of things (one goes first, and the
// others wait for it), what is told is still what goes on without that word: the moment of
// all that holds it. The plan says that its first one waits, too.
func TestWhatIsHeldTwiceIsToldAsItGoesOnByItself(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
	first, second := recoveryOf("first"), recoveryOf("second")
	grace := now.Add(42 * time.Second)
	p := fleet.Pass{Snapshot: fleet.Snapshot{At: now}, Plan: fleet.Plan{At: now, Actions: []fleet.Action{first},
		Skipped: []fleet.Skipped{{Action: second, Guard: fleet.GuardGate, Why: "one at a time, and agent/first goes first"}}}}
	p.Policy.ApprovedBy = "you"
	p.Itself = &fleet.Plan{At: now}
	for _, a := range []fleet.Action{first, second} {
		p.Past.Registrations = append(p.Past.Registrations, fleet.Registration{Name: a.Subject.Name, Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Exit: &fleet.Exit{At: now}})
		p.Itself.Skipped = append(p.Itself.Skipped, fleet.Skipped{Action: a, Guard: fleet.GuardGrace, Why: "it was just started", Until: grace, Also: []string{"gate: it is left for 3s"}})
	}
	for _, of := range []fleet.Action{first, second} {
		s := view.Story(view.StoryOf{Subject: of.Subject}, p, nil, nil, newWorld())
		next := strings.Join(s.Facts, " ")
		if !strings.Contains(next, "Next: recover, not before 2026-11-20 09:00:42 UTC (grace: it was just started; and 1 more).") {
			t.Errorf("%s: %q", of.Subject, next)
		}
	}
	for _, w := range view.Pending(p) {
		if w.State != "held back" || w.Until == nil || !w.Until.Equal(grace.Wall) || len(w.Also) != 1 {
			t.Errorf("pending %+v", w)
		}
	}
	dry := view.Plan(p, newWorld())
	if len(dry.Actions) != 1 || dry.Actions[0].Held == nil || !dry.Actions[0].Held.Until.Equal(grace.Wall) || dry.Actions[0].Held.Guard != "grace" {
		t.Errorf("the plan says of what the daemon waits for: %+v", dry.Actions)
	}
}

func recoveryOf(name string) fleet.Action {
	s := fleet.Subject{Kind: fleet.KindAgent, Name: name}
	return fleet.Action{ID: name, Do: "recover", Subject: s, For: fleet.AlertKey{Rule: "agent-crashed", Subject: s}, Why: "it crashed"}
}
