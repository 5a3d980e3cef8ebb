package loop_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/assess"
	"custos/internal/decide"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/rules"
)

// TestHistories plays random histories of a small fleet through the pure core
// (rules, assess, decide) and checks, from the truth and with its own counting,
// what Custos promises. CUSTOS_HISTORIES sets how many (300); `make soak`
// asks for 1 000 000.
func TestHistories(t *testing.T) {
	sets := tables(t)
	const shards = 2
	fleettest.Checks(t, fleettest.Histories(t)/shards)
	seen := &tally{counts: map[string]int{}}
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { newHistory(t, pick(t, sets...), seen).play() })
			})
		}
	})
	t.Logf("plans held: %v", seen.counts)
	if !t.Failed() && fleettest.Histories(t) >= 5000 {
		seen.check(t)
	}
}

// tally counts what the plans of all histories held, so that a promise is not
// kept only because nothing ever put it to the test.
type tally struct {
	sync.Mutex
	counts map[string]int
}

func (c *tally) add(plan fleet.Plan) {
	c.Lock()
	defer c.Unlock()
	for _, a := range plan.Actions {
		c.counts["do "+a.Do]++
	}
	for _, s := range plan.Skipped {
		c.counts["guard "+string(s.Guard)]++
	}
}

// check wants every action and every guard to have come up.
func (c *tally) check(t *testing.T) {
	for _, what := range []string{"do stop-tree", "do rotate-log", "do remove-lock", "do abort-rebase", "do checkout-primary",
		"do remove-worktree", "do clear-build-output", "do remove-phase", "do start-agent", "do notify-terminal",
		"guard in-flight", "guard frozen", "guard mode", "guard foreign", "guard paused", "guard person-stopped", "guard evidence",
		"guard grace", "guard cause-first", "guard cannot", "guard cooldown", "guard attempts", "guard budget", "guard blast-radius",
		"guard approval", "guard limit"} {
		if c.counts[what] == 0 {
			t.Errorf("no history held %q: the world is too tame", what)
		}
	}
}

// tables are the built-in rules as users may have them.
func tables(t *testing.T) []*rules.Set {
	const start = `
[rule.agent-down]
priority = "P2"
over     = "agent"
expr     = "agent.state in ['crashed', 'stopped']"
summary  = "agent.name + ' is down'"
actions  = [{ do = "start-agent" }]
mode     = "auto"
cooldown = "1m"
attempts = "3 in 1h"
`
	var sets []*rules.Set
	for i, text := range []string{start, start + `
[rule.memory-crisis]
mode = "auto"
actions = [{ do = "stop-tree", targets = "agent", where = "agent.oneshot && agent.age > duration('1h') && agent.progress == 'none'", order = "agent.rss desc", limit = 1 }]
[rule.agent-oneshot-stale]
mode = "auto"
cooldown = "2m"
caused_by = ["memory-crisis"]
[rule.repo-wrong-branch]
mode = "auto"
`, start + `
[rule.log-large]
mode = "observe"
[rule.lock-dead]
attempts = "1 in 4h"
[rule.agent-oneshot-stale]
mode = "auto"
attempts = "1 in 12h"
`} {
		set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin(), rules.Source{Name: fmt.Sprintf("overlay %d", i), Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	return sets
}

// history is one run of the world with Custos watching it.
type history struct {
	*world
	rules  *rules.Set
	policy fleet.Policy
	past   fleet.Past
	alerts map[fleet.AlertKey]fleet.Alert
	deeds  []*deed
	seen   *tally
}

// deed is an action as the test itself remembers it.
type deed struct {
	record fleet.ActionRecord
	moment moment // when it was planned, or has ended
	ends   time.Duration
	open   bool
}

func newHistory(t *rapid.T, set *rules.Set, seen *tally) *history {
	h := &history{world: newWorld(t), rules: set, seen: seen, alerts: map[fleet.AlertKey]fleet.Alert{}}
	h.policy = fleet.Policy{
		Grace:     pick(t, 0, fleet.Duration(2*time.Minute)),
		Budget:    fleet.Attempts{Max: pick(t, 0, 1, 2, 5), In: pick(t, fleet.Duration(hour), fleet.Duration(6*hour))},
		Blast:     pick(t, 0, 1, 2),
		Abilities: map[string]fleet.Ability{},
	}
	for _, do := range []string{"stop-tree", "rotate-log", "remove-lock", "abort-rebase", "checkout-primary", "remove-worktree", "clear-build-output", "remove-phase"} {
		h.policy.Abilities[do] = fleet.Ability{Do: do, Idempotent: do != "rotate-log"}
	}
	h.policy.Abilities["start-agent"] = fleet.Ability{Do: "start-agent", Starts: true}
	if once(t, 10) {
		h.policy.Abilities["remove-lock"] = fleet.Ability{Do: "remove-lock", Cannot: "no privilege"}
	}
	h.policy.Abilities["notify-terminal"] = fleet.Ability{Do: "notify-terminal", Harmless: true}
	h.past.StartedAt = h.instant(h.now)
	return h
}

func (h *history) play() {
	for range rapid.IntRange(1, 6).Draw(h.t, "passes") {
		h.change()
		snap := h.look(false)
		snap.Patrol = h.past.Patrol + 1
		found, plan := h.think(snap, once(h.t, 4))
		h.check(snap, found, plan)
		h.keep(snap, found)
		h.start(plan)
	}
	h.settle()
}

// change lets time pass, ends what was under way, and lets people have their say.
func (h *history) change() {
	t := h.t
	if h.world.pass() || once(t, 12) { // a reboot, or a crash of Custos alone
		h.past.StartedAt = h.instant(h.now)
		for _, d := range h.deeds {
			if d.open {
				h.end(d, fleet.ResultInDoubt)
			}
		}
	}
	for _, d := range h.deeds {
		if d.open && d.ends <= h.now.true {
			h.finish(d)
		}
	}
	h.policy.Mode = pick(t, fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAsk, fleet.ModeObserve)
	h.policy.ApprovedBy, h.policy.Frozen, h.past.Amnesia, h.policy.Paused = "", "", once(t, 20), nil
	if once(t, 2) {
		h.policy.ApprovedBy = "ann"
	}
	if once(t, 12) {
		h.policy.Frozen = "by ann"
	}
	if len(h.agents) > 0 && once(t, 8) {
		h.policy.Paused = []fleet.Subject{{Kind: fleet.KindAgent, Name: pick(t, h.agents...).name}}
	}
	h.person()
}

// person stops an agent for good, or takes one up again that was stopped.
func (h *history) person() {
	if len(h.agents) == 0 || !once(h.t, 5) {
		return
	}
	a := pick(h.t, h.agents...)
	s := fleet.Subject{Kind: fleet.KindAgent, Name: a.name}
	if h.isStopped(s) {
		h.past.Registrations = slices.DeleteFunc(slices.Clone(h.past.Registrations), func(r fleet.Registration) bool { return r.Name == a.name })
		h.run(a)
		return
	}
	h.past.Registrations = append(slices.Clone(h.past.Registrations), fleet.Registration{Name: a.name, Desired: fleet.DesiredStopped, DesiredBy: "ann"})
	a.end(fleet.StateStopped, h.now.true)
	h.past.Silences = []fleet.Silence{{Subject: s, By: "ann", From: h.instant(h.now), Until: h.instant(h.now).Add(hour)}}
}

// isStopped says whether a person has stopped an agent.
func (h *history) isStopped(s fleet.Subject) bool {
	return s.Kind == fleet.KindAgent && slices.ContainsFunc(h.past.Registrations, func(r fleet.Registration) bool { return r.Name == s.Name })
}

// think runs the pure core; when asked to, twice, and compares the bytes.
func (h *history) think(snap fleet.Snapshot, twice bool) (fleet.Assessment, fleet.Plan) {
	h.past.Actions = nil
	for _, d := range h.deeds {
		h.past.Actions = append(h.past.Actions, d.record)
	}
	found := assess.Assess(h.rules, snap, h.past)
	plan := decide.Decide(h.policy, snap, found, h.past)
	h.seen.add(plan)
	if !twice {
		return found, plan
	}
	before := encode(h.t, snap, h.past, h.policy)
	again := assess.Assess(h.rules, snap, h.past)
	if a, b := encode(h.t, found, plan), encode(h.t, again, decide.Decide(h.policy, snap, again, h.past)); !bytes.Equal(a, b) {
		h.t.Fatalf("the same inputs gave\n%s\nand\n%s", a, b)
	}
	if !bytes.Equal(before, encode(h.t, snap, h.past, h.policy)) {
		h.t.Fatal("the inputs were changed")
	}
	return found, plan
}

// keep remembers what the store would.
func (h *history) keep(snap fleet.Snapshot, found fleet.Assessment) {
	for _, a := range found.Alerts {
		if a.Status == fleet.AlertFiring && once(h.t, 6) {
			a.AckedBy, a.AckedAt = "ann", snap.At
		}
		h.alerts[a.AlertKey] = a
		h.past.NextAlert = max(h.past.NextAlert, a.Number+1)
	}
	h.past.Alerts = nil
	for _, a := range h.alerts {
		h.past.Alerts = append(h.past.Alerts, a)
	}
	slices.SortFunc(h.past.Alerts, func(a, b fleet.Alert) int { return cmp.Compare(a.String(), b.String()) })
	h.past.Patrol, h.past.Newest = snap.Patrol, snap.At
}

// start begins the actions of a plan; some end at once.
func (h *history) start(plan fleet.Plan) {
	for _, a := range plan.Actions {
		d := &deed{record: fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At}, moment: h.now, open: true}
		d.ends = h.now.true + pick(h.t, 0, 0, 10*time.Second, 30*time.Minute)
		h.deeds = append(h.deeds, d)
		if d.ends == h.now.true {
			h.finish(d)
		}
	}
}

// finish ends an action as it may end. It re-checks before it does anything.
func (h *history) finish(d *deed) {
	status := pick(h.t, fleet.ResultDone, fleet.ResultDone, fleet.ResultDone, fleet.ResultUnverified, fleet.ResultFailed, fleet.ResultUnneeded)
	if h.lawful(d.record.Action) != "" {
		status = fleet.ResultRefused
	}
	if status == fleet.ResultDone || status == fleet.ResultUnverified {
		h.do(d.record.Action)
	}
	h.end(d, status)
}

func (h *history) end(d *deed, status fleet.ResultStatus) {
	d.open, d.moment = false, h.now
	d.record.Stage = fleet.StageEnded
	d.record.Result = &fleet.Result{ActionID: d.record.ID, Do: d.record.Do, Subject: d.record.Subject, For: d.record.For,
		Status: status, Ended: h.instant(h.now)}
	h.past.Newest = h.instant(h.now)
}

// settle looks with clear eyes, lets every action of an unhampered plan succeed,
// and looks again at the same instant: nothing may be left to do but what had to
// wait for the first plan, and that must come to an end.
func (h *history) settle() {
	h.now.true += 25 * hour
	h.now.skew = max(h.now.skew, 48*hour) // no record lies ahead
	for _, d := range h.deeds {
		if d.open {
			h.finish(d)
		}
	}
	h.deeds, h.past.Amnesia = nil, false // a day later, nothing is remembered
	h.policy.Mode, h.policy.ApprovedBy, h.policy.Frozen, h.policy.Paused = fleet.ModeAuto, "ann", "", nil
	h.policy.Budget, h.policy.Blast = fleet.Attempts{}, 0
	var before fleet.Plan
	done := map[string]bool{}
	for range 9 {
		snap := h.look(true)
		snap.Patrol = h.past.Patrol + 1
		found, plan := h.think(snap, false)
		h.check(snap, found, plan)
		h.keep(snap, found)
		if len(done) > 0 {
			h.checkWaited(plan, before)
		}
		if len(plan.Actions) == 0 {
			return
		}
		for _, a := range plan.Actions {
			if key := a.Do + a.Subject.String(); done[key] {
				h.t.Fatalf("%s on %s succeeded, and is planned again", a.Do, a.Subject)
			} else {
				done[key] = true
			}
			d := &deed{record: fleet.ActionRecord{Action: a, PlannedAt: plan.At}, moment: h.now}
			h.do(a)
			h.deeds = append(h.deeds, d)
			h.end(d, fleet.ResultDone)
		}
		before = plan
	}
	h.t.Fatal("the fleet does not come to rest")
}

// checkWaited: a plan after an all-successful one holds only what that one
// refused for want of a turn, and what it set free.
func (h *history) checkWaited(plan, before fleet.Plan) {
	for _, a := range plan.Actions {
		waited := slices.ContainsFunc(before.Skipped, func(s fleet.Skipped) bool {
			return s.Do == a.Do && s.Subject == a.Subject &&
				(s.Guard == fleet.GuardInFlight || s.Guard == fleet.GuardLimit || s.Guard == fleet.GuardCause)
		})
		_, path, _ := hold(a.Target)
		freed := slices.ContainsFunc(before.Actions, func(b fleet.Action) bool {
			return b.Do == "stop-tree" && path != "" && within(b.Target.Agent.CWD.Or(""), path)
		})
		if !waited && !freed {
			h.t.Fatalf("all was done, and yet there is %s on %s for %s: %s", a.Do, a.Subject, a.For, a.Why)
		}
	}
	for _, s := range plan.Skipped {
		done := slices.ContainsFunc(before.Actions, func(b fleet.Action) bool { return b.Do == s.Do && b.Subject == s.Subject })
		if done && s.Guard == fleet.GuardCooldown && !h.policy.Abilities[s.Do].Harmless {
			h.t.Fatalf("%s on %s succeeded, and is wished for again: %s", s.Do, s.Subject, s.Action.Why)
		}
	}
}

func encode(t *rapid.T, values ...any) []byte {
	b, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
