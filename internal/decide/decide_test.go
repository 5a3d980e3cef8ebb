package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
)

// ids returns the IDs of the actions of a world, given as lines of a case.
func ids(t *testing.T, lines ...string) []string {
	t.Helper()
	w := newWorld()
	for _, line := range lines {
		if err := w.read(line); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, a := range Decide(w.policy, w.snap, w.found, w.past).Actions {
		if len(a.ID) != 16 || strings.Trim(a.ID, "0123456789abcdef") != "" {
			t.Errorf("%q is not 16 hexadecimal digits", a.ID)
		}
		out = append(out, a.ID)
	}
	return out
}

func TestIdentity(t *testing.T) {
	finding, wish := "finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"
	first := ids(t, finding, wish)[0]
	for name, other := range map[string][]string{
		"another subject":         {finding, "wish remove-lock lock//tmp/b.lock"},
		"another action":          {finding, "wish rotate-log lock//tmp/a.lock"},
		"another rule":            {"finding lock-idle lock//tmp/a.lock", wish},
		"what it is about":        {"finding lock-dead lock//tmp/b.lock", wish},
		"a new alert":             {"finding lock-dead lock//tmp/a.lock since=09:30", wish},
		"the same alert next day": {"finding lock-dead lock//tmp/a.lock since=00:00/other", wish},
		"a second attempt":        {finding, wish, "action remove-lock lock//tmp/a.lock id=" + first + " ended=09:30 status=failed"},
		"again after a refusal":   {finding, wish, "action remove-lock lock//tmp/a.lock id=" + first + " ended=09:30 status=refused"},
	} {
		if got := ids(t, other...)[0]; got == first {
			t.Errorf("%s has the ID of the first attempt", name)
		}
	}
	later := ids(t, "now 10:07", finding, wish, "part locks status=ok at=10:07")
	if later[0] != first {
		t.Errorf("the same intent, planned again after a crash, has ID %s, not %s", later[0], first)
	}
}

// TestIdentityOfTomorrow: when the record of yesterday's try is no longer handed
// over, the ledger must not take today's for it.
func TestIdentityOfTomorrow(t *testing.T) {
	w := newWorld()
	for _, line := range []string{"finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"} {
		if err := w.read(line); err != nil {
			t.Fatal(err)
		}
	}
	today := Decide(w.policy, w.snap, w.found, w.past).Actions[0].ID
	w.snap.At = w.snap.At.Add(24 * time.Hour)
	if got := Decide(w.policy, w.snap, w.found, w.past).Actions[0].ID; got == today {
		t.Errorf("a try a day later has the same ID")
	}
}

// TestBackoff: the wait doubles, never exceeds the window, and its jitter stays
// within a fifth and differs between subjects.
func TestBackoff(t *testing.T) {
	base, window := fleet.Duration(time.Minute), fleet.Duration(time.Hour)
	different := map[fleet.Duration]bool{}
	for s := range 50 {
		for tries := 1; tries <= 9; tries++ {
			r := &request{
				wish:   &fleet.Wish{Do: "stop-tree", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: fmt.Sprint(s)}},
				remedy: fleet.Remedy{Cooldown: base, Attempts: fleet.Attempts{Max: 20, In: window}},
				tries:  make([]*fleet.ActionRecord, tries),
			}
			least := min(base<<(tries-1), window)
			got := backoff(r)
			if got < least || got > min(least+least/5, window) {
				t.Errorf("after %d tries the wait is %s, want %s to a fifth more, at most %s", tries, got, least, window)
			}
			if tries == 3 {
				different[got] = true
			}
		}
	}
	if len(different) < 25 {
		t.Errorf("50 subjects wait only %d different times", len(different))
	}
}

func TestNoInputAtAll(t *testing.T) {
	got := Decide(fleet.Policy{}, fleet.Snapshot{}, fleet.Assessment{}, fleet.Past{})
	if string(encode(got)) != `[{"at":{"wall":"0001-01-01T00:00:00Z","up":"0s"},"actions":[],"skipped":[]}]` {
		t.Errorf("got %s", encode(got))
	}
}

// TestZeroPolicyDoesNothing: whatever was forgotten must not read as permission.
func TestZeroPolicyDoesNothing(t *testing.T) {
	w := newWorld()
	for _, line := range []string{"finding lock-dead lock//tmp/a.lock", "wish remove-lock lock//tmp/a.lock"} {
		if err := w.read(line); err != nil {
			t.Fatal(err)
		}
	}
	for name, forget := range map[string]func(*world){
		"policy":    func(w *world) { w.policy = fleet.Policy{Abilities: w.policy.Abilities} },
		"remedies":  func(w *world) { w.found.Rules = nil },
		"abilities": func(w *world) { w.policy.Abilities = nil },
		"sights":    func(w *world) { w.snap = fleet.Snapshot{At: w.snap.At} },
		"target":    func(w *world) { w.found.Findings[0].Wishes = []fleet.Wish{{Do: "remove-lock"}} },
	} {
		v := *w
		v.found.Findings = append([]fleet.Finding(nil), w.found.Findings...)
		forget(&v)
		if plan := Decide(v.policy, v.snap, v.found, v.past); len(plan.Actions) != 0 || len(plan.Skipped) != 1 {
			t.Errorf("without %s: %s", name, show(plan))
		}
	}
}

// TestEvidenceAcrossBoots: an action of this boot that ended after the look is
// not hidden by one of another boot that the wall clock puts later.
func TestEvidenceAcrossBoots(t *testing.T) {
	w := newWorld()
	for _, line := range []string{
		"finding agent-oneshot-stale agent/a parts=agents", "wish stop-tree agent/a",
		"action interrupt agent/a ended=11:00/other status=done", "action interrupt agent/a ended=10:30 status=done",
	} {
		if err := w.read(line); err != nil {
			t.Fatal(err)
		}
	}
	jumped := func(clock string, up string) fleet.Instant { // the wall clock was set forward, then back
		return fleet.Instant{Wall: at(clock).Wall, Up: at(up).Up, Boot: "b1"}
	}
	w.snap.At, w.snap.Agents.At = jumped("12:10", "10:40"), jumped("12:00", "10:29")
	plan := Decide(w.policy, w.snap, w.found, w.past)
	if len(plan.Skipped) != 1 || plan.Skipped[0].Guard != fleet.GuardEvidence {
		t.Errorf("want a refusal for evidence, got:\n%s", show(plan))
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"lock-dead": "lock-dead", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "/tmp/x@1": "/tmp/x@1", "é": "'é'",
	} {
		if got := word(in); got != want {
			t.Errorf("word(%q) = %s, want %s", in, got, want)
		}
	}
}

// BenchmarkDecide judges one firing finding with one wish for each agent, of
// which every tenth has a record of the last day, with all caps set.
func BenchmarkDecide(b *testing.B) {
	for _, agents := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", agents), func(b *testing.B) {
			w := crowd(agents)
			b.ReportAllocs()
			for b.Loop() {
				Decide(w.policy, w.snap, w.found, w.past)
			}
		})
	}
}

// BenchmarkOrders judges 200 registered agents that all died together and are all
// ordered back, the worst moment of a fleet.
func BenchmarkOrders(b *testing.B) {
	w := newWorld()
	for i := range 200 {
		name, died := fmt.Sprint("agent-", i), map[string]string{"state": "crashed", "exit": "sig9", "died": "09:59:30", "owner": "custos"}
		w.past.Registrations = append(w.past.Registrations, registration(name, died))
		w.snap.Agents.Value = append(w.snap.Agents.Value, *agentOf(name, died))
		w.past.Orders = append(w.past.Orders, order([]string{fmt.Sprint("o", i), "recover", name}, nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		Decide(w.policy, w.snap, w.found, w.past)
	}
}

func crowd(agents int) *world {
	w := newWorld()
	w.policy.Budget, w.policy.Blast = fleet.Attempts{Max: 20, In: fleet.Duration(time.Hour)}, 10
	remedy := fleet.Remedy{Mode: fleet.ModeAuto, Cooldown: fleet.Duration(10 * time.Minute), Attempts: fleet.Attempts{Max: 3, In: fleet.Duration(time.Hour)}}
	w.found.Rules["agent-oneshot-stale"] = remedy
	for i := range agents {
		s := fleet.Subject{Kind: fleet.KindAgent, Name: fmt.Sprintf("agent-%05d", i)}
		key := fleet.AlertKey{Rule: "agent-oneshot-stale", Subject: s}
		a := &fleet.Agent{Name: s.Name, Owner: fleet.OwnerAdopted, Process: fleet.ProcessID{PID: 2*i + 2}, CWD: fleet.Known("/home/ann/work/tree/" + s.Name)}
		a.Procs = []fleet.ProcessID{{PID: 2*i + 2}, {PID: 2*i + 3}}
		w.found.Findings = append(w.found.Findings, fleet.Finding{AlertKey: key, Priority: fleet.P4, Since: at("09:00"), Firing: true, Fresh: true,
			Parts:  []fleet.PartName{fleet.PartAgents},
			Wishes: []fleet.Wish{{Do: "stop-tree", Subject: s, Target: fleet.Target{Agent: a}}}})
		if i%10 == 0 {
			w.past.Actions = append(w.past.Actions, fleet.ActionRecord{Stage: fleet.StageEnded,
				Action: fleet.Action{ID: s.Name, Do: "stop-tree", Subject: s, For: key},
				Result: &fleet.Result{Status: fleet.ResultFailed, Ended: at("09:40")}})
		}
	}
	return w
}
