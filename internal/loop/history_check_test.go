package loop_test

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// check holds a plan against the truth, and counts for itself.
func (h *history) check(snap fleet.Snapshot, found fleet.Assessment, plan fleet.Plan) {
	h.checkAnswered(found, plan)
	h.checkBlind(snap, found)
	reached := map[fleet.Kind][]fleet.Subject{}
	real := 0
	for i, a := range plan.Actions {
		harmless := h.policy.Abilities[a.Do].Harmless
		h.checkAlone(plan.Actions[:i], a)
		h.checkKnown(snap, found, a)
		h.checkWindows(a, found.Rules[a.For.Rule])
		if why := h.lawful(a); why != "" {
			h.t.Fatalf("%s on %s for %s: %s", a.Do, a.Subject, a.For, why)
		}
		if slices.Contains(h.policy.Paused, a.Subject) {
			h.t.Fatalf("%s on %s, which is paused", a.Do, a.Subject)
		}
		if harmless {
			continue
		}
		h.checkPermitted(snap, found.Rules[a.For.Rule], a)
		if real++; !slices.Contains(reached[a.Subject.Kind], a.Subject) {
			reached[a.Subject.Kind] = append(reached[a.Subject.Kind], a.Subject)
		}
		if n := len(reached[a.Subject.Kind]); h.policy.Blast > 0 && n > h.policy.Blast {
			h.t.Fatalf("%d of kind %s in one plan", n, a.Subject.Kind)
		}
	}
	h.checkBudget(real)
}

// checkAnswered: every firing finding has an action, a refusal or "no action".
func (h *history) checkAnswered(found fleet.Assessment, plan fleet.Plan) {
	answers := map[fleet.AlertKey]int{}
	for _, a := range plan.Actions {
		answers[a.For]++
	}
	for _, s := range plan.Skipped {
		answers[s.For]++
	}
	for _, k := range plan.Idle {
		answers[k]++
	}
	for _, f := range found.Findings {
		want := max(len(f.Wishes), 1)
		if !f.Firing {
			want = 0
		}
		if answers[f.AlertKey] != want {
			h.t.Fatalf("%s has %d answers, not %d", f.AlertKey, answers[f.AlertKey], want)
		}
		delete(answers, f.AlertKey)
	}
	if len(answers) > 0 {
		h.t.Fatalf("answers to nothing: %v", answers)
	}
}

// checkBlind: what cannot be seen does not end an alert.
func (h *history) checkBlind(snap fleet.Snapshot, found fleet.Assessment) {
	for _, a := range found.Alerts {
		if a.Subject.Kind == fleet.KindPart || a.Subject.Kind == fleet.KindSelf {
			continue
		}
		before, was := h.alerts[a.AlertKey]
		ended := a.Status == fleet.AlertResolved && was && before.Status != fleet.AlertResolved
		if s := snap.Sight(fleet.PartOf(a.Subject.Kind)); ended && !s.Usable() {
			h.t.Fatalf("%s ended while %s is %s", a.AlertKey, fleet.PartOf(a.Subject.Kind), s.Status)
		}
	}
}

// checkAlone: never two actions on one subject, one process, or a folder that
// one of them changes.
func (h *history) checkAlone(planned []fleet.Action, a fleet.Action) {
	others := slices.Clone(planned)
	for _, d := range h.deeds {
		if d.open {
			others = append(others, d.record.Action)
		}
	}
	for _, o := range others {
		if o.Subject == a.Subject || h.overlap(a, o) {
			h.t.Fatalf("%s on %s while %s on %s is under way", a.Do, a.Subject, o.Do, o.Subject)
		}
	}
}

func (h *history) overlap(a, b fleet.Action) bool {
	if h.policy.Abilities[a.Do].Harmless || h.policy.Abilities[b.Do].Harmless {
		return false
	}
	pidsA, pathA, changesA := hold(a.Target)
	pidsB, pathB, changesB := hold(b.Target)
	for _, p := range pidsA {
		if slices.Contains(pidsB, p) && !(changesA && changesB) {
			return true
		}
	}
	if pathA == "" || pathB == "" {
		return false
	}
	return changesB && within(pathA, pathB) || changesA && within(pathB, pathA) || changesA && changesB && within(pathA, pathB)
}

// hold returns what a target has to do with: its processes, its path, and
// whether an action changes what is at that path.
func hold(t fleet.Target) (pids []int, path string, changes bool) {
	switch {
	case t.Agent != nil:
		if t.Agent.Process.PID != 0 {
			pids = []int{t.Agent.Process.PID}
		}
		return pids, t.Agent.CWD.Or(""), false
	case t.Worktree != nil:
		return t.Worktree.Occupied.Or(nil), t.Worktree.Path, true
	case t.Repo != nil:
		return t.Repo.Occupied.Or(nil), t.Repo.Path, true
	case t.Log != nil:
		return nil, t.Log.Path, true
	}
	return nil, "", false
}

// checkKnown: what an action rests on was seen, in this boot, and since the last
// action there.
func (h *history) checkKnown(snap fleet.Snapshot, found fleet.Assessment, a fleet.Action) {
	i := slices.IndexFunc(found.Findings, func(f fleet.Finding) bool { return f.AlertKey == a.For })
	if i < 0 || !found.Findings[i].Firing {
		h.t.Fatalf("%s on %s for %s, which does not fire", a.Do, a.Subject, a.For)
	}
	for _, k := range []fleet.Kind{a.Subject.Kind, a.For.Subject.Kind} {
		s := snap.Sight(fleet.PartOf(k))
		if s.Status != fleet.StatusOK {
			h.t.Fatalf("%s on %s rests on %s, which is %s", a.Do, a.Subject, fleet.PartOf(k), s.Status)
		}
	}
	if h.unknown(a) {
		h.t.Fatalf("%s on %s for %s rests on what was not seen", a.Do, a.Subject, a.For)
	}
	if !h.policy.Abilities[a.Do].Harmless && (h.past.Amnesia || h.past.ClockBehind(snap.At)) {
		h.t.Fatalf("%s on %s without knowing the past", a.Do, a.Subject)
	}
}

// unknown says whether the target lacks a fact without which the action is wrong.
func (h *history) unknown(a fleet.Action) bool {
	t := a.Target
	switch a.Do {
	case "stop-tree":
		return !t.Agent.Age.IsKnown() || t.Agent.Progress == fleet.ProgressUnknown
	case "remove-lock":
		return !t.Lock.Holder.IsKnown()
	case "remove-worktree":
		return !t.Worktree.Removable.IsKnown() || !t.Worktree.Occupied.IsKnown()
	case "clear-build-output":
		return !t.Worktree.Occupied.IsKnown() || !t.Worktree.BulkBytes.IsKnown()
	case "rotate-log":
		return !t.Log.Bytes.IsKnown()
	case "remove-phase":
		return !t.Phase.Closed.IsKnown()
	case "abort-rebase":
		return !t.Repo.Operation.IsKnown() || !t.Repo.Occupied.IsKnown()
	case "checkout-primary":
		return !t.Repo.Branch.IsKnown()
	}
	return false
}

// checkPermitted: what people forbid is not done.
func (h *history) checkPermitted(snap fleet.Snapshot, rule fleet.Remedy, a fleet.Action) {
	fail := func(why string) { h.t.Fatalf("%s on %s for %s: %s", a.Do, a.Subject, a.For, why) }
	approved := h.policy.ApprovedBy != ""
	sameBoot := snap.At.Boot == h.past.StartedAt.Boot
	switch {
	case h.policy.Frozen != "":
		fail("frozen")
	case rule.Mode == fleet.ModeObserve:
		fail("the rule observes")
	case !approved && (h.policy.Mode != fleet.ModeAuto || rule.Mode != fleet.ModeAuto):
		fail("nobody approved")
	case a.Do == "start-agent" && h.isStopped(a.Subject):
		fail("a person stopped it")
	case a.Subject.Kind == fleet.KindAgent && !approved && sameBoot &&
		snap.At.Up-h.past.StartedAt.Up < h.policy.Grace:
		fail("Custos has just started")
	}
}

// since is how much time has passed, as far as a clock that jumps can tell.
func (h *history) since(then moment) time.Duration {
	d := h.now.true - then.true
	if then.boot != h.now.boot {
		d += h.now.skew - then.skew
	}
	return d
}

// checkWindows counts cooldown and attempts.
func (h *history) checkWindows(a fleet.Action, r fleet.Remedy) {
	tries := 0
	var last *deed
	for _, d := range h.deeds {
		if d.open || d.record.Do != a.Do || d.record.Subject != a.Subject {
			continue
		}
		if ago := h.since(d.moment); ago < time.Duration(r.Cooldown) {
			h.t.Fatalf("%s on %s %s after the last, cooldown %s", a.Do, a.Subject, ago, r.Cooldown)
		}
		if counts(d) {
			if last == nil || h.since(d.moment) <= h.since(last.moment) {
				last = d
			}
			if h.since(d.moment) < time.Duration(r.Attempts.In) {
				tries++
			}
		}
	}
	if r.Attempts.Max > 0 && tries >= r.Attempts.Max {
		h.t.Fatalf("%s on %s for the %d. time in %s, allowed %d", a.Do, a.Subject, tries+1, r.Attempts.In, r.Attempts.Max)
	}
	if last != nil && last.record.Result.Status == fleet.ResultInDoubt && !h.policy.Abilities[a.Do].Idempotent &&
		!h.acked(a.For, last.record.For) {
		h.t.Fatalf("%s on %s though the last is in doubt", a.Do, a.Subject)
	}
}

func counts(d *deed) bool {
	s := d.record.Result.Status
	return s != fleet.ResultUnneeded && s != fleet.ResultRefused
}

func (h *history) acked(keys ...fleet.AlertKey) bool {
	return slices.ContainsFunc(keys, func(k fleet.AlertKey) bool { return !h.alerts[k].AckedAt.IsZero() })
}

func (h *history) checkBudget(planned int) {
	spent := planned
	for _, d := range h.deeds {
		if !h.policy.Abilities[d.record.Do].Harmless && (d.open || counts(d) && h.since(d.moment) < time.Duration(h.policy.Budget.In)) {
			spent++
		}
	}
	if b := h.policy.Budget; planned > 0 && b.Max > 0 && spent > b.Max {
		h.t.Fatalf("%d actions in %s, allowed %d", spent, b.In, b.Max)
	}
}
