package follow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// gateyard is a village of gates: random gates, a world that is seen or not, clocks that are set, a
// crash that forgets what was not committed, a machine that is started anew. What
// is true is kept beside what is seen.
type gateyard struct {
	*village
	t     *rapid.T
	truth map[string]bool // what has really happened, by gate
	dead  map[string]bool // what can never happen any more
	told  map[string]int  // by key
	was   map[string]fleet.Gate
}

func TestGateProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		y := &gateyard{village: newVillage(rt), t: rt, truth: map[string]bool{}, dead: map[string]bool{}, told: map[string]int{}, was: map[string]fleet.Gate{}}
		y.elsewhere()
		for range rapid.IntRange(1, 6).Draw(rt, "gates") {
			y.newGate()
		}
		for range rapid.IntRange(1, 25).Draw(rt, "passes") {
			y.happens()
			y.look()
			y.step()
		}
	})
}

func (y *gateyard) newGate() {
	g := rapid.SampledFrom([]fleet.Gate{whenGate(), commandGate(), runGate(), pullGate(), eventGate("work:shop#12:closed"),
		timerGate(y.now + 90*time.Second), {Type: fleet.GateHuman}}).Draw(y.t, "gate")
	g.Title, g.Waiters = "wait", rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", fleet.Overseer}), 0, 3, rapid.ID[string]).Draw(y.t, "waiters")
	y.village.gate(g, "ann")
}

// happens is what becomes true in the world.
func (y *gateyard) happens() {
	for _, g := range y.past.Records.Gates {
		switch rapid.IntRange(0, 9).Draw(y.t, "happens") {
		case 0:
			y.truth[g.ID] = y.truth[g.ID] || !y.dead[g.ID]
		case 1:
			if !y.truth[g.ID] && (g.Type == fleet.GateRun || g.Type == fleet.GatePull) {
				y.dead[g.ID] = true
			}
		case 2:
			if g.Type == fleet.GateHuman && !g.Over() {
				y.truth[g.ID] = true
				y.closeGate(g.ID, fleet.GatePassed)
			}
		}
	}
	switch rapid.IntRange(0, 7).Draw(y.t, "clock") {
	case 0:
		y.ahead += time.Duration(rapid.IntRange(-100, 100).Draw(y.t, "set")) * time.Hour
	case 1:
		y.now += time.Duration(rapid.IntRange(0, 300).Draw(y.t, "seconds")) * time.Second
	}
}

// look shows the world, or does not.
func (y *gateyard) look() {
	sees := func(what string) fleet.Status {
		return rapid.SampledFrom([]fleet.Status{fleet.StatusOK, fleet.StatusOK, fleet.StatusStale, fleet.StatusUnknown, fleet.StatusPending, fleet.StatusAbsent}).Draw(y.t, what)
	}
	y.snap.CI.Status, y.snap.Forge.Status, y.snap.Checks.Status = sees("ci"), sees("forge"), sees("checks")
	y.snap.CI.Value.Pipelines, y.snap.Checks.Value, y.snap.Holds, y.snap.Forge.Value = nil, nil, nil, fleet.Forge{}
	for _, g := range y.past.Records.Gates {
		if rapid.IntRange(0, 3).Draw(y.t, "left out") > 0 {
			y.show(g)
		}
	}
}

func (y *gateyard) show(g fleet.Gate) {
	yes, no := y.truth[g.ID], y.dead[g.ID]
	known := rapid.IntRange(0, 3).Draw(y.t, "known") > 0
	is := fleet.Known(yes)
	if !known {
		is = fleet.Unknown[bool]("hidden")
	}
	switch {
	case g.When != "":
		y.snap.Holds = append(y.snap.Holds, fleet.GateCheck{Gate: g.ID, Holds: is})
	case len(g.Check) > 0:
		y.snap.Checks.Value = append(y.snap.Checks.Value, fleet.GateCheck{Gate: g.ID, Holds: is})
	case g.Type == fleet.GateRun && known && (yes || no):
		y.pipeline(fleet.Known(map[bool]string{true: "success", false: "failure"}[yes]))
	case g.Type == fleet.GateRun:
		y.pipeline(rapid.SampledFrom([]fleet.Leaf[string]{fleet.Known("running"), fleet.Unknown[string]("hidden")}).Draw(y.t, "state"))
	case g.Type == fleet.GatePull && known && (yes || no):
		y.snap.Forge.Value.Ended = []fleet.EndedPull{{Name: "shop!7", Merged: yes, Ended: fleet.Known(fleet.Duration(1))}}
	case g.Type == fleet.GateEvent && known:
		y.issue(12, !yes)
	}
}

// step is one pass, which a crash may keep from being committed.
func (y *gateyard) step() {
	y.now += time.Minute
	y.snap.At, y.snap.Forge.At = y.at(), y.at()
	out := coordinate(fleet.Pass{Past: y.past, Snapshot: y.snap, Policy: y.policy})
	if rapid.IntRange(0, 4).Draw(y.t, "crash") == 0 {
		return
	}
	y.keep(out.Records)
	y.check(out.Records)
}

// check wants each gate closed once, for what is true and was seen, and each waiter
// told once.
func (y *gateyard) check(wrote fleet.Records) {
	for _, m := range gateMails(wrote.Mails) {
		if y.told[m.Key]++; y.told[m.Key] > 1 {
			y.t.Fatalf("%s is told twice", m.Key)
		}
	}
	for _, g := range wrote.Gates {
		if y.was[g.ID].Over() {
			y.t.Fatalf("gate %s is closed twice", g.ID)
		}
		y.allowed(g)
	}
	for _, g := range y.past.Records.Gates {
		if was := y.was[g.ID]; was.Over() && fmt.Sprint(was) != fmt.Sprint(g) {
			y.t.Fatalf("gate %s changed after it was closed", g.ID)
		}
		y.was[g.ID] = g
		y.allTold(g)
	}
}

// allowed wants a reason for closing that a blind Custos has not got.
func (y *gateyard) allowed(g fleet.Gate) {
	sight := map[fleet.GateType]fleet.Status{fleet.GateRun: y.snap.CI.Status, fleet.GatePull: y.snap.Forge.Status, fleet.GateEvent: y.snap.Forge.Status}[g.Type]
	if len(g.Check) > 0 {
		sight = y.snap.Checks.Status
	}
	ready := y.truth[g.ID]
	if g.Type == fleet.GateTimer {
		ready = !y.at().Before(g.Until) && y.at().Up >= g.Until.Up // by the boot clock
	}
	if g.Type == fleet.GateHuman || slices.Contains([]fleet.Status{fleet.StatusStale, fleet.StatusUnknown, fleet.StatusPending}, sight) {
		y.t.Fatalf("gate %s (%s) is closed, and seen %q", g.ID, g.Type, sight)
	}
	switch {
	case g.Outcome == fleet.GatePassed && !y.anyTrue(g, ready), g.Outcome == fleet.GateFailed && !y.anyDead(g), g.Outcome == fleet.GateCancelled:
		y.t.Fatalf("gate %s (%s) %s: %s", g.ID, g.Type, g.Outcome, g.Why)
	}
}

// anyTrue says whether what a gate waits for has happened: several may wait for one
// thing.
func (y *gateyard) anyTrue(g fleet.Gate, ready bool) bool {
	same := func(o fleet.Gate) bool {
		return o.Type == g.Type && (g.Type == fleet.GateRun || g.Type == fleet.GatePull || g.Type == fleet.GateEvent) && y.truth[o.ID]
	}
	return ready || slices.ContainsFunc(y.past.Records.Gates, same)
}

func (y *gateyard) anyDead(g fleet.Gate) bool {
	return slices.ContainsFunc(y.past.Records.Gates, func(o fleet.Gate) bool { return o.Type == g.Type && y.dead[o.ID] })
}

func (y *gateyard) allTold(g fleet.Gate) {
	if !g.Over() || fleet.IsPerson(g.Closer) {
		return
	}
	told := slices.Clone(g.Waiters)
	if g.Outcome == fleet.GateFailed && !slices.Contains(told, fleet.Overseer) {
		told = append(told, fleet.Overseer)
	}
	for _, to := range told {
		key := "gate/" + g.ID + "/" + to
		if y.told[key] != 1 {
			y.t.Fatalf("gate %s: %s was told %d times", g.ID, to, y.told[key])
		}
	}
}
