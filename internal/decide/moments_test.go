package decide

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// keepsItsWord holds each moment that a refusal names against the passes that would be
// made on the same facts: just before it the action is still refused, and from it on what
// ended there holds nothing any more. What the whole fleet shares (its budget) may be
// spent anew by then.
func (s *sim) keepsItsWord(snap fleet.Snapshot, found fleet.Assessment, plan fleet.Plan) {
	for _, k := range plan.Skipped {
		if k.Until.IsZero() || k.Until.Boot != snap.At.Boot || !snap.At.Before(k.Until) {
			continue
		}
		before := s.passAt(snap, found, k.Until.Add(-time.Nanosecond))
		if a := grantOf(before, k); a != nil {
			s.t.Fatalf("%s of %s is done just before %v, until when %s was to hold it: %s", k.Do, k.Subject, k.Until.Wall, k.Guard, k.Why)
		}
		after := s.passAt(snap, found, k.Until)
		if still := refusalOf(after, k); still != nil && (k.Guard != fleet.GuardBudget && still.Guard == k.Guard && still.Why == k.Why || !still.Until.IsZero() && !k.Until.Before(still.Until)) {
			s.t.Fatalf("%s of %s is still held at %v by %s: %s (until %v)", k.Do, k.Subject, k.Until.Wall, k.Guard, k.Why, still.Until.Wall)
		}
	}
}

func (s *sim) passAt(snap fleet.Snapshot, found fleet.Assessment, at fleet.Instant) fleet.Plan {
	snap.At = at
	return Decide(s.policy, snap, found, s.past)
}

func grantOf(p fleet.Plan, k fleet.Skipped) *fleet.Action {
	for i, a := range p.Actions {
		if a.Do == k.Do && a.Subject == k.Subject && a.For == k.For {
			return &p.Actions[i]
		}
	}
	return nil
}

func refusalOf(p fleet.Plan, k fleet.Skipped) *fleet.Skipped {
	for i, s := range p.Skipped {
		if s.Do == k.Do && s.Subject == k.Subject && s.For == k.For {
			return &p.Skipped[i]
		}
	}
	return nil
}

// A recovery that several things hold is told with the latest of their moments: it is not
// done before, and is done at it.
func TestARecoveryWaitsForTheLatestMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ago := func(what string) time.Duration {
			return time.Duration(rapid.IntRange(0, 90).Draw(t, what)) * time.Second
		}
		now := fleet.Instant{Wall: time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC), Up: fleet.Duration(time.Hour), Boot: "b"}
		policy, snap, found, past := lostCrew(now, ago("died"), ago("started"))
		if rapid.Bool().Draw(t, "tried") {
			past.Actions = []fleet.ActionRecord{triedAt(now.Add(-ago("tried")))}
		}
		plan := Decide(policy, snap, found, past)
		if len(plan.Skipped) == 0 {
			return
		}
		k := plan.Skipped[0]
		if k.Until.IsZero() {
			t.Fatalf("it is not said until when: %+v", k)
		}
		snap.At = k.Until.Add(-time.Nanosecond)
		if early := Decide(policy, snap, found, past); grantOf(early, k) != nil {
			t.Fatalf("it is done before %v, which %s names: %s", k.Until.Wall, k.Guard, k.Why)
		}
		snap.At = k.Until
		if due := Decide(policy, snap, found, past); grantOf(due, k) == nil {
			t.Fatalf("it is not done at %v, but held by %+v", k.Until.Wall, refusalOf(due, k))
		}
	})
}

// lostCrew is an agent that died with two others, and a Custos that was just started.
func lostCrew(now fleet.Instant, died, started time.Duration) (fleet.Policy, fleet.Snapshot, fleet.Assessment, fleet.Past) {
	policy := fleet.Policy{Mode: fleet.ModeAuto, Grace: fleet.Duration(time.Minute), Agents: fleet.DefaultAgentLimits(),
		Abilities: map[string]fleet.Ability{doRecover: {Do: doRecover, Idempotent: true, Starts: true}}}
	policy.Agents.SpawnMemory = 0
	snap := fleet.Snapshot{At: now}
	snap.Agents.Status, snap.Agents.At = fleet.StatusOK, now
	snap.Host.Status, snap.Host.At = fleet.StatusOK, now
	past := fleet.Past{StartedAt: now.Add(-started)}
	subject := agentSubject("a")
	for _, name := range []string{"a", "b", "c"} {
		exit := &fleet.Exit{At: now.Add(-died), Signal: fleet.Known(9), Instance: name}
		past.Registrations = append(past.Registrations, fleet.Registration{Name: name, Owner: fleet.OwnerCustos, Desired: fleet.DesiredRunning, Restart: fleet.RestartOnFailure, Exit: exit})
		snap.Agents.Value = append(snap.Agents.Value, fleet.Agent{Name: name, Owner: fleet.OwnerCustos, Registered: true, State: fleet.StateCrashed, Exit: exit})
	}
	key := fleet.AlertKey{Rule: "agent-crashed", Subject: subject}
	found := fleet.Assessment{Rules: map[string]fleet.Remedy{key.Rule: {Mode: fleet.ModeAuto, Cooldown: fleet.Duration(30 * time.Second), Attempts: fleet.Attempts{Max: 3, In: fleet.Duration(time.Hour)}}},
		Findings: []fleet.Finding{{AlertKey: key, Priority: fleet.P2, Firing: true, Fresh: true, Parts: []fleet.PartName{fleet.PartAgents},
			Wishes: []fleet.Wish{{Do: doRecover, Subject: subject, Target: fleet.Target{Agent: &snap.Agents.Value[0]}}}}}}
	return policy, snap, found, past
}

func triedAt(at fleet.Instant) fleet.ActionRecord {
	a := fleet.Action{ID: "x", Do: doRecover, Subject: agentSubject("a"), For: fleet.AlertKey{Rule: "agent-crashed", Subject: agentSubject("a")}}
	return fleet.ActionRecord{Action: a, Stage: fleet.StageEnded, PlannedAt: at, StartedAt: at, Result: &fleet.Result{ActionID: "x", Do: doRecover, Status: fleet.ResultFailed, Began: at, Ended: at}}
}
