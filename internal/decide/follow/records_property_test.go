package follow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// TestOnceAndNeverBlindly lets a village live for a while: work is closed, opened
// and taken, trackers come and go, turns are lost in crashes. Whatever happens:
//   - a dependency is resolved, and a convoy done, only by what is seen to be closed;
//   - each is told once for each time;
//   - a pass that finds nothing new changes nothing.
func TestOnceAndNeverBlindly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newVillage(t)
		for i := range 3 {
			w.add(fmt.Sprint("own ", i))
		}
		refs := []fleet.Ref{"w1", "w2", "w3", "shop#1", "shop#2", "bd:a", "bd:b", "jira-1"}
		open := map[fleet.Ref]bool{"shop#1": true, "shop#2": true, "bd:a": true, "bd:b": true}
		tells := map[string]bool{} // what issue 2 and bead b say that they wait for
		show := func() {
			var by, needs []string
			if tells["issue"] && open["shop#1"] {
				by = append(by, "shop#1")
			}
			if tells["bead"] {
				needs = append(needs, "a")
			}
			w.issue(1, open["shop#1"])
			w.issue(2, open["shop#2"], by...)
			w.bead(fleet.Bead{ID: "a", State: beadState(open["bd:a"])})
			w.bead(fleet.Bead{ID: "b", State: beadState(open["bd:b"]), Needs: needs})
		}
		show()
		w.convoy(fleet.Convoy{Title: "x"}, "w1", "shop#1", "bd:a")
		w.convoy(fleet.Convoy{Title: "y"})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			one, other := rapid.SampledFrom(refs).Draw(t, "one"), rapid.SampledFrom(refs).Draw(t, "other")
			switch rapid.SampledFrom([]string{"toggle", "toggle", "toggle", "needs", "blind", "tells", "crash"}).Draw(t, "do") {
			case "toggle":
				if v := ledger.Work(w.past.Records, one); v != nil && v.Over() {
					w.reopen(one)
				} else if v != nil {
					w.close(one, "")
				} else {
					open[one] = !open[one]
				}
			case "needs":
				if d, err := ledger.AddDependency(w.past.Records, one, other, "ann", w.at()); err == nil {
					w.keep(fleet.Records{Dependencies: []fleet.Dependency{d}})
				}
			case "blind":
				s := rapid.SampledFrom([]*fleet.Sight{&w.snap.Forge.Sight, &w.snap.Beads.Sight}).Draw(t, "of")
				w.blind(s, s.Status == fleet.StatusOK)
			case "tells":
				what := rapid.SampledFrom([]string{"issue", "bead"}).Draw(t, "tracker")
				tells[what] = !tells[what]
			case "crash": // the turn was thought out, and never committed
				w.snap.At = w.at()
				coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy})
			}
			show()
			was := w.past.Records
			w.pass()
			checkSeen(t, w, was)
		}
		if mails := w.again(); len(mails) > 0 {
			t.Fatalf("told again: %q", subjects(mails))
		}
		if out := coordinate(fleet.Pass{Past: w.past, Snapshot: w.snap, Policy: w.policy}); !out.Records.IsZero() || out.Wake {
			t.Fatalf("the same pass changes %+v", out.Records)
		}
		checkTold(t, w)
	})
}

func beadState(open bool) fleet.WorkState {
	if open {
		return fleet.WorkOpen
	}
	return fleet.WorkClosed
}

// checkSeen checks that what a pass resolved, or called done, is seen to be closed.
func checkSeen(t *rapid.T, w *village, was fleet.Records) {
	sight := ledger.NewTrackers(w.past, w.snap)
	for _, d := range w.past.Records.Dependencies {
		before := slices.IndexFunc(was.Dependencies, func(o fleet.Dependency) bool { return o.Key == d.Key })
		if d.State == fleet.DependencyResolved && (before < 0 || was.Dependencies[before].State != d.State) && !sight.Seen(d.Needs).IsClosed() {
			t.Fatalf("resolved, though %s is %+v", d.Needs, sight.Seen(d.Needs))
		}
	}
	for i, v := range w.past.Records.Convoys {
		if v.State != fleet.ConvoyDone || was.Convoys[i].State == fleet.ConvoyDone {
			continue
		}
		for _, m := range v.Members {
			if !sight.Seen(m.Ref).IsClosed() {
				t.Fatalf("%s is done, though %s is %+v", v.ID, m.Ref, sight.Seen(m.Ref))
			}
		}
		if len(v.Members) == 0 {
			t.Fatalf("%s is done, and empty", v.ID)
		}
	}
}

// checkTold checks that each time has its news: of convoys always, of dependencies
// at most one for each closing, and none is left to tell of what is seen to be free.
func checkTold(t *rapid.T, w *village) {
	keys := map[string]int{}
	for _, m := range w.mails {
		keys[m.Key]++
		if keys[m.Key] > 1 {
			t.Fatalf("%s was told %d times", m.Key, keys[m.Key])
		}
	}
	for _, v := range w.past.Records.Convoys {
		for n := range v.Times {
			if keys[fmt.Sprintf("convoy/%s/done/%d", v.ID, n+1)] != 1 {
				t.Fatalf("%s was done %d times, told: %v", v.ID, v.Times, keys)
			}
		}
	}
	closings := 0
	for _, d := range w.past.Records.Dependencies {
		closings += d.Times
		if d.Told > d.Times {
			t.Fatalf("told of more than there was: %+v", d)
		}
	}
	told := 0
	for k := range keys {
		if strings.HasPrefix(k, "dep/") {
			told++
		}
	}
	if told > closings {
		t.Fatalf("%d notices of %d closings", told, closings)
	}
}

// TestEachClosingIsTold: with every tracker in sight, and one thing to wait for,
// every closing is news.
func TestEachClosingIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newVillage(t)
		a := w.add("a")
		w.add("b", a)
		closings := 0
		for range rapid.IntRange(0, 8).Draw(t, "times") {
			w.now += time.Duration(rapid.IntRange(0, 100).Draw(t, "hours")) * time.Hour
			w.pass()
			w.close(a, "")
			w.pass()
			closings++
			w.reopen(a)
		}
		w.pass()
		if len(w.mails) != closings {
			t.Fatalf("%d mails of %d closings: %q", len(w.mails), closings, subjects(w.mails))
		}
	})
}
