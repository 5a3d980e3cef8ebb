package loop_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	cli "custos/internal/agent"
	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/fleet"
	"custos/internal/rules"
)

// TestNoEndIsSilent: an end of an agent that was to run, which no person is known to
// have made and which is not its own good end, is always a finding, and where its
// policy has it started again that is begun or refused with a reason that is no
// person's. A person's end is never undone.
func TestNoEndIsSilent(t *testing.T) {
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		x, a := anEnd(t)
		snap, past := fleetOfOne(a)
		found := assess.Assess(set, snap, past)
		policy := fleet.Policy{Mode: fleet.ModeAuto, Agents: fleet.DefaultAgentLimits(), Abilities: map[string]fleet.Ability{"recover": {Starts: true}, "checkpoint": {}}}
		policy.Agents.SpawnMemory = 0
		plan := decide.Decide(policy, snap, found, past)
		told := false
		for _, f := range found.Findings {
			told = told || f.Firing && (f.Subject.Name == "a" || strings.Contains(f.Summary, ": a"))
		}
		itself := x.Ender() == fleet.EnderUnknown && !x.Failed()
		if x.Ender() != fleet.EnderPerson && !itself && !told {
			t.Fatalf("%s (%s), ended by %s, is silent: %+v", a.State, a.Reason, x.Ender(), x)
		}
		for _, act := range plan.Actions {
			if act.Do == "recover" && x.Ender() == fleet.EnderPerson {
				t.Fatalf("a person's end is undone: %+v", x)
			}
		}
		for _, k := range plan.Skipped {
			if k.Guard == fleet.GuardPerson && x.Ender() != fleet.EnderPerson {
				t.Fatalf("%s: %s, ended by %s: %+v", k.Do, k.Why, x.Ender(), x)
			}
		}
		wanted := a.Restart != fleet.RestartNever && (a.Restart == fleet.RestartAlways || x.Failed() || x.Asked == fleet.ByCustos)
		begun := len(plan.Actions) > 0 && plan.Actions[0].Do == "recover"
		if x.Ender() != fleet.EnderPerson && !x.Rebooted() && wanted && !begun {
			t.Fatalf("it is wanted, and not begun: %+v, skipped %+v", x, plan.Skipped)
		}
	})
}

// anEnd draws how an agent ended, and the agent as the probe shows it.
func anEnd(t *rapid.T) (fleet.Exit, fleet.Agent) {
	unknown := fleet.Unknown[int]("x")
	x := fleet.Exit{Instance: "i", Process: fleet.ProcessID{PID: 7, Start: 1, Boot: "b"}, Status: unknown, Signal: unknown, Source: "shim", At: endsAt.Add(-time.Minute)}
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		x.Signal = fleet.Known(pick(t, 1, 2, 3, 6, 9, 11, 15))
	case 1:
		x.Status = fleet.Known(pick(t, 0, 0, 1, 2, 127, 129, 130, 137, 143))
	case 2:
		x.Source = fleet.ExitReboot
	}
	x.OOM = rapid.IntRange(0, 5).Draw(t, "oom") == 0 && x.Signal.Or(0) == 9
	x.Asked = pick(t, "", "", "", "ann", fleet.ByCustos, fleet.ByAgent("b"))
	x.Quit = pick(t, "", "", "", "keys at its terminal")
	x.Server = pick(t, "", "", "/s")
	a := fleet.Agent{Name: "a", Kind: "claude", Owner: fleet.OwnerCustos, Registered: true, Desired: fleet.DesiredRunning, Instance: "i", Exit: &x,
		Restart: pick(t, fleet.RestartAlways, fleet.RestartOnFailure, fleet.RestartOnFailure, fleet.RestartNever)}
	v := cli.State(cli.Signals{End: &cli.End{Exit: &x, Wanted: a.Desired}})
	a.State, a.Reason, a.Source = v.State, v.Reason, v.Source
	if x.Rebooted() {
		a.State = fleet.StateStopped // as the probe says of it
	}
	return x, a
}

var endsAt = fleet.Instant{Wall: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Up: fleet.Duration(10 * time.Hour), Boot: "b"}

func fleetOfOne(a fleet.Agent) (fleet.Snapshot, fleet.Past) {
	snap := fleet.Snapshot{At: endsAt, From: fleet.Vantage{Host: "box", Boot: "b"}, Agents: fleet.Part[[]fleet.Agent]{Value: []fleet.Agent{a}}}
	for _, part := range fleet.PartNames() {
		*snap.Sight(part) = fleet.Sight{Status: fleet.StatusOK, At: endsAt}
	}
	reg := fleet.Registration{Name: "a", Kind: "claude", Owner: fleet.OwnerCustos, Desired: a.Desired, Restart: a.Restart, Instance: "i", Process: a.Exit.Process, Exit: a.Exit, Dir: "/w/a"}
	return snap, fleet.Past{Registrations: []fleet.Registration{reg}, StartedAt: endsAt.Add(-time.Hour)}
}
