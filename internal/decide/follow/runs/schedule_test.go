package runs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
)

// clock is a machine's two clocks: real time is what nobody sees.
type clock struct {
	real time.Duration
	skew time.Duration // of the wall clock
	boot int
	up   time.Duration // real time of the last boot
}

func (c clock) now() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).Add(c.real + c.skew), Up: fleet.Duration(c.real - c.up), Boot: fmt.Sprint("b", c.boot)}
}

// world runs schedules: what Due says is written down, and runs take their time.
type world struct {
	clock   clock
	past    fleet.Past
	policy  fleet.RunPolicy
	ends    map[string]time.Duration // of open runs, in real time
	began   map[string][]time.Duration
	next    fleet.Instant
	alerts  []fleet.Alert
	problem string
}

func newWorld(schedules ...fleet.Schedule) *world {
	w := &world{policy: fleet.RunPolicy{Schedules: schedules}, ends: map[string]time.Duration{}, began: map[string][]time.Duration{}}
	w.past.StartedAt = w.clock.now()
	return w
}

func (w *world) pass(takes time.Duration) (began []fleet.Run) {
	for i := range w.past.Runs {
		if r := &w.past.Runs[i]; !r.IsOver() && w.clock.real >= w.ends[r.ID] {
			r.State, r.EndedAt = fleet.RunDone, w.clock.now()
		}
	}
	began, w.next = Due(w.policy, w.past, fleet.Snapshot{At: w.clock.now()}, fleet.Assessment{Alerts: w.alerts})
	for _, r := range began {
		for _, old := range w.past.Runs {
			if old.ID == r.ID {
				w.problem = "run " + r.ID + " began twice"
			}
			if old.Schedule == r.Schedule && old.Slot.Wall.Equal(r.Slot.Wall) && strings.HasPrefix(r.Schedule, "cron") {
				w.problem = fmt.Sprintf("slot %s of %s ran twice", r.Slot.Wall, r.Schedule)
			}
			if !old.IsOver() && old.Flight() == r.Flight() {
				w.problem = "runs " + old.ID + " and " + r.ID + " overlap"
			}
		}
		w.ends[r.ID] = w.clock.real + takes
		w.began[r.Schedule] = append(w.began[r.Schedule], w.clock.real)
	}
	w.past.Runs = append(w.past.Runs, began...)
	if len(began) == 0 {
		return nil
	}
	if again, _ := Due(w.policy, w.past, fleet.Snapshot{At: w.clock.now()}, fleet.Assessment{Alerts: w.alerts}); len(again) > 0 {
		w.problem = "the same pass starts run " + again[0].ID + " again"
	}
	return began
}

func (w *world) reboot() {
	w.clock.boot++
	w.clock.up = w.clock.real
	w.past.StartedAt = w.clock.now()
}

// TestSchedule72 is line 6 of the issue: three projects, 24 hourly runs each, and a
// wall clock that jumps. No overlap, no double, no lost run.
func TestSchedule72(t *testing.T) {
	var all []fleet.Schedule
	for i := range 3 {
		all = append(all, fleet.Schedule{Name: fmt.Sprint("every", i), Every: fleet.Duration(time.Hour), Jitter: fleet.Duration(5 * time.Minute), Enabled: true, Run: template("check", fmt.Sprint("p", i))})
	}
	w := newWorld(all...)
	jumps := map[time.Duration]time.Duration{3*time.Hour + 30*time.Minute: -2 * time.Hour, 7*time.Hour + 59*time.Minute: 26 * time.Hour, 12 * time.Hour: -30 * time.Hour, 20*time.Hour + 1*time.Minute: 10 * time.Minute}
	var lines []string
	for ; w.clock.real < 24*time.Hour; w.clock.real += time.Minute {
		w.clock.skew += jumps[w.clock.real]
		if w.clock.real == 15*time.Hour+10*time.Minute {
			w.past.StartedAt = w.clock.now() // Custos, not the machine, was started again
		}
		for _, r := range w.pass(10 * time.Minute) {
			lines = append(lines, fmt.Sprintf("%5.1f h real  wall %s  %s", w.clock.real.Hours(), w.clock.now().Wall.Format("02 15:04"), r.ID))
		}
		if w.problem != "" {
			t.Fatal(w.problem)
		}
	}
	t.Log("\n" + strings.Join(lines, "\n"))
	for _, s := range all {
		if n := len(w.began[s.Name]); n != 24 {
			t.Errorf("%s ran %d times", s.Name, n)
		}
		for i, at := range w.began[s.Name] {
			if late := at - time.Duration(i)*time.Hour; late < 0 || late > 6*time.Minute {
				t.Errorf("%s: run %d began at %s", s.Name, i, at)
			}
		}
	}
}

// TestDueProperty: whatever the clocks do, no two runs of a flight overlap, no
// slot is run twice, and none is lost: so long after a slot as a run may take, a
// run stands for it.
func TestDueProperty(t *testing.T) {
	fleettest.FewRaced(t)
	rapid.Check(t, func(t *rapid.T) {
		var all []fleet.Schedule
		for i := range 3 {
			project := fmt.Sprint("p", i)
			all = append(all,
				fleet.Schedule{Name: fmt.Sprint("every", i), Every: fleet.Duration(time.Hour), Jitter: fleet.Duration(rapid.IntRange(0, 600).Draw(t, "jitter")) * 1e9, Enabled: true, Run: template("check", project)},
				fleet.Schedule{Name: fmt.Sprint("cron", i), Cron: "0 * * * *", Jitter: fleet.Duration(rapid.IntRange(0, 600).Draw(t, "jitter")) * 1e9, Enabled: true, Run: template("tidy", project)})
		}
		w := newWorld(all...)
		for range rapid.IntRange(5, 150).Draw(t, "passes") {
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0:
				w.clock.skew += time.Duration(rapid.IntRange(-100, 100).Draw(t, "jump")) * time.Hour / 3
			case 1:
				w.clock.skew = time.Duration(rapid.IntRange(-400, 400).Draw(t, "year")) * 24 * time.Hour
			case 2:
				w.reboot()
			case 3:
				w.past.StartedAt = w.clock.now()
			}
			w.clock.real += time.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * time.Minute
			w.pass(time.Duration(rapid.IntRange(1, 20).Draw(t, "takes")) * time.Minute)
			if w.problem != "" {
				t.Fatal(w.problem)
			}
		}
		// With the clock as it is now, every schedule comes round again.
		before := map[string]int{}
		for name, list := range w.began {
			before[name] = len(list)
		}
		for range 26 {
			w.clock.real += 10 * time.Minute
			w.pass(5 * time.Minute)
		}
		for _, s := range all {
			if n := len(w.began[s.Name]) - before[s.Name]; strings.HasPrefix(s.Name, "every") && n < 3 {
				t.Fatalf("%s ran %d times in 4 hours 20", s.Name, n)
			}
		}
		if w.problem != "" {
			t.Fatal(w.problem)
		}
	})
}

// TestDueNoneLost: with a cron, every hour of real time in which the clock stood
// still in its course has a run, whatever it did before; except what ran already.
func TestDueNoneLost(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead by a year and back": 365 * 24 * time.Hour, "ahead by a day and back": 24 * time.Hour, "ahead by an hour and back": time.Hour} {
		for _, reboot := range []bool{false, true} {
			t.Run(fmt.Sprint(name, reboot), func(t *testing.T) {
				w := newWorld(fleet.Schedule{Name: "cron", Cron: "0 * * * *", Enabled: true, Run: template("tidy", "p")})
				for ; w.clock.real < 12*time.Hour; w.clock.real += time.Minute {
					switch w.clock.real {
					case 3*time.Hour + 30*time.Minute:
						w.clock.skew = skew
					case 3*time.Hour + 40*time.Minute:
						w.clock.skew = 0
						if reboot {
							w.reboot()
						}
					}
					w.pass(2 * time.Minute)
				}
				var hours []string
				for _, r := range w.past.Runs {
					hours = append(hours, r.Slot.Wall.Format("02.15"))
				}
				for _, h := range []string{"01.01", "01.02", "01.03", "01.04", "01.05", "01.09", "01.11"} {
					if !slices.Contains(hours, h) {
						t.Errorf("slot %s is lost: %v", h, hours)
					}
				}
				if w.problem != "" {
					t.Error(w.problem)
				}
			})
		}
	}
}

// TestDueSetAhead: a slot that the clock jumps over is run.
func TestDueSetAhead(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "cron", Cron: "0 * * * *", Enabled: true, Run: template("tidy", "p")})
	w.clock.real = time.Hour
	w.pass(time.Minute)
	w.clock.real += 50 * time.Minute
	w.pass(time.Minute)
	w.clock.skew, w.clock.real = 20*time.Minute, w.clock.real+time.Minute // from 01:50 to 02:11
	if got := w.pass(time.Minute); len(got) != 1 || got[0].Slot.Wall.Format("15:04") != "02:00" {
		t.Errorf("got %+v", got)
	}
}

// A clock that is set over many slots has them caught up once; set back again, it
// begins nothing anew, and the next slot is not lost.
func TestDueOverManySlots(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "cron", Cron: "0 * * * *", Enabled: true, Run: template("tidy", "p")})
	w.clock.real = time.Hour + 30*time.Minute
	w.pass(time.Minute)
	for _, step := range []struct {
		skew, on time.Duration
		begun    int
	}{{72 * time.Hour, 5 * time.Minute, 1}, {72 * time.Hour, 10 * time.Minute, 0}, {0, time.Minute, 0}, {0, 10 * time.Minute, 0}, {0, 5 * time.Minute, 1}, {0, time.Minute, 0}} {
		w.clock.skew, w.clock.real = step.skew, w.clock.real+step.on
		if got := w.pass(time.Minute); len(got) != step.begun {
			t.Errorf("at %s: %d began, want %d: %+v", w.clock.now().Wall, len(got), step.begun, got)
		}
	}
	if w.problem != "" {
		t.Error(w.problem)
	}
}

func TestDueCatchesUpOnce(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "cron", Cron: "0 * * * *", Enabled: true, Run: template("tidy", "p")},
		fleet.Schedule{Name: "every", Every: fleet.Duration(time.Hour), Enabled: true, Run: template("check", "p")})
	if got := w.pass(time.Minute); len(got) != 1 || got[0].Schedule != "every" {
		t.Fatalf("at first: %v", got)
	}
	w.clock.real = time.Hour
	if got := w.pass(time.Minute); len(got) != 2 {
		t.Fatalf("after an hour: %v", got)
	}
	w.clock.real = 9*time.Hour + 20*time.Minute // Custos was down
	w.reboot()
	got := w.pass(time.Minute)
	if len(got) != 2 || got[0].Slot.Wall.Hour() != 9 || got[1].Slot.Wall.Hour() != 9 || got[0].Dir != "/state/runs/"+got[0].ID || got[0].By != fleet.ByCustos {
		t.Fatalf("after a night: %+v", got)
	}
	if w.clock.real += 30 * time.Minute; len(w.pass(time.Minute)) != 0 || w.next.Since(w.clock.now()) != 10*time.Minute {
		t.Errorf("next %v", w.next)
	}
}

// TestDuePausedProject: what a paused project misses is caught up once when it is
// resumed; other projects miss nothing.
func TestDuePausedProject(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "shop", Every: fleet.Duration(time.Hour), Enabled: true, Run: template("check", "shop")},
		fleet.Schedule{Name: "bank", Every: fleet.Duration(time.Hour), Enabled: true, Run: template("check", "bank")})
	if got := w.pass(time.Minute); len(got) != 2 {
		t.Fatalf("at first: %v", got)
	}
	w.past.Silences = []fleet.Silence{fleet.PauseProject("shop", "ann", "", w.clock.now())}
	for hour := range 3 {
		w.clock.real = time.Duration(hour+1) * time.Hour
		if got := w.pass(time.Minute); len(got) != 1 || got[0].Schedule != "bank" {
			t.Fatalf("paused: %v", got)
		}
	}
	w.past.Silences, w.clock.real = nil, w.clock.real+10*time.Minute
	if got := w.pass(time.Minute); len(got) != 1 || got[0].Schedule != "shop" {
		t.Fatalf("resumed: %v", got)
	}
}

func TestDueJitterAndWaiting(t *testing.T) {
	w := newWorld(fleet.Schedule{Name: "a", Every: fleet.Duration(time.Hour), Jitter: fleet.Duration(10 * time.Minute), Enabled: true, Run: template("f", "p")},
		fleet.Schedule{Name: "b", Every: fleet.Duration(time.Hour), Enabled: true, Run: template("f", "p")})
	w.clock.real = 15 * time.Minute
	if got := w.pass(3 * time.Hour); len(got) != 1 || got[0].Schedule != "a" {
		t.Fatalf("got %v", got)
	}
	w.clock.real = 3 * time.Hour
	if got := w.pass(time.Minute); len(got) != 0 {
		t.Fatalf("overlap: %v", got)
	}
	w.clock.real = 3*time.Hour + 20*time.Minute
	if got := w.pass(time.Hour); len(got) != 1 {
		t.Fatalf("one after the other: %v", got)
	}
	w.policy.Disabled = []string{"f"}
	w.clock.real = 5 * time.Hour
	if got := w.pass(0); len(got) != 2 || got[0].State != fleet.RunSkipped || !strings.Contains(got[0].Why, "disabled") {
		t.Fatalf("disabled: %+v", got)
	}
	w.policy.Schedules[0].Broken, w.policy.Schedules[1].Enabled = "cannot be read", false
	w.clock.real = 9 * time.Hour
	if got := w.pass(0); len(got) != 0 {
		t.Fatalf("broken: %v", got)
	}
}

func TestDueOn(t *testing.T) {
	on := func(name, what string) fleet.Schedule {
		return fleet.Schedule{Name: name, On: what, Enabled: true, Run: template(name, "p")}
	}
	yes, no := true, false
	w := newWorld(on("alert", "alert:low-disk"), on("run", "run:alert:done"), on("start", "startup"), on("patrol", "patrol"),
		fleet.Schedule{Name: "when", When: "x", Enabled: true, Run: template("when", "p")})
	began := func(want string) {
		t.Helper()
		w.clock.real += time.Minute
		var names []string
		for _, r := range w.pass(30 * time.Second) {
			names = append(names, r.Schedule)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("at %s: got %q, want %q", w.clock.real, got, want)
		}
		w.past.Runs = slices.Clone(w.past.Runs)
		p := Advance(fleet.Pass{Past: w.past, Snapshot: fleet.Snapshot{At: w.clock.now()}, Policy: fleet.Policy{Runs: w.policy}})
		for _, r := range p.Runs {
			for i := range w.past.Runs {
				if w.past.Runs[i].ID == r.ID {
					w.past.Runs[i].Lapsed = r.Lapsed
				}
			}
		}
	}
	alert := func() fleet.Alert {
		return fleet.Alert{AlertKey: fleet.AlertKey{Rule: "low-disk", Subject: fleet.Subject{Kind: "mount", Name: fmt.Sprint(len(w.alerts))}}, FiredAt: w.clock.now()}
	}
	began("start")
	began("")
	w.clock.real += time.Second
	w.alerts = append(w.alerts, alert())
	began("alert")
	began("run")
	w.past.PatrolAt = w.clock.now()
	began("patrol")
	w.alerts = append(w.alerts, alert(), alert())
	w.policy.Schedules[4].Holds = &yes
	began("alert when")
	began("run")
	w.policy.Schedules[4].Holds = nil // cannot tell
	began("")
	w.policy.Schedules[4].Holds = &yes
	began("")
	w.policy.Schedules[4].Holds = &no
	began("")
	w.policy.Schedules[4].Holds = &yes
	began("when")
	w.clock.skew = -48 * time.Hour
	w.reboot()
	w.alerts = append(w.alerts, alert())
	began("alert start")
	w.past.StartedAt = w.clock.now()
	began("run start")
	began("")
}

func TestSlotID(t *testing.T) {
	for _, name := range []string{"nightly", "Ünïcode name", "", "--x", strings.Repeat("long ", 30), "a/b"} {
		id := slotID(name, at(0))
		if !ledger.IsPlainID(id) || len(id) > 70 {
			t.Errorf("%q gives %q", name, id)
		}
	}
	if slotID("a/b", at(0)) == slotID("a.b", at(0)) || slotID("a b", at(0)) == slotID("a/b", at(0)) {
		t.Error("two schedules, one ID")
	}
}

func BenchmarkDue(b *testing.B) {
	var all []fleet.Schedule
	for i := range 72 {
		all = append(all, fleet.Schedule{Name: fmt.Sprint("cron", i), Cron: fmt.Sprintf("%d %d * * *", i%60, i%24), Enabled: true, Run: template(fmt.Sprint("f", i), "p")})
	}
	w := newWorld(all...)
	w.clock.real = 36 * time.Hour
	w.pass(time.Minute)
	for b.Loop() {
		Due(w.policy, w.past, fleet.Snapshot{At: w.clock.now()}, fleet.Assessment{})
	}
}
