package runs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
)

func resting(name string, rest time.Duration, queue string) fleet.Schedule {
	run := template(name, "")
	run.Queue = queue
	return fleet.Schedule{Name: name, Rest: fleet.Duration(rest), Run: run, Enabled: true}
}

// due is one pass; what begins is written down.
func (w *world) due() (names []string) {
	began, next := Due(w.policy, w.past, fleet.Snapshot{At: w.clock.now()}, fleet.Assessment{Alerts: w.alerts})
	w.next = next
	for _, r := range began {
		names = append(names, r.Schedule)
	}
	w.past.Runs = append(w.past.Runs, began...)
	return names
}

// end ends every open run of a formula.
func (w *world) end(formula string, as fleet.RunState) {
	for i := range w.past.Runs {
		if r := &w.past.Runs[i]; r.Formula == formula && !r.IsOver() {
			r.State, r.EndedAt = as, w.clock.now()
		}
	}
}

// TestRest: so long after the end, well or not, begun by schedule or by hand; and it
// is said beforehand when.
func TestRest(t *testing.T) {
	w := newWorld(resting("a", time.Hour, ""))
	steps := []struct {
		after time.Duration
		ends  fleet.RunState // what runs ends first; "" leaves it
		begin int
	}{{0, "", 1}, {2 * time.Hour, "", 0}, {0, fleet.RunFailed, 0}, {59 * time.Minute, "", 0}, {time.Minute, "", 1}, {time.Minute, fleet.RunCancelled, 0}, {time.Hour - 1, "", 0}, {1, "", 1}}
	for i, s := range steps {
		w.clock.real += s.after
		if s.ends != "" {
			w.end("a", s.ends)
		}
		if got := w.due(); len(got) != s.begin {
			t.Errorf("step %d: began %v, want %d", i, got, s.begin)
		}
	}
	w.end("a", fleet.RunDone)
	w.clock.real += 10 * time.Minute
	byHand := template("a", "")
	byHand.ID, byHand.At, byHand.State, byHand.EndedAt = "a-hand", w.clock.now(), fleet.RunDone, w.clock.now()
	w.past.Runs = append(w.past.Runs, byHand)
	w.clock.real += 55 * time.Minute
	if got := w.due(); len(got) != 0 || w.next.Since(w.clock.now()) != 5*time.Minute {
		t.Errorf("began %v, next in %s", got, w.next.Since(w.clock.now()))
	}
	w.clock.skew -= 100 * time.Hour // nobody's wall clock
	w.clock.real += 5 * time.Minute
	if got := w.due(); len(got) != 1 {
		t.Errorf("began %v", got)
	}
	w.end("a", fleet.RunDone)
	w.reboot()
	w.clock.skew -= 1000 * time.Hour // and it went back over a boot: from the start on
	w.past.StartedAt = w.clock.now()
	w.clock.real += 59 * time.Minute
	if got := w.due(); len(got) != 0 {
		t.Errorf("began %v", got)
	}
	w.clock.real += time.Minute
	if got := w.due(); len(got) != 1 {
		t.Errorf("began %v", got)
	}
}

// TestRanElsewhere: what another's records say is written down once, as a run that
// is over, and reckoned from.
func TestRanElsewhere(t *testing.T) {
	s := resting("a", 24*time.Hour, "")
	s.Ran = fleet.Instant{Wall: (clock{}).now().Wall.Add(-23 * time.Hour)}
	w := newWorld(s)
	if got := w.due(); len(got) != 1 || w.past.Runs[0].State != fleet.RunDone || !w.past.Runs[0].EndedAt.Wall.Equal(s.Ran.Wall) {
		t.Fatalf("%v, %+v", got, w.past.Runs)
	}
	w.clock.real += 59 * time.Minute
	if got := w.due(); len(got) != 0 {
		t.Errorf("began %v", got)
	}
	w.clock.real += time.Minute
	if got := w.due(); len(got) != 1 || w.past.Runs[1].IsOver() {
		t.Errorf("began %v", got)
	}
}

// TestConditionAgain: once each time it comes to hold, and with rest again so long
// after the end; unknown is neither.
func TestConditionAgain(t *testing.T) {
	yes, no := true, false
	for _, rest := range []time.Duration{0, time.Hour} {
		s := resting("a", rest, "")
		s.Check = []string{"test", "-e", "flag"}
		w := newWorld(s)
		for i, c := range []struct {
			holds *bool
			began int
			again int // with rest
		}{{nil, 0, 0}, {&no, 0, 0}, {&yes, 1, 1}, {&yes, 0, 1}, {nil, 0, 0}, {&yes, 0, 1}, {&no, 0, 0}, {&yes, 1, 1}} {
			w.policy.Schedules[0].Holds = c.holds
			w.lapse(c.holds)
			want := c.began
			if rest > 0 {
				want = c.again
			}
			if got := w.due(); len(got) != want {
				t.Errorf("rest %s, pass %d: began %v, want %d", rest, i, got, want)
			}
			w.clock.real += time.Minute
			w.end("a", fleet.RunDone)
			w.clock.real += 2 * time.Hour
		}
	}
}

// lapse is what Advance notes of the newest run.
func (w *world) lapse(holds *bool) {
	if n := len(w.past.Runs); n > 0 && holds != nil && !*holds {
		w.past.Runs[n-1].Lapsed = w.clock.now()
	}
}

// TestLogEvents: what came after it was first seen, each once, by a cursor that is
// in the run.
func TestLogEvents(t *testing.T) {
	s := fleet.Schedule{Name: "a", On: "log:convoy.done", Run: template("a", ""), Enabled: true, Event: 40}
	w := newWorld(s)
	if got := w.due(); len(got) != 1 || w.past.Runs[0].State != fleet.RunSkipped || w.past.Runs[0].Event != 40 {
		t.Fatalf("%v, %+v", got, w.past.Runs)
	}
	for i, c := range []struct {
		event int64
		began int
	}{{40, 0}, {41, 1}, {41, 0}, {43, 0}, {43, 1}, {43, 0}} {
		w.policy.Schedules[0].Event = c.event
		if i == 4 { // while it runs, others are waited for; one run follows for all of them
			w.end("a", fleet.RunDone)
		}
		if got := w.due(); len(got) != c.began {
			t.Errorf("pass %d: began %v", i, got)
		}
		w.clock.real += time.Minute
	}
	for kind, ok := range map[string]bool{"convoy.done": true, "convoy.*": true, "freeze": true, "run.ended": false, "action.*": false, "x y": false, "*": false, "": false, "Convoy": false, "a.*.b": false} {
		if err := ledger.CheckSchedule(fleet.Schedule{Name: "a", On: "log:" + kind, Run: template("a", "")}); (err == nil) != ok {
			t.Errorf("%q: %v", kind, err)
		}
	}
	for _, c := range []struct {
		kind, named string
		is          bool
	}{{"convoy.done", "convoy.*", true}, {"convoy.done", "convoy.done", true}, {"convoy.done", "convoy", false}, {"convoyed", "convoy.*", false}} {
		if ledger.IsKind(c.kind, c.named) != c.is {
			t.Errorf("%s, %s", c.kind, c.named)
		}
	}
}

// TestMark: alerts that fire before it was first seen do not count, and those that
// fire while Custos is down do.
func TestMark(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "a", On: "alert:disk", Mark: true, Run: template("a", ""), Enabled: true})
	w.clock.real += time.Hour
	w.alerts = []fleet.Alert{{AlertKey: fleet.AlertKey{Rule: "disk"}, FiredAt: w.clock.now().Add(-time.Minute)}}
	if got := w.due(); len(got) != 1 || !w.past.Runs[0].IsOver() {
		t.Fatalf("%v", got)
	}
	if got := w.due(); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	w.clock.real += time.Hour
	w.alerts[0].FiredAt = w.clock.now()
	w.clock.real += time.Hour
	w.past.StartedAt = w.clock.now() // it was down, and is started again
	if got := w.due(); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestQueueOrder: in the order of the schedules; what had to wait goes before what
// came due later.
func TestQueueOrder(t *testing.T) {
	w := newWorld(resting("a", time.Second, "q"), resting("b", time.Second, "q"), resting("c", time.Second, "q"), resting("beside", time.Hour, ""))
	var order []string
	for range 9 {
		got := w.due()
		order = append(order, got...)
		if again := w.due(); len(again) > 0 {
			t.Errorf("%v begins beside %v", again, got)
		}
		w.clock.real += time.Minute
		for _, n := range got {
			w.end(n, fleet.RunDone)
		}
		w.clock.real += 2 * time.Second
	}
	if got := fmt.Sprint(order); got != "[beside a b c a b c a b c]" {
		t.Error(got)
	}
	w.past.Runs[len(w.past.Runs)-1].State = fleet.RunPerson // it holds up nobody but itself
	if got := w.due(); fmt.Sprint(got) != "[a]" {
		t.Error(got)
	}
}

// TestQueueAndEvents: what waits for an event has its turn beside others that are
// always due, as they are on a machine on which each run takes longer than their rest.
func TestQueueAndEvents(t *testing.T) {
	log := resting("log", 0, "q")
	log.On = "log:silence"
	w := newWorld(resting("a", time.Second, "q"), resting("b", time.Second, "q"), resting("c", time.Second, "q"), log)
	w.due()
	w.policy.Schedules[3].Event++
	var order []string
	for range 8 {
		w.clock.real += time.Minute
		for _, n := range []string{"a", "b", "c", "log"} {
			w.end(n, fleet.RunDone)
		}
		w.clock.real += 2 * time.Second
		order = append(order, w.due()...)
	}
	if got := fmt.Sprint(order); got != "[b c a log b c a b]" {
		t.Error(got)
	}
}

// inQueue are schedules of a queue, one of each way to be due.
func inQueue(i, rest int) fleet.Schedule {
	s := resting(fmt.Sprint("p", i), time.Duration(rest)*time.Second, "q")
	switch i % 5 {
	case 1:
		s.On, s.Rest = "log:silence", 0
	case 2:
		s.Check = []string{"true"}
	case 3:
		s.Cron, s.Rest = "* * * * *", 0
	case 4:
		s.On, s.Rest = "patrol", 0
	}
	return s
}

// TestQueueIsFair: never two at once, and nobody that is due sees another one begin
// twice, in whatever ways they are due.
func TestQueueIsFair(t *testing.T) {
	fleettest.FewRaced(t)
	rapid.Check(t, func(t *rapid.T) {
		var all []fleet.Schedule
		for i := range rapid.IntRange(2, 7).Draw(t, "plugins") {
			all = append(all, inQueue(i, rapid.IntRange(1, 300).Draw(t, "rest")))
		}
		w := newWorld(rapid.Permutation(all).Draw(t, "order")...)
		waited := map[string]map[string]int{} // who began how often while one waited
		for range 80 {
			if rapid.IntRange(0, 60).Draw(t, "reboot") == 0 {
				w.reboot()
			}
			w.happens(t)
			w.countTurns(t, waited)
			w.clock.real += time.Duration(rapid.IntRange(1, 120).Draw(t, "pause")) * time.Second
			if rapid.Bool().Draw(t, "ends") {
				for _, s := range all {
					w.end(s.Name, fleet.RunDone)
				}
			}
		}
	})
}

// happens is what makes schedules due.
func (w *world) happens(t *rapid.T) {
	if rapid.Bool().Draw(t, "patrol") {
		w.past.PatrolAt = w.clock.now()
	}
	holds := rapid.Bool().Draw(t, "holds")
	for i := range w.policy.Schedules {
		s := &w.policy.Schedules[i]
		if rapid.Bool().Draw(t, "event") {
			s.Event++
		}
		if s.Conditional() {
			s.Holds = &holds
		}
	}
	for i := range w.past.Runs {
		if r := &w.past.Runs[i]; r.IsOver() && !holds && r.Lapsed.IsZero() {
			r.Lapsed = w.clock.now()
		}
	}
}

// countTurns is a pass; it counts who begins while another one is due.
func (w *world) countTurns(t *rapid.T, waited map[string]map[string]int) {
	due := map[string]bool{}
	for _, s := range w.policy.Schedules {
		d := dues{past: w.past, at: w.clock.now()}
		_, is := d.slot(&s)
		due[s.Name] = is && !slices.ContainsFunc(w.past.Runs, func(r fleet.Run) bool { return r.Schedule == s.Name && !r.IsOver() })
	}
	got := w.due()
	if open := slices.DeleteFunc(slices.Clone(w.past.Runs), fleet.Run.IsOver); len(open) > 1 {
		t.Fatalf("%d run at once", len(open))
	}
	for name, is := range due {
		if !is || slices.Contains(got, name) {
			delete(waited, name)
			continue
		}
		if waited[name] == nil {
			waited[name] = map[string]int{}
		}
		for _, n := range got {
			if waited[name][n]++; waited[name][n] > 1 {
				t.Fatalf("%s is due, and %s began twice meanwhile", name, n)
			}
		}
	}
}

// TestMootStep: a plugin of which nobody saw the end has failed, and asks nobody.
func TestMootStep(t *testing.T) {
	a := &advance{at: (clock{}).now()}
	s := fleet.RunStep{ID: "run", State: fleet.StepRunning, Attempt: 1, Moot: true}
	a.doubt(&s, "")
	if s.State != fleet.StepFailed || s.Why != "in doubt: nobody saw how it ended" {
		t.Errorf("%+v", s)
	}
}
