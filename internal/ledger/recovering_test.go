package ledger

import (
	"testing"
	"time"

	"custos/internal/fleet"
)

// What a recovery that goes on has started, and has ended again, is no death of its
// own. What ended before it began is, and so is whatever is left when it is over, and
// what somebody asked for.
func TestARecoverysOwnTriesAreNoDeaths(t *testing.T) {
	now := fleet.Instant{Wall: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Up: fleet.Duration(24 * time.Hour), Boot: "b"}
	recovery := fleet.ActionRecord{Stage: fleet.StageStarted, Action: fleet.Action{Do: "recover", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: "a"},
		Target: fleet.Target{Registration: &fleet.Registration{Name: "a", Instance: "i1"}}}}
	for name, c := range map[string]struct {
		change func(*fleet.Agent, *fleet.ActionRecord)
		goesOn bool
	}{
		"its try":                       {func(*fleet.Agent, *fleet.ActionRecord) {}, true},
		"its try, with status 0":        {func(a *fleet.Agent, _ *fleet.ActionRecord) { a.Exit.Status, a.Deaths = fleet.Known(0), 1 }, true},
		"what died before":              {func(a *fleet.Agent, _ *fleet.ActionRecord) { a.Instance = "i1" }, false},
		"it has not begun":              {func(_ *fleet.Agent, x *fleet.ActionRecord) { x.Stage = fleet.StagePlanned }, false},
		"it is over":                    {func(_ *fleet.Agent, x *fleet.ActionRecord) { x.Stage, x.Result = fleet.StageEnded, &fleet.Result{} }, false},
		"another's recovery":            {func(_ *fleet.Agent, x *fleet.ActionRecord) { x.Subject.Name = "b" }, false},
		"another action":                {func(_ *fleet.Agent, x *fleet.ActionRecord) { x.Do = "nudge" }, false},
		"it does not know what died":    {func(_ *fleet.Agent, x *fleet.ActionRecord) { x.Target.Registration = nil }, false},
		"somebody asked for it":         {func(a *fleet.Agent, _ *fleet.ActionRecord) { a.Exit.Asked = "ann" }, false},
		"it is not an agent of our own": {func(a *fleet.Agent, _ *fleet.ActionRecord) { a.Registered = false }, false},
	} {
		x := recovery
		a := fleet.Agent{Name: "a", Registered: true, Instance: "i2", State: fleet.StateCrashed, Reason: "ended with exit status 1", Deaths: 2,
			Exit: &fleet.Exit{Instance: "i2", Status: fleet.Known(1), At: now}}
		c.change(&a, &x)
		seen := fleet.Snapshot{At: now}
		seen.Agents.Value = []fleet.Agent{a}
		got := Recovering(fleet.Past{Actions: []fleet.ActionRecord{x}}, seen)[0]
		if goesOn := got.State == fleet.StateStarting && got.Exit == nil && got.Deaths == 1; goesOn != c.goesOn {
			t.Errorf("%s: %s (%s), %d deaths, exit %+v", name, got.State, got.Reason, got.Deaths, got.Exit)
		}
		if seen.Agents.Value[0].State != fleet.StateCrashed {
			t.Errorf("%s: the snapshot that others share was changed", name)
		}
	}
}
