package assess

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/rules"
)

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func encode(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("cannot encode: %v", err)
	}
	return string(b)
}

func copyOf[T any](t fataler, v T) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(encode(t, v)), &out); err != nil {
		t.Fatalf("cannot copy: %v", err)
	}
	return out
}

// sick is a world in which nearly every built-in rule is true of something.
func sick(at fleet.Instant) fleet.Snapshot {
	s := healthy(at)
	s.Host.Value.Memory.Available = fleet.Known(int64(100))
	s.Host.Value.OOMRecent = fleet.Known(int64(2))
	s.Host.Value.Mounts[0].UsedPercent, s.Host.Value.Mounts[0].InodesPercent = fleet.Known(95.0), fleet.Known(95.0)
	s.Agents.Value = nil
	for _, state := range []fleet.AgentState{fleet.StateWaiting, fleet.StateRateLimited, fleet.StateZombie} {
		a := healthyAgent(string(state))
		a.State, a.Dwell, a.OneShot, a.Age, a.Progress = state, hours(1), true, hours(5), fleet.ProgressNone
		s.Agents.Value = append(s.Agents.Value, a)
	}
	r := &s.Repos.Value.Repos[0]
	r.Branch, r.Operation, r.OperationAge = fleet.Known("x"), fleet.Known("rebase"), hours(3)
	w := s.Repos.Value.Worktrees[0]
	w.Age, w.BulkBytes = hours(5), fleet.Known(int64(1)<<30)
	crashed := w
	crashed.Path, crashed.Crashed, crashed.CrashedAge = "/w2", true, hours(40)
	s.Repos.Value.Worktrees = []fleet.Worktree{w, crashed}
	l := s.Locks.Value[0]
	l.Holder = fleet.Known(fleet.HolderDead)
	waited := l
	waited.Path, waited.WaitedFor = "/l2", true
	s.Locks.Value = []fleet.Lock{l, waited}
	s.Phases.Value[0].Phase, s.Phases.Value[0].Age = fleet.Known("escalate"), hours(30)
	s.Logs.Value[0].Bytes = fleet.Known(int64(1) << 30)
	self := &s.Self.Value
	self.LastPatrolAge, self.JournalWritable, self.StoreWritable, self.Amnesia, self.ClockBehind = hours(3), fleet.Known(false), fleet.Known(false), fleet.Known(true), fleet.Known(true)
	self.Lost, self.MemoryDiffers, self.RowsAside, self.Moved = fleet.Known("gone"), fleet.Known("orders o1"), fleet.Known(1), fleet.Known("custos.db was deleted")
	return s
}

// checkBlinding makes every part and leaf unknown in turn, and demands that no
// blindness brings up a finding or a wish, or ends an alert.
func checkBlinding(t fataler, set *rules.Set, snap fleet.Snapshot, past fleet.Past) {
	t.Helper()
	clear := Assess(set, snap, past)
	n := len(fleettest.Leaves(&snap))
	for i := range n {
		dark := copyOf(t, snap)
		b := fleettest.Leaves(&dark)[i]
		b.Blind("blinded")
		checkDarker(t, b.Name, clear, Assess(set, dark, past))
	}
}

func checkDarker(t fataler, what string, clear, dark fleet.Assessment) {
	t.Helper()
	for _, f := range dark.Findings {
		if f.Rule == "blind-part" { // of which being blind is the very fact
			continue
		}
		i := slices.IndexFunc(clear.Findings, func(x fleet.Finding) bool { return x.AlertKey == f.AlertKey })
		if i < 0 || f.Firing && !clear.Findings[i].Firing || f.Fresh && !clear.Findings[i].Fresh {
			t.Fatalf("without %s: %+v came up", what, f)
		}
		for _, w := range f.Wishes {
			if w.Unknown == "" && !slices.ContainsFunc(clear.Findings[i].Wishes, func(x fleet.Wish) bool {
				return x.Do == w.Do && x.Subject == w.Subject && x.Unknown == ""
			}) {
				t.Fatalf("without %s: %s wishes %s on %s", what, f.Rule, w.Do, w.Subject)
			}
		}
	}
	for _, a := range dark.Alerts {
		if a.Status != fleet.AlertResolved || a.Subject.Kind == fleet.KindPart { // how a part was seen is always known
			continue
		}
		if !slices.ContainsFunc(clear.Alerts, func(x fleet.Alert) bool { return x.AlertKey == a.AlertKey && x.Status == fleet.AlertResolved }) {
			t.Fatalf("without %s: %s ended", what, a.AlertKey)
		}
	}
}

func TestBlindnessInASickWorld(t *testing.T) {
	fleettest.WithoutRace(t)
	set := builtin(t)
	past := after(fleet.Past{}, Assess(set, sick(start()), fleet.Past{}))
	if len(past.Alerts) < 20 {
		t.Fatalf("the sick world has only %d alerts", len(past.Alerts))
	}
	checkBlinding(t, set, sick(start().Add(time.Hour)), past)
	checkBlinding(t, set, healthy(start().Add(time.Hour)), past)
}

// drawPast adds alerts of the set's rules, and of none, to a random past.
func drawPast(t *rapid.T, set *rules.Set, snap fleet.Snapshot) fleet.Past {
	past := fleettest.Past(t, snap.At)
	for i := range past.Alerts {
		if rapid.Bool().Draw(t, "ours") {
			past.Alerts[i].Rule = rapid.SampledFrom(set.Names()).Draw(t, "rule")
		}
	}
	p := newPass(set, &snap, &past)
	for _, r := range set.Rules() {
		for _, it := range p.list(r.Over) {
			if rapid.IntRange(0, 3).Draw(t, "alert") == 0 {
				a := fleettest.Any[fleet.Alert](t, snap.At)
				a.AlertKey = fleet.AlertKey{Rule: r.Name, Subject: it.subject}
				past.Alerts = append(past.Alerts, a)
			}
		}
	}
	return past
}

func TestRandomWorlds(t *testing.T) {
	fleettest.FewRaced(t)
	set := builtin(t)
	rapid.Check(t, func(t *rapid.T) {
		snap := fleettest.Snapshot(t)
		past := drawPast(t, set, snap)
		before := encode(t, snap) + encode(t, past)
		got := Assess(set, snap, past)
		if encode(t, snap)+encode(t, past) != before {
			t.Fatalf("the inputs were changed")
		}
		if again := Assess(set, copyOf(t, snap), copyOf(t, past)); encode(t, again) != encode(t, got) {
			t.Fatalf("not deterministic:\n%s\n%s", encode(t, got), encode(t, again))
		}
		checkShape(t, got)
		checkClock(t, set, snap, past, got)
	})
}

func TestBlindnessInRandomWorlds(t *testing.T) {
	fleettest.FewRaced(t)
	set := builtin(t)
	rapid.Check(t, func(t *rapid.T) {
		snap := fleettest.Snapshot(t)
		past := drawPast(t, set, snap)
		leaves := fleettest.Leaves(&snap)
		i := rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")
		dark := copyOf(t, snap)
		b := fleettest.Leaves(&dark)[i]
		b.Blind("blinded")
		checkDarker(t, b.Name, Assess(set, snap, past), Assess(set, dark, past))
	})
}

func checkShape(t *rapid.T, got fleet.Assessment) {
	keys, numbers := map[fleet.AlertKey]bool{}, map[fleet.AlertKey]bool{}
	for _, f := range got.Findings {
		if keys[f.AlertKey] {
			t.Fatalf("two findings of %s", f.AlertKey)
		}
		keys[f.AlertKey] = true
		if !f.Firing && len(f.Wishes) > 0 {
			t.Fatalf("%s wishes before it fires", f.AlertKey)
		}
		if _, ok := got.Rules[f.Rule]; f.Firing && !ok {
			t.Fatalf("no remedy for %s", f.Rule)
		}
	}
	for _, a := range got.Alerts {
		if numbers[a.AlertKey] || a.Number == 0 {
			t.Fatalf("alert %s twice or without a number", a.AlertKey)
		}
		numbers[a.AlertKey] = true
		delete(keys, a.AlertKey)
	}
	if len(keys) > 0 {
		t.Fatalf("findings without an alert: %v", keys)
	}
	if !slices.IsSortedFunc(got.Findings, func(a, b fleet.Finding) int { return int(a.Priority[1]) - int(b.Priority[1]) }) {
		t.Fatalf("findings are not sorted")
	}
}

// checkClock demands that a clock that is behind moves nothing that waits.
func checkClock(t *rapid.T, set *rules.Set, snap fleet.Snapshot, past fleet.Past, got fleet.Assessment) {
	if !past.ClockBehind(snap.At) {
		return
	}
	old := newPass(set, &snap, &past).old
	for _, a := range got.Alerts {
		r, was := set.Rule(a.Rule), old[a.Rule][a.Subject]
		if r == nil || was == nil || was.Status != fleet.AlertPending {
			continue
		}
		if a.Status == fleet.AlertFiring && r.For > 0 {
			t.Fatalf("%s fired while the clock was behind", a.AlertKey)
		}
	}
}
