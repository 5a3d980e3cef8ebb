package decide

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// TestVerdictHistories lets agents be stuck and a judge say what it likes, in words
// that exist and in others, and counts for itself what was asked and what was held
// back.
func TestVerdictHistories(t *testing.T) {
	checks(t, 10)
	for shard := range 2 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newCourt(t).sit() })
		})
	}
}

// court is one history.
type court struct {
	t        *rapid.T
	sim      *sim
	policy   fleet.Policy
	verdicts []fleet.Verdict
	asked    []asked
	stuck    map[string]stamp // since when
}

// asked is a call that was made, as the test counts it.
type asked struct {
	at    stamp
	price int64
}

func newCourt(t *rapid.T) *court {
	c := &court{t: t, stuck: map[string]stamp{}, sim: &sim{t: t, now: stamp{true: 48 * time.Hour}, acked: map[fleet.AlertKey]stamp{}}}
	c.policy = fleet.Policy{Mode: fleet.ModeAuto, Abilities: newWorld().policy.Abilities, Agents: fleet.DefaultAgentLimits(), Triage: fleet.TriagePolicy{
		PerHour: rapid.IntRange(0, 3).Draw(t, "an hour"), PerDay: rapid.IntRange(0, 5).Draw(t, "a day"), MoneyPerDay: pick(t, "money", []int64{0, 100_000, 1_000_000}),
		CallPrice: 50_000, Confidence: 0.6}}
	return c
}

var courtNames = []string{"a", "b", "c"}

func (c *court) sit() {
	for range rapid.IntRange(3, 14).Draw(c.t, "passes") {
		c.sim.now.true += pick(c.t, "wait", []time.Duration{10 * time.Second, 2 * time.Minute, 15 * time.Minute, 50 * time.Minute, 7 * time.Hour})
		for _, e := range c.sim.log {
			if e.open && e.ends <= c.sim.now.true {
				c.end(e)
			}
		}
		snap, found := c.inputs()
		past := fleet.Past{Actions: c.sim.records(), Newest: c.sim.past.Newest, Verdicts: slices.Clone(c.verdicts)}
		before := encode(c.policy, snap, found, past)
		plan := Decide(c.policy, snap, found, past)
		if !bytes.Equal(before, encode(c.policy, snap, found, past)) || !bytes.Equal(encode(plan), encode(Decide(c.policy, snap, found, past))) {
			c.t.Fatal("Decide changed its inputs, or gave two plans")
		}
		for _, a := range plan.Actions {
			c.check(a)
			e := &entry{record: fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At}, moment: c.sim.now, open: true}
			e.ends = c.sim.now.true + pick(c.t, "takes", []time.Duration{0, 0, time.Minute, 20 * time.Minute})
			c.sim.log = append(c.sim.log, e)
		}
	}
}

// end gives an action its result. A triage that was not refused may have cost
// something, whether or not its answer was kept.
func (c *court) end(e *entry) {
	c.sim.end(e)
	if s := e.record.Result.Status; e.record.Do != doTriage || s == fleet.ResultRefused || s == fleet.ResultUnneeded {
		return
	}
	now := c.sim.instant(c.sim.now)
	call := asked{c.sim.now, c.policy.Triage.CallPrice}
	if !rarely(c.t, "no answer", 5) {
		v := fleet.Verdict{ID: e.record.ID, Alert: e.record.For, At: now, Judge: "mock", Expires: now.Add(30 * time.Minute),
			Word:       fleet.VerdictWord(pick(c.t, "word", []string{"extend", "extend", "retry", "interrupt", "restart", "stop", "ask", "rm -rf"})),
			Confidence: pick(c.t, "confidence", []float64{0.9, 0.9, 0.6, 0.1, -1}), Free: rarely(c.t, "free", 5)}
		if !rarely(c.t, "no until", 5) {
			v.Until = now.Add(pick(c.t, "for", []time.Duration{time.Minute, 20 * time.Minute, 20 * time.Hour}))
		}
		if rapid.Bool().Draw(c.t, "priced") {
			v.Priced, v.MicroUSD = true, pick(c.t, "price", []int64{1000, 50_000})
			call.price = v.MicroUSD
		}
		c.verdicts = append(c.verdicts, v)
		if v.Free {
			return
		}
	}
	c.asked = append(c.asked, call)
}

// inputs: agents become stuck and come round as they like.
func (c *court) inputs() (fleet.Snapshot, fleet.Assessment) {
	snap := fleet.Snapshot{At: c.sim.instant(c.sim.now)}
	snap.Agents.Sight = fleet.Sight{Status: fleet.StatusOK, At: snap.At}
	found := fleet.Assessment{Rules: map[string]fleet.Remedy{
		"agent-stuck": {Mode: fleet.ModeAuto, Cooldown: fleet.Duration(time.Minute), Attempts: fleet.Attempts{Max: 2, In: fleet.Duration(time.Hour)}},
		"other":       {Mode: fleet.ModeAuto}}}
	for i, name := range courtNames {
		if rarely(c.t, "comes round", 6) {
			delete(c.stuck, name)
		}
		since, is := c.stuck[name]
		if !is {
			since = c.sim.now
			c.stuck[name] = since
		}
		agent := fleet.Agent{Name: name, Owner: fleet.OwnerCustos, Process: fleet.ProcessID{PID: 10 + i}, State: fleet.StateStuck,
			Progress: pick(c.t, "progress", []fleet.Progress{fleet.ProgressNone, fleet.ProgressNone, fleet.ProgressSome}), ComposerEmpty: fleet.Known(true)}
		key := fleet.AlertKey{Rule: "agent-stuck", Subject: agentSubject(name)}
		found.Findings = append(found.Findings, c.finding(key, agent, since, doNudge, doTriage, doStop),
			c.finding(fleet.AlertKey{Rule: "other", Subject: key.Subject}, agent, since, doInterrupt, doStop))
		found.Alerts = append(found.Alerts, fleet.Alert{AlertKey: key, Status: fleet.AlertFiring, Since: c.sim.instant(since)})
		snap.Agents.Value = append(snap.Agents.Value, agent)
	}
	return snap, found
}

func (c *court) finding(k fleet.AlertKey, a fleet.Agent, since stamp, dos ...string) fleet.Finding {
	f := fleet.Finding{AlertKey: k, Firing: true, Fresh: true, Since: c.sim.instant(since), Parts: []fleet.PartName{fleet.PartAgents}}
	for _, do := range dos {
		if !rarely(c.t, "not yet "+do, 3) {
			f.Wishes = append(f.Wishes, fleet.Wish{Do: do, Subject: k.Subject, Target: fleet.Target{Agent: &a}})
		}
	}
	return f
}

// check is what every action must keep, by the test's own count.
func (c *court) check(a fleet.Action) {
	fail := func(why string) { c.t.Fatalf("%s on %s for %s: %s", a.Do, a.Subject, a.For.Rule, why) }
	if a.Do == doTriage {
		c.checkBudget(fail)
		return
	}
	now := c.sim.instant(c.sim.now)
	if a.Target.Agent.Progress == fleet.ProgressSome {
		fail("it works")
	}
	var newest *fleet.Verdict
	for i := range c.verdicts {
		if v := &c.verdicts[i]; v.Alert.Subject == a.Subject {
			newest = v
		}
	}
	if newest == nil || newest.At.Before(c.sim.instant(c.stuck[a.Subject.Name])) || !now.Before(newest.Expires) {
		return
	}
	sure := newest.Confidence >= c.policy.Triage.Confidence
	switch {
	case newest.Word == fleet.VerdictExtend && sure && now.Before(newest.Until):
		fail(fmt.Sprintf("it was to be left alone until %v", newest.Until))
	case a.For.Rule == "agent-stuck" && a.Do != doNudge && (newest.Word == fleet.VerdictAsk || newest.Word == "rm -rf" || !sure):
		fail("it was left to a person")
	}
}

func (c *court) checkBudget(fail func(string)) {
	t := c.policy.Triage
	hour, day, money := 1, 1, t.CallPrice
	for _, e := range c.sim.log {
		if e.open && e.record.Do == doTriage {
			fail("another one is under way")
		}
	}
	for _, call := range c.asked {
		if c.sim.since(call.at) < time.Hour {
			hour++
		}
		if c.sim.since(call.at) < 24*time.Hour {
			day, money = day+1, money+call.price
		}
	}
	if hour > t.PerHour || day > t.PerDay || t.MoneyPerDay > 0 && money > t.MoneyPerDay {
		fail(fmt.Sprintf("%d calls in an hour, %d in a day, %d for money, of %+v", hour, day, money, t))
	}
}
