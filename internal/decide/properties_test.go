package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
)

// TestHistories plays random histories of findings that need not make sense,
// and counts for itself what Decide must keep. internal/loop does the same with
// a simulated fleet and the real rules; here the inputs are wilder.
func TestHistories(t *testing.T) {
	checks(t, 5)
	for shard := range 2 {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { newSim(t).play() })
		})
	}
}

// checks sets how many histories each of the two shards plays: in all, one for
// every share of CUSTOS_HISTORIES.
func checks(t *testing.T, share int) {
	fleettest.Checks(t, fleettest.Histories(t)/share/2)
}

// entry is what the test itself remembers of an action.
type entry struct {
	record fleet.ActionRecord
	moment stamp // planned, and once it has ended, ended
	open   bool
	ends   time.Duration // true time
}

// stamp is a moment by the test's own clock: true time never jumps.
type stamp struct {
	true time.Duration
	skew time.Duration // of the wall clock
	boot int
}

// sim is one history.
type sim struct {
	t      *rapid.T
	now    stamp
	booted time.Duration
	policy fleet.Policy
	rules  map[string]fleet.Remedy
	log    []*entry
	past   fleet.Past
	acked  map[fleet.AlertKey]stamp
	firing map[fleet.AlertKey]bool // false: an alert that is known not to fire
}

var (
	simDos   = []string{"stop-tree", "rotate-log", "rotate-log", "start-agent", "start-agent", "notify-terminal", "unheard-of", "locked-out"}
	simRules = []string{"r1", "r2", "r3", "r4"}
	simNames = []fleet.Subject{
		{Kind: fleet.KindAgent, Name: "a"}, {Kind: fleet.KindAgent, Name: "b"}, {Kind: fleet.KindAgent, Name: "c"},
		{Kind: fleet.KindWorktree, Name: "/w/x"}, {Kind: fleet.KindWorktree, Name: "/w/y"},
		{Kind: fleet.KindLock, Name: "/w/x/l.lock"},
		{Kind: fleet.KindLog, Name: "/w/y/z.log"}, {Kind: fleet.KindHost, Name: "h"},
	}
	simOwners = []fleet.Owner{fleet.OwnerConfigured, fleet.OwnerCustos, fleet.OwnerAdopted, fleet.OwnerConfigured, fleet.OwnerForeign, ""}
	simModes  = []fleet.Mode{fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAuto, fleet.ModeAsk, fleet.ModeObserve, ""}
)

func pick[T any](t *rapid.T, what string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

// rarely is true once in n.
func rarely(t *rapid.T, what string, n int) bool { return rapid.IntRange(0, n-1).Draw(t, what) == n-1 }

func newSim(t *rapid.T) *sim {
	s := &sim{t: t, rules: map[string]fleet.Remedy{}, acked: map[fleet.AlertKey]stamp{}, now: stamp{true: time.Hour}}
	windows := []fleet.Duration{0, fleet.Duration(time.Minute), fleet.Duration(10 * time.Minute), fleet.Duration(time.Hour)}
	for _, r := range simRules {
		s.rules[r] = fleet.Remedy{Mode: pick(t, "mode", simModes), Cooldown: pick(t, "cooldown", windows),
			Attempts: fleet.Attempts{Max: rapid.IntRange(0, 3).Draw(t, "max"), In: pick(t, "in", windows)}}
	}
	s.policy = fleet.Policy{
		Grace:  pick(t, "grace", windows[:3]),
		Budget: fleet.Attempts{Max: rapid.IntRange(0, 6).Draw(t, "budget"), In: pick(t, "budget in", windows)},
		Blast:  rapid.IntRange(0, 3).Draw(t, "blast"),
		Abilities: map[string]fleet.Ability{
			"stop-tree": {Idempotent: true}, "rotate-log": {},
			"start-agent": {Starts: true}, "notify-terminal": {Harmless: true}, "locked-out": {Cannot: "no privilege"},
		},
	}
	s.past.StartedAt = s.instant(s.now)
	return s
}

func (s *sim) instant(at stamp) fleet.Instant {
	epoch := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	booted := s.booted
	if at.boot != s.now.boot {
		booted = 0 // Up of another boot is never compared
	}
	return fleet.Instant{Wall: epoch.Add(at.true + at.skew), Up: fleet.Duration(at.true - booted), Boot: strconv.Itoa(at.boot)}
}

// since is how much time has passed as far as can be told.
func (s *sim) since(then stamp) time.Duration {
	d := s.now.true - then.true
	if then.boot != s.now.boot {
		d += s.now.skew - then.skew
	}
	return d
}

func (s *sim) play() {
	for range rapid.IntRange(2, 9).Draw(s.t, "passes") {
		s.advance()
		snap, found := s.look(), s.judge()
		s.past.Actions = s.records()
		before := encode(s.policy, snap, found, s.past)
		plan := Decide(s.policy, snap, found, s.past)
		if after := encode(s.policy, snap, found, s.past); !bytes.Equal(before, after) {
			s.t.Fatalf("Decide changed its inputs:\n%s\n%s", before, after)
		}
		if again := Decide(s.policy, snap, found, s.past); !bytes.Equal(encode(plan), encode(again)) {
			s.t.Fatalf("the same inputs gave\n%s\nand\n%s", encode(plan), encode(again))
		}
		s.check(snap, found, plan)
		s.keepsItsWord(snap, found, plan)
		s.act(plan)
	}
}

// advance lets time pass, ends actions, and changes what people want.
func (s *sim) advance() {
	t := s.t
	s.now.true += pick(t, "wait", []time.Duration{time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour})
	if rarely(t, "jump", 10) {
		s.now.skew += pick(t, "skew", []time.Duration{-24 * time.Hour, -5 * time.Minute, 5 * time.Minute, 24 * time.Hour})
	}
	if rarely(t, "reboot", 12) {
		s.now.boot++
		s.booted = s.now.true
		s.past.StartedAt = s.instant(s.now)
	}
	for _, e := range s.log {
		if e.open && e.ends <= s.now.true {
			s.end(e)
		}
	}
	s.policy.Mode = pick(t, "fleet mode", simModes)
	s.policy.ApprovedBy, s.policy.Frozen, s.policy.Paused, s.past.Registrations, s.past.Amnesia = "", "", nil, nil, rarely(t, "amnesia", 20)
	if rarely(t, "approved", 4) {
		s.policy.ApprovedBy = "ann"
	}
	if rarely(t, "frozen", 12) {
		s.policy.Frozen = "by ann"
	}
	if rarely(t, "paused", 6) {
		s.policy.Paused = []fleet.Subject{pick(t, "paused", simNames)}
	}
	if rarely(t, "stopped", 3) {
		s.past.Registrations = []fleet.Registration{{Name: pick(t, "stopped", simNames[:3]).Name, Desired: fleet.DesiredStopped, DesiredBy: "ann"}}
	}
}

// end gives an open action its result, at the present moment.
func (s *sim) end(e *entry) {
	status := pick(s.t, "status", []fleet.ResultStatus{fleet.ResultDone, fleet.ResultDone, fleet.ResultFailed, fleet.ResultUnverified,
		fleet.ResultUnneeded, fleet.ResultRefused, fleet.ResultInDoubt, fleet.ResultInDoubt})
	e.open, e.moment = false, s.now
	e.record.Stage = fleet.StageEnded
	e.record.Result = &fleet.Result{Status: status, Ended: s.instant(s.now)}
	s.past.Newest = s.instant(s.now)
}

func (s *sim) records() []fleet.ActionRecord {
	out := make([]fleet.ActionRecord, len(s.log))
	for i, e := range s.log {
		out[i] = e.record
	}
	return out
}

// look makes a snapshot of which only the sights matter.
func (s *sim) look() fleet.Snapshot {
	snap := fleet.Snapshot{At: s.instant(s.now)}
	statuses := []fleet.Status{fleet.StatusStale, fleet.StatusPending, fleet.StatusUnknown, fleet.StatusAbsent, ""}
	for _, name := range []fleet.PartName{fleet.PartHost, fleet.PartAgents, fleet.PartRepos, fleet.PartLocks, fleet.PartLogs} {
		sight := snap.Sight(name)
		*sight = fleet.Sight{Status: fleet.StatusOK, At: snap.At}
		if rarely(s.t, "not seen well", 12) {
			sight.Status = pick(s.t, "status", statuses)
		}
		if rarely(s.t, "seen a while ago", 8) {
			sight.At = s.instant(stamp{s.now.true - time.Duration(rapid.IntRange(1, 600).Draw(s.t, "ago"))*time.Second, s.now.skew, s.now.boot})
		}
	}
	return snap
}

// judge makes up findings.
func (s *sim) judge() fleet.Assessment {
	found := fleet.Assessment{Rules: s.rules}
	s.firing = map[fleet.AlertKey]bool{}
	clear(s.acked)
	seen := map[fleet.AlertKey]bool{}
	for range rapid.IntRange(1, 6).Draw(s.t, "findings") {
		k := fleet.AlertKey{Rule: pick(s.t, "rule", simRules), Subject: pick(s.t, "subject", simNames)}
		if seen[k] {
			continue
		}
		seen[k] = true
		found.Findings = append(found.Findings, s.finding(k))
		a := fleet.Alert{AlertKey: k, Status: pick(s.t, "alert", []fleet.AlertStatus{fleet.AlertFiring, fleet.AlertResolved})}
		s.firing[k] = a.Status == fleet.AlertFiring
		if rarely(s.t, "acked", 4) {
			s.acked[k] = s.now
			a.AckedAt = s.instant(s.now)
		}
		found.Alerts = append(found.Alerts, a)
	}
	return found
}

func (s *sim) finding(k fleet.AlertKey) fleet.Finding {
	t := s.t
	f := fleet.Finding{AlertKey: k, Since: s.instant(stamp{}), Firing: !rarely(t, "pending", 8), Fresh: !rarely(t, "not fresh", 8),
		Parts: []fleet.PartName{fleet.PartOf(k.Subject.Kind)}}
	if rarely(t, "caused", 6) {
		f.CausedBy = []fleet.AlertKey{{Rule: pick(t, "cause", simRules), Subject: pick(t, "of", simNames)}}
	}
	for range rapid.IntRange(0, 3).Draw(t, "wishes") {
		w := fleet.Wish{Do: pick(t, "do", simDos), Subject: pick(t, "target", simNames), Limit: rapid.IntRange(0, 2).Draw(t, "limit")}
		if slices.ContainsFunc(f.Wishes, func(o fleet.Wish) bool { return o.Do == w.Do && o.Subject == w.Subject }) {
			continue // no rule wishes for one thing twice, and the check could not tell which was granted
		}
		if rarely(t, "cannot tell", 10) {
			w.Unknown = "not seen"
		}
		w.Target = target(w.Subject, map[string]string{
			"owner": string(pick(t, "owner", simOwners)), "pid": strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "pid")),
			"cwd": pick(t, "cwd", []string{"/w/x", "/w/x/deep", "/w/y", "/w"}), "occupied": pick(t, "occupied", []string{"", "", "1", "2,3"}),
		})
		f.Wishes = append(f.Wishes, w)
	}
	return f
}

// act writes the plan down; each action ends at once or some time later.
func (s *sim) act(plan fleet.Plan) {
	for _, a := range plan.Actions {
		e := &entry{record: fleet.ActionRecord{Action: a, Stage: fleet.StageStarted, PlannedAt: plan.At}, moment: s.now, open: true}
		e.ends = s.now.true + pick(s.t, "takes", []time.Duration{0, 0, time.Second, 10 * time.Minute})
		s.log = append(s.log, e)
		if e.ends == s.now.true {
			s.end(e)
		}
	}
}

// check counts for itself what every plan must keep.
func (s *sim) check(snap fleet.Snapshot, found fleet.Assessment, plan fleet.Plan) {
	s.checkAnswered(found, plan)
	planned := map[fleet.Kind]map[fleet.Subject]bool{}
	real := 0
	for i, a := range plan.Actions {
		f, w := wishOf(s.t, found, a)
		ability, able := s.policy.Abilities[a.Do]
		s.checkAlone(plan.Actions[:i], a, ability.Harmless)
		s.checkKnown(snap, f, w, a, ability)
		s.checkAllowed(f, w, a, ability, able)
		s.checkWindows(a, s.rules[a.For.Rule], ability)
		for _, old := range s.log {
			if old.record.ID == a.ID {
				s.t.Fatalf("%s on %s has the ID of an action of the past", a.Do, a.Subject)
			}
		}
		if ability.Harmless {
			continue
		}
		real++
		if planned[a.Subject.Kind] == nil {
			planned[a.Subject.Kind] = map[fleet.Subject]bool{}
		}
		planned[a.Subject.Kind][a.Subject] = true
		if n := len(planned[a.Subject.Kind]); s.policy.Blast > 0 && n > s.policy.Blast {
			s.t.Fatalf("%d subjects of kind %s in one plan", n, a.Subject.Kind)
		}
	}
	s.checkBudget(real)
	s.checkLimits(found, plan)
}

// checkLimits: no finding got more targets than its rule takes at once, as far
// as the wishes that were granted agree on how many those are.
func (s *sim) checkLimits(found fleet.Assessment, plan fleet.Plan) {
	for _, f := range found.Findings {
		granted, limit := map[string]int{}, map[string]int{}
		for _, a := range plan.Actions {
			if a.For == f.AlertKey {
				granted[a.Do]++
			}
		}
		for _, w := range f.Wishes {
			if w.Limit == 0 {
				limit[w.Do] = len(f.Wishes)
			}
			limit[w.Do] = max(limit[w.Do], w.Limit)
		}
		for do, n := range granted {
			if n > limit[do] {
				s.t.Fatalf("%s took %d targets for %s, %d allowed", f.AlertKey, n, do, limit[do])
			}
		}
	}
}

// checkAnswered: every wish of a firing finding is an action or a refusal, every
// firing finding without wishes is idle, and nothing else is in the plan.
func (s *sim) checkAnswered(found fleet.Assessment, plan fleet.Plan) {
	answers := map[string]int{}
	for _, a := range plan.Actions {
		answers[fmt.Sprint(a.For, a.Do, a.Subject)]++
	}
	for _, k := range plan.Skipped {
		answers[fmt.Sprint(k.For, k.Do, k.Subject)]++
		if k.Guard == "" || k.Why == "" {
			s.t.Fatalf("a refusal without a reason: %+v", k)
		}
	}
	for _, k := range plan.Idle {
		answers[fmt.Sprint(k)]++
	}
	for _, f := range found.Findings {
		if f.Firing && len(f.Wishes) == 0 {
			answers[fmt.Sprint(f.AlertKey)]--
		}
		for _, w := range f.Wishes {
			if f.Firing {
				answers[fmt.Sprint(f.AlertKey, w.Do, w.Subject)]--
			}
		}
	}
	for what, n := range answers {
		if n != 0 {
			s.t.Fatalf("%s is answered %+d times too often", what, n)
		}
	}
}

func wishOf(t *rapid.T, found fleet.Assessment, a fleet.Action) (fleet.Finding, fleet.Wish) {
	for _, f := range found.Findings {
		for _, w := range f.Wishes {
			if f.AlertKey == a.For && w.Do == a.Do && w.Subject == a.Subject && bytes.Equal(encode(w.Target), encode(a.Target)) {
				return f, w
			}
		}
	}
	t.Fatalf("nobody wished for %s on %s", a.Do, a.Subject)
	return fleet.Finding{}, fleet.Wish{}
}

// checkAlone: no two actions on one subject, one process, or one folder that
// either of them changes.
func (s *sim) checkAlone(planned []fleet.Action, a fleet.Action, harmless bool) {
	others := slices.Clone(planned)
	for _, e := range s.log {
		if e.open {
			others = append(others, e.record.Action)
		}
	}
	for _, o := range others {
		messages := harmless || s.policy.Abilities[o.Do].Harmless
		if o.Subject == a.Subject || !messages && overlap(a.Target, o.Target) {
			s.t.Fatalf("%s on %s while %s on %s is under way", a.Do, a.Subject, o.Do, o.Subject)
		}
	}
}

// overlap is a slow and simple second opinion on what is one thing.
func overlap(a, b fleet.Target) bool {
	pidsA, pathA, changesA := hold(a)
	pidsB, pathB, changesB := hold(b)
	for _, p := range pidsA {
		if slices.Contains(pidsB, p) && (a.Agent != nil || b.Agent != nil) {
			return true
		}
	}
	if pathA == "" || pathB == "" || !changesA && !changesB {
		return false
	}
	inside := func(x, y string) bool { return x == y || len(x) > len(y) && x[:len(y)] == y && x[len(y)] == '/' }
	return changesB && inside(pathA, pathB) || changesA && inside(pathB, pathA) ||
		changesA && changesB && (inside(pathA, pathB) || inside(pathB, pathA))
}

func hold(t fleet.Target) (pids []int, path string, changes bool) {
	switch {
	case t.Agent != nil:
		return []int{t.Agent.Process.PID}, t.Agent.CWD.Or(""), false
	case t.Worktree != nil:
		return t.Worktree.Occupied.Or(nil), t.Worktree.Path, true
	case t.Lock != nil:
		return nil, t.Lock.Path, true
	case t.Log != nil:
		return nil, t.Log.Path, true
	}
	return nil, "", false
}

// checkKnown: nothing rests on the unknown, the stale, or the outdated.
func (s *sim) checkKnown(snap fleet.Snapshot, f fleet.Finding, w fleet.Wish, a fleet.Action, ability fleet.Ability) {
	if !f.Firing || !f.Fresh || w.Unknown != "" {
		s.t.Fatalf("%s on %s rests on what is not known: %+v", a.Do, a.Subject, f)
	}
	for _, name := range append(slices.Clone(f.Parts), fleet.PartOf(a.Subject.Kind)) {
		sight := snap.Sight(name)
		if sight.Status != fleet.StatusOK && sight.Status != fleet.StatusAbsent {
			s.t.Fatalf("%s on %s rests on part %s, which is %q", a.Do, a.Subject, name, sight.Status)
		}
		for _, e := range s.log {
			same := e.record.Subject == a.Subject || e.record.For == a.For
			if same && !e.open && !s.policy.Abilities[e.record.Do].Harmless && e.record.Result.Ended.Since(sight.At) > 0 {
				s.t.Fatalf("%s on %s rests on a look of before the last action there", a.Do, a.Subject)
			}
		}
	}
	if ability.Harmless {
		return
	}
	if s.past.Amnesia || s.past.ClockBehind(snap.At) {
		s.t.Fatalf("%s on %s without knowing the past", a.Do, a.Subject)
	}
}

// checkAllowed: what people and circumstances forbid.
func (s *sim) checkAllowed(f fleet.Finding, w fleet.Wish, a fleet.Action, ability fleet.Ability, able bool) {
	fail := func(why string) { s.t.Fatalf("%s on %s for %s: %s", a.Do, a.Subject, a.For, why) }
	mode, rule := s.policy.Mode, s.rules[f.Rule].Mode
	for _, p := range s.policy.Paused {
		if p == a.Subject || p == f.Subject {
			fail("paused")
		}
	}
	for _, r := range s.past.Registrations {
		if ability.Starts && a.Subject == agentSubject(r.Name) {
			fail("a person stopped it")
		}
	}
	if !able || ability.Cannot != "" {
		fail("cannot be done")
	}
	if len(f.CausedBy) > 0 && f.CausedBy[0] != f.AlertKey && s.fires(f.CausedBy[0]) {
		fail("its cause fires")
	}
	if ability.Harmless {
		return
	}
	switch o := w.Target.Owner(); {
	case s.policy.Frozen != "":
		fail("frozen")
	case o == fleet.OwnerForeign || o == "":
		fail("foreign")
	case rule != fleet.ModeAuto && rule != fleet.ModeAsk:
		fail("the rule observes")
	case s.policy.ApprovedBy == "" && (mode != fleet.ModeAuto || rule != fleet.ModeAuto):
		fail("nobody approved")
	case a.Subject.Kind == fleet.KindAgent && s.policy.ApprovedBy == "" && s.plannedNow().Since(s.past.StartedAt) < time.Duration(s.policy.Grace):
		fail("in the grace after the start")
	}
}

func (s *sim) plannedNow() fleet.Instant { return s.instant(s.now) }

// fires: an alert that is not listed in this pass counts as firing.
func (s *sim) fires(k fleet.AlertKey) bool {
	fires, listed := s.firing[k]
	return fires || !listed
}

// checkWindows counts cooldown and attempts by the test's own clock.
func (s *sim) checkWindows(a fleet.Action, r fleet.Remedy, ability fleet.Ability) {
	tries, latest := 0, (*entry)(nil)
	for _, e := range s.log {
		if e.open || e.record.Do != a.Do || e.record.Subject != a.Subject {
			continue
		}
		if d := s.since(e.moment); d < time.Duration(r.Cooldown) || d < time.Minute && r.Cooldown == 0 {
			s.t.Fatalf("%s on %s only %s after the last one", a.Do, a.Subject, d)
		}
		if st := e.record.Result.Status; st == fleet.ResultUnneeded || st == fleet.ResultRefused {
			continue
		}
		if s.since(e.moment) < time.Duration(r.Attempts.In) {
			tries++
		}
		if latest == nil || s.since(e.moment) <= s.since(latest.moment) {
			latest = e
		}
	}
	if r.Attempts.Max > 0 && r.Attempts.In > 0 && tries >= r.Attempts.Max {
		s.t.Fatalf("%s on %s is try %d of %d", a.Do, a.Subject, tries+1, r.Attempts.Max)
	}
	_, acked := s.acked[a.For]
	if latest != nil && latest.record.Result.Status == fleet.ResultInDoubt && !ability.Idempotent && !acked {
		if _, acked := s.acked[latest.record.For]; !acked {
			s.t.Fatalf("%s on %s, though the last one is in doubt", a.Do, a.Subject)
		}
	}
}

func (s *sim) checkBudget(planned int) {
	spent := planned
	for _, e := range s.log {
		harmless := s.policy.Abilities[e.record.Do].Harmless
		idle := !e.open && (e.record.Result.Status == fleet.ResultUnneeded || e.record.Result.Status == fleet.ResultRefused)
		if !harmless && !idle && (e.open || s.since(e.moment) < time.Duration(s.policy.Budget.In)) {
			spent++
		}
	}
	if b := s.policy.Budget; planned > 0 && b.Max > 0 && b.In > 0 && spent > b.Max {
		s.t.Fatalf("%d actions in %s, %d allowed", spent, b.In, b.Max)
	}
}

func encode(values ...any) []byte {
	b, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return b
}
