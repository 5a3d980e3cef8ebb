package loop_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/act"
	cli "custos/internal/agent"
	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/ledger"
	"custos/internal/loop"
	"custos/internal/rules"
)

// TestSoak lets Custos, whole but for its eyes, hands and disk, watch over a town
// of agents for half an hour of fake time: the real loop, rules, judgement, plan,
// settlement and actor. The agents work, rest, wait, run into limits, hang, crash
// and crash again; people stop, start, nudge and pause them; the terminal server
// freezes, looks go stale, clocks jump, the machine sleeps or starts anew, Custos
// is killed. Some rules are careless: they wish to stop, interrupt and type into
// agents at work. CUSTOS_SOAKS sets how many towns (3), CUSTOS_SEED the first;
// `make soak` takes another one each time.
func TestSoak(t *testing.T) {
	set := soakRules(t)
	seen := &tally{counts: map[string]int{}}
	first := number(t, "CUSTOS_SEED", 100)
	few := int64(3)
	if fleettest.Raced { // the others: make histories
		few = 1
	}
	towns := number(t, "CUSTOS_SOAKS", few)
	t.Run("towns", func(t *testing.T) {
		for i := range towns {
			t.Run(fmt.Sprintf("seed=%d", first+i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { newTown(t, set, uint64(first+i), seen).live() })
			})
		}
	})
	t.Logf("CUSTOS_SEED=%d CUSTOS_SOAKS=%d held: %v", first, towns, seen.counts)
	if t.Failed() || towns < 3 {
		return
	}
	for _, what := range []string{"do stop", "do nudge", "do interrupt", "do recover", "do spawn", "do checkpoint",
		"guard alive", "guard evidence", "guard state", "guard foreign", "guard person-stopped", "guard in-flight", "guard frozen",
		"guard paused", "guard gate", "guard attempts", "guard cooldown", "guard cause-first", "guard grace", "death", "death told", "given up"} {
		if seen.counts[what] == 0 {
			t.Errorf("no town held %q: they are too tame", what)
		}
	}
}

func number(t *testing.T, variable string, other int64) int64 {
	s := os.Getenv(variable)
	if s == "" {
		return other
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("cannot read %s: %v", variable, err)
	}
	return n
}

// soakRules are the built-in rules with everything allowed, and careless ones.
func soakRules(t *testing.T) *rules.Set {
	const overlay = `
[rule.agent-stuck]
mode = "auto"
[rule.agent-idle-with-work]
mode = "auto"
cooldown = "3m"
[rule.agent-oneshot-stale]
mode = "auto"
[rule.agent-orphan-process]
mode = "auto"
[rule.careless-stop]
priority = "P3"
over     = "agent"
expr     = "agent.rss > gib(2)"
summary  = "agent.name + ' is big'"
actions  = [{ do = "stop" }, { do = "stop-tree" }]
mode     = "auto"
cooldown = "2m"
attempts = "3 in 1h"
[rule.careless-interrupt]
priority = "P3"
over     = "agent"
expr     = "agent.state in ['working', 'stuck', 'waiting']"
summary  = "agent.name + ' works'"
actions  = [{ do = "interrupt" }]
caused_by = ["agent-stuck"]
mode     = "auto"
cooldown = "2m"
attempts = "3 in 1h"
[rule.careless-nudge]
priority = "P4"
over     = "agent"
expr     = "agent.process.pid != 0 && agent.dwell > duration('30s')"
summary  = "agent.name + ' is left alone'"
actions  = [{ do = "nudge", text = "Go on." }, { do = "checkpoint" }]
caused_by = ["agent-idle-with-work", "careless-stop"]
mode     = "auto"
cooldown = "2m"
attempts = "4 in 1h"
[rule.careless-recover]
priority = "P3"
over     = "agent"
expr     = "agent.age > duration('1m') || agent.process.pid == 0"
summary  = "agent.name + ' is to be new'"
actions  = [{ do = "recover" }]
mode     = "auto"
cooldown = "10m"
attempts = "5 in 1h"
`
	set, err := (rules.Checker{}).Parse("rules.toml", rules.Builtin(), rules.Source{Name: "overlay", Text: []byte(overlay)})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const (
	soakFor  = 30 * time.Minute // of time awake
	stillFor = 3 * time.Minute  // the probe's dwell: nothing may move for so long
	lookTime = 3 * time.Second  // between two looks
)

// mood is what a resident truly does.
type mood string

const (
	atWork   mood = "at work"
	atTool   mood = "waits for a tool"
	atRest   mood = "at rest"
	asks     mood = "asks"
	limited  mood = "limited"
	hung     mood = "hung"
	starting mood = "starting"
	gone     mood = "gone"
)

// resident is an agent as it truly is.
type resident struct {
	name     string
	owner    fleet.Owner
	pid      int
	instance string
	mood     mood
	since    fleet.Instant // of the mood
	changed  time.Duration // since when it is in that mood, awake
	moved    time.Duration // when a life signal last moved, awake
	silent   time.Duration // it thinks until then, and nothing of it moves
	tool     *fleet.ToolCall
	born     fleet.Instant
	fragile  bool // crashes soon after each start
	big      bool
	exits    map[string]fleet.Exit // by instance
	until    fleet.Instant         // of its rate limit
	stopping bool                  // something is about to end it
}

// glimpse is the truth about a resident at the time of a look.
type glimpse struct {
	pid   int
	mood  mood
	quiet time.Duration
	tool  *fleet.ToolCall
}

// town is a fleet and the machine it lives on, what is remembered of it, and the
// Custos that watches it now.
type town struct {
	t    *testing.T
	set  *rules.Set
	seed uint64
	seen *tally
	mu   sync.Mutex
	rng  *rand.Rand // of the town's own course

	begun               time.Time
	slept, skew, booted time.Duration
	boot, pids, orders  int
	residents           []*resident
	frozen, saidNo      bool // by a person; and the last plan was told so
	blindUntil          time.Duration
	staleUntil          time.Duration

	look      []fleet.Agent // the last look at the agents
	looked    fleet.Instant
	truth     map[string]glimpse
	pending   bool
	given     fleet.Snapshot // to the loop, last
	givenTrue map[string]glimpse

	book    book
	custos  *custos
	acting  map[string]string // agent: what is being done to it
	held    map[string]int    // a person stopped it, with the order of this number (0: otherwise), and did not start it since
	ordered map[string]int    // order: its number
	ends    map[string]*end   // by instance
	gaveUp  map[string]bool   // agents that have failed, and were not tried since
	looping map[string]int    // how often people were told of that
	// disturbed are agents that a person, or a sleep of the machine, interfered with.
	disturbed map[string]bool
	faults    int
	spun      int // passes at the very same instant
}

// end is how an agent of ours died without being asked to.
type end struct {
	agent string
	told  int // since a person last changed what is wanted of it
}

func newTown(t *testing.T, set *rules.Set, seed uint64, seen *tally) *town {
	w := &town{t: t, set: set, seed: seed, seen: seen, begun: time.Now(), rng: rand.New(rand.NewPCG(seed, 1)), pids: 100,
		truth: map[string]glimpse{}, acting: map[string]string{}, held: map[string]int{}, ordered: map[string]int{},
		ends: map[string]*end{}, gaveUp: map[string]bool{}, looping: map[string]int{}, disturbed: map[string]bool{}, book: newBook()}
	w.slept = time.Hour // it was up before
	for i := range 30 {
		r := &resident{name: fmt.Sprintf("a%02d", i), owner: fleet.OwnerCustos, exits: map[string]fleet.Exit{}, fragile: i < 2, big: i%4 == 3}
		switch {
		case i >= 25:
			r.owner = fleet.OwnerForeign
		case i >= 23:
			r.owner = fleet.OwnerAdopted
		}
		w.residents = append(w.residents, r)
		w.rise(r, "i0-"+r.name)
		w.enlist(r)
	}
	return w
}

// enlist writes a resident down that is there from the beginning.
func (w *town) enlist(r *resident) {
	if r.owner == fleet.OwnerForeign {
		return
	}
	reg := fleet.Registration{Name: r.name, Kind: "claude", Owner: r.owner, Where: fleet.WhereTmux, Argv: []string{"claude"}, Dir: "/w/" + r.name,
		Account: w.account(r.name), Task: "its task"}
	if r.owner == fleet.OwnerAdopted {
		reg.Restart = fleet.RestartNever
	}
	reg, err := ledger.Register(nil, reg, ledger.Bounds{}, "ann", w.now())
	if err == nil {
		reg, err = ledger.Started(reg, r.instance, w.process(r), w.now())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	reg.Revision = 1
	w.book.regs[r.name] = reg
}

func (w *town) account(name string) string {
	return "account" + strconv.Itoa(int(w.chance(name)*3))
}

// chance is a number from 0 to 1 that hangs on nothing but the seed and the key.
func (w *town) chance(key string) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, key)
	return rand.New(rand.NewPCG(h.Sum64(), 2)).Float64()
}

// awake is the time that the machine was not suspended.
func (w *town) awake() time.Duration { return time.Since(w.begun) }

func (w *town) now() fleet.Instant {
	passed := w.awake() + w.slept
	return fleet.Instant{Wall: w.begun.Add(passed + w.skew).UTC(), Up: fleet.Duration(passed - w.booted), Boot: "boot" + strconv.Itoa(w.boot)}
}

func (w *town) process(r *resident) fleet.ProcessID {
	return fleet.ProcessID{PID: r.pid, Start: uint64(r.pid), Boot: r.born.Boot}
}

func (w *town) find(name string) *resident {
	i := slices.IndexFunc(w.residents, func(r *resident) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return w.residents[i]
}

// fault tells of a promise that was not kept.
func (w *town) fault(format string, args ...any) {
	if w.faults++; w.faults <= 5 {
		w.t.Errorf("seed %d, %s awake: %s", w.seed, w.awake(), fmt.Sprintf(format, args...))
	}
}

func (w *town) count(what string) {
	w.seen.Lock()
	defer w.seen.Unlock()
	w.seen.counts[what]++
}

// ---- the town's course -------------------------------------------------------

// live lets the town live.
func (w *town) live() {
	w.mu.Lock()
	w.see()
	w.rouse(w.now())
	w.mu.Unlock()
	for w.awake() < soakFor && w.faults == 0 {
		time.Sleep(time.Second)
		w.second()
	}
	w.mu.Lock()
	old := w.custos
	close(old.dead)
	w.mu.Unlock()
	old.end()
	w.close()
}

// second is one second of the town.
func (w *town) second() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.residents {
		w.step(r)
	}
	w.happen()
	if w.awake()%lookTime < time.Second {
		w.see()
	}
}

func (w *town) once(in int) bool { return w.rng.IntN(in) == 0 }

func (w *town) rise(r *resident, instance string) {
	w.pids++
	r.pid, r.instance, r.born, r.stopping = w.pids, instance, w.now(), false
	w.turn(r, starting)
}

// turn changes a resident's mood, which is a sign of life.
func (w *town) turn(r *resident, to mood) {
	r.mood, r.since, r.changed, r.moved, r.tool, r.silent = to, w.now(), w.awake(), w.awake(), nil, 0
	if to == atTool {
		r.tool = &fleet.ToolCall{Name: "Bash", Since: w.now(), Deadline: fleet.Duration(4+8*w.chance(fmt.Sprint("tool ", r.name, w.awake()))) * fleet.Duration(time.Minute)}
	}
	if w.custos != nil && w.chance(fmt.Sprint("hook ", r.name, w.awake())) < 0.25 { // a hook tells of it
		w.see()
		w.custos.loop.Wake("hook")
	}
}

// die ends a resident. Where a shim or a watcher tells, it is known at once.
func (w *town) die(r *resident, x fleet.Exit) {
	if r.pid == 0 {
		return
	}
	x.Instance, x.Process, x.At = r.instance, w.process(r), w.now()
	r.exits[r.instance], r.pid = x, 0
	if r.owner == fleet.OwnerCustos && x.Failed() {
		w.ends[r.instance] = &end{agent: r.name}
		w.count("death")
	}
	w.turn(r, gone)
	w.overlay(r)
}

func status(n int) fleet.Exit { return fleet.Exit{Status: fleet.Known(n), Source: "shim"} }
func signal(n int) fleet.Exit { return fleet.Exit{Signal: fleet.Known(n), Source: "shim"} }

// step is one second of a resident.
func (w *town) step(r *resident) {
	age := w.awake() - r.changed
	switch r.mood {
	case gone:
		if r.owner != fleet.OwnerCustos && w.once(200) {
			w.rise(r, "")
		}
		return
	case starting:
		if r.moved = w.awake(); age > 5*time.Second {
			w.turn(r, atWork)
		}
	case atWork:
		w.work(r)
	case atTool:
		if w.once(150) {
			w.turn(r, atWork)
		}
	case atRest:
		if w.once(250) {
			w.turn(r, atWork)
		}
	case asks:
		if w.once(300) {
			w.turn(r, atWork)
		}
	case limited:
		if r.until.Before(w.now()) {
			w.turn(r, atWork)
		}
	case hung:
		if !r.stopping && w.once(400) {
			w.turn(r, atWork) // it was not dead after all
		}
	}
	w.mishap(r, age)
}

// work: it moves, thinks for a while without a sign, or turns to something else.
func (w *town) work(r *resident) {
	switch {
	case w.awake() < r.silent:
	case w.once(60):
		r.silent = w.awake() + time.Duration(w.rng.IntN(150))*time.Second
	case w.once(3):
		r.moved = w.awake()
	}
	for _, next := range []struct {
		mood mood
		in   int
	}{{atTool, 60}, {atRest, 120}, {asks, 400}, {hung, 400}} {
		if w.once(next.in) {
			w.turn(r, next.mood)
			return
		}
	}
	if w.once(2500) {
		until := w.now().Add(time.Duration(60+w.rng.IntN(300)) * time.Second)
		for _, other := range w.residents {
			if other.pid != 0 && other.mood == atWork && w.account(other.name) == w.account(r.name) {
				w.turn(other, limited)
				other.until = until
			}
		}
	}
}

// mishap ends a resident as agents end.
func (w *town) mishap(r *resident, age time.Duration) {
	switch {
	case r.pid == 0:
	case r.fragile && w.awake() > time.Minute && r.mood == atWork && age > 4*time.Second:
		w.die(r, status(3))
	case w.once(2500):
		w.die(r, []fleet.Exit{status(1), status(137), signal(9), signal(11), {Signal: fleet.Known(9), OOM: true, Source: "shim"}}[w.rng.IntN(5)])
	case w.once(6000):
		w.die(r, status(0))
	case r.owner == fleet.OwnerCustos && !r.fragile && w.once(9000): // a person was seen to type Ctrl-C
		x := signal(2)
		x.Quit = "keys at its terminal"
		w.die(r, x)
		w.held[r.name] = 0
	case w.once(9000): // somebody's script, or a terminal that nobody is known to have closed
		w.die(r, signal([]int{1, 2, 15}[w.rng.IntN(3)]))
	}
}

// happen lets something happen to the town.
func (w *town) happen() {
	for _, e := range []struct {
		in int
		do func()
	}{
		{20, w.person}, {240, w.blind}, {200, func() { w.staleUntil = w.awake() + 20*time.Second }},
		{500, func() { w.skew += time.Duration(w.rng.IntN(7200)-3600) * time.Second }},
		{900, w.suspend}, {1100, w.reboot}, {300, w.killCustos}, {500, w.massacre},
		{200, func() { w.frozen = !w.frozen && w.once(2) }},
	} {
		if w.once(e.in) {
			e.do()
		}
	}
	if w.frozen && w.once(30) {
		w.frozen = false
		w.custos.loop.Wake("thaw")
	}
}

// blind: the terminal server freezes for a minute.
func (w *town) blind() { w.blindUntil = w.awake() + time.Minute }

// suspend: eight hours in which nothing moves, and no timer goes.
func (w *town) suspend() {
	w.slept += 8 * time.Hour
	w.disturbed["a00"], w.disturbed["a01"] = true, true // their windows have opened meanwhile
}

func (w *town) reboot() {
	for _, r := range w.residents {
		if r.pid == 0 {
			continue
		}
		x := fleet.Exit{Source: cli.ExitReboot}
		w.die(r, x)
	}
	w.boot++
	w.disturbed["a00"], w.disturbed["a01"] = true, true // nobody saw how they ended
	w.booted = w.awake() + w.slept
	w.killCustos()
}

// massacre: half a dozen die together.
func (w *town) massacre() {
	for range 6 {
		w.die(w.residents[w.rng.IntN(25)], signal(9))
	}
}

// person gives an order.
func (w *town) person() {
	r := w.residents[w.rng.IntN(len(w.residents))]
	o := fleet.Order{Agent: r.name, By: "ann"}
	switch w.rng.IntN(12) {
	case 0, 1:
		o.Do = fleet.OrderStop
		if r.owner == fleet.OwnerForeign || w.once(2) {
			o.Do = fleet.OrderBackup
		}
	case 2, 3:
		o.Do = fleet.OrderRecover
		delete(w.held, r.name)
		if r.owner != fleet.OwnerForeign && w.once(3) { // and thinks better of it
			w.order(o)
			o.Do = fleet.OrderStop
		}
	case 4:
		o.Do, o.Agent = fleet.OrderSpawn, fmt.Sprintf("n%02d", w.rng.IntN(8))
		o.Spawn = &fleet.Registration{Name: o.Agent, Kind: "claude", Where: fleet.WhereHeadless, Argv: []string{"claude"}, Dir: "/w/" + o.Agent}
		delete(w.held, o.Agent)
	case 5, 6, 7:
		o.Do, o.Text = fleet.OrderNudge, "How is it going?"
	case 8, 9:
		o.Do = fleet.OrderInterrupt
	case 10:
		o.Do = fleet.OrderPause
	case 11:
		o.Do = fleet.OrderResume
	}
	w.order(o)
}

func (w *town) order(o fleet.Order) {
	w.orders++
	o.ID = "o" + strconv.Itoa(w.orders)
	taken, _, err := ledger.Take(nil, o, w.now())
	if err != nil {
		w.fault("a lawful order was not taken: %v", err)
		return
	}
	w.ordered[o.ID] = w.orders
	if o.Do == fleet.OrderStop {
		w.held[o.Agent] = w.orders
	}
	if slices.Contains([]fleet.OrderDo{fleet.OrderStop, fleet.OrderRecover, fleet.OrderPause, fleet.OrderResume}, o.Do) {
		w.disturbed[o.Agent] = true
		for _, e := range w.ends {
			if e.agent == o.Agent {
				e.told = 0 // what is paused is no alert, and is one again when it is resumed
			}
		}
	}
	w.book.orders = append(w.book.orders, taken)
	w.custos.loop.Wake("order")
}

// ---- what is seen of it --------------------------------------------------------

// see is a look at all agents.
func (w *town) see() {
	if w.awake() < w.blindUntil || w.awake() < w.staleUntil {
		return
	}
	w.look, w.looked, w.pending, w.truth = nil, w.now(), false, map[string]glimpse{}
	for _, r := range w.residents {
		w.look = append(w.look, w.shown(r))
		w.truth[r.name] = glimpse{r.pid, r.mood, w.awake() - r.moved, r.tool}
	}
	for _, name := range slices.Sorted(maps.Keys(w.book.regs)) {
		if w.find(name) == nil {
			w.look = append(w.look, w.absent(&resident{name: name, owner: fleet.OwnerCustos}))
		}
	}
}

// overlay lays the death of one agent over the last look at once.
func (w *town) overlay(r *resident) {
	i := slices.IndexFunc(w.look, func(a fleet.Agent) bool { return a.Name == r.name })
	if i < 0 || w.custos == nil {
		return
	}
	w.look = slices.Clone(w.look)
	w.look[i] = w.shown(r)
	w.truth = maps.Clone(w.truth)
	w.truth[r.name] = glimpse{0, gone, 0, nil}
	w.custos.loop.Wake("death")
}

// shown describes a resident as the agents probe would.
func (w *town) shown(r *resident) fleet.Agent {
	reg, known := w.book.regs[r.name]
	if r.pid == 0 || known && r.owner == fleet.OwnerCustos && r.instance != reg.Instance {
		return w.absent(r)
	}
	quiet := w.awake() - r.moved
	a := fleet.Agent{Name: r.name, Kind: "claude", Owner: r.owner, Process: w.process(r), Procs: []fleet.ProcessID{w.process(r)},
		Source: "hook", CWD: fleet.Known("/w/" + r.name), Age: w.span(r.born), CPU: fleet.Known(1.0), RSS: fleet.Known(gib), Dwell: w.span(r.since),
		Quiet: fleet.Known(fleet.Duration(quiet)), Progress: fleet.ProgressSome, PaneLost: fleet.Known(false), ShimLost: fleet.Known(false), Deaf: fleet.Known(""), FolderGone: fleet.Known(false), ComposerEmpty: fleet.Known(w.chance(fmt.Sprint("composer ", r.name, w.awake())) < 0.8),
		Pane: &fleet.Pane{Session: r.name, Activity: fleet.Known(fleet.Duration(quiet))}, LastHealthy: fleet.Known(fleet.Duration(0))}
	if r.big {
		a.RSS = fleet.Known(3 * gib)
	}
	if quiet >= stillFor {
		a.Progress = fleet.ProgressNone
	}
	w.describe(&a, r)
	w.settle(&a, quiet)
	if w.chance(fmt.Sprint("progress ", r.name, w.awake())) < 0.04 {
		a.Progress, a.Quiet = fleet.ProgressUnknown, fleet.Unknown[fleet.Duration]("could not look")
	}
	return w.registered(a)
}

func (w *town) span(since fleet.Instant) fleet.Leaf[fleet.Duration] {
	return fleet.Known(fleet.Duration(max(0, w.now().Since(since))))
}

// describe tells of its mood, as its hooks would.
func (w *town) describe(a *fleet.Agent, r *resident) {
	a.State = map[mood]fleet.AgentState{atWork: fleet.StateWorking, atTool: fleet.StateWorking, hung: fleet.StateWorking, atRest: fleet.StateIdle,
		asks: fleet.StateWaiting, limited: fleet.StateRateLimited, starting: fleet.StateStarting}[r.mood]
	a.Reason = string(r.mood)
	if r.mood == limited {
		a.RateLimitedUntil = r.until
	}
	if r.tool != nil {
		tool := *r.tool
		tool.Age = fleet.Duration(max(0, w.now().Since(tool.Since)))
		a.Tool = &tool
		if a.Progress == fleet.ProgressNone && !tool.Over() {
			a.Progress = fleet.ProgressUnknown
		}
	}
}

// settle weighs its silence, with the real function.
func (w *town) settle(a *fleet.Agent, quiet time.Duration) {
	if rec, ok := w.book.agents[a.Name]; ok && rec.Process == a.Process {
		a.Cycles = rec.Cycles
	}
	v := cli.Settle(cli.Verdict{State: a.State, Reason: a.Reason, Source: a.Source}, cli.Reported{},
		cli.Silence{Progress: a.Progress, Quiet: a.Quiet, Tool: a.Tool, Lasted: quiet - stillFor, Cycles: a.Cycles})
	if v.State == fleet.StateStuck {
		a.Dwell = fleet.Known(fleet.Duration(quiet - stillFor))
	}
	a.State, a.Reason, a.Source = v.State, v.Reason, v.Source
}

// absent describes an agent that does not run.
func (w *town) absent(r *resident) fleet.Agent {
	reg, known := w.book.regs[r.name]
	a := fleet.Agent{Name: r.name, Kind: "claude", Owner: r.owner, State: fleet.StateStarting, Progress: fleet.ProgressUnknown}
	if known && reg.Instance == "" {
		return w.registered(a)
	}
	instance := cmp.Or(reg.Instance, r.instance)
	end := cli.End{Wanted: reg.Desired, Exit: reg.Exit}
	if x, ok := r.exits[instance]; ok {
		end.Exit = &x
	}
	v := cli.State(cli.Signals{End: &end})
	a.State, a.Reason, a.Source = v.State, v.Reason, v.Source
	if a.Exit = end.Exit; a.Exit != nil {
		a.ExitStatus, a.ExitSignal, a.Dwell = a.Exit.Status, a.Exit.Signal, w.span(a.Exit.At)
	}
	return w.registered(a)
}

// registered adds what the ledger knows.
func (w *town) registered(a fleet.Agent) fleet.Agent {
	reg, ok := w.book.regs[a.Name]
	if !ok {
		return a
	}
	a.Registered, a.Account, a.Task, a.Desired, a.Restart, a.Instance, a.Failed = true, reg.Account, reg.Task, reg.Desired, reg.Restart, reg.Instance, reg.Failed
	a.PromptState, a.Where = reg.PromptState, reg.Where
	return a
}

// First implements loop.Board.
func (w *town) First(context.Context) {}

func (w *town) Await(context.Context, ...fleet.PartName) {}

// Touched implements loop.Board: the agents are looked at again in a moment.
func (w *town) Touched(parts ...fleet.PartName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(parts, fleet.PartAgents) {
		return
	}
	w.pending = true
	time.AfterFunc(50*time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.see()
		w.custos.loop.Wake("look")
	})
}

// Snapshot implements loop.Board.
func (w *town) Snapshot() fleet.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := fleet.Snapshot{At: w.now(), From: fleet.Vantage{Host: "h", Boot: w.now().Boot}}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	}
	s.Host.Value = fleet.Host{Name: "h", CPUs: 8, Memory: fleet.Memory{Total: fleet.Known(64 * gib), Available: fleet.Known(32 * gib)},
		Swap: fleet.Swap{Total: fleet.Known[int64](0), Used: fleet.Known[int64](0)}, OOMRecent: fleet.Known[int64](0)}
	s.Self.Value = fleet.Self{LastPatrolAge: fleet.Known(fleet.Duration(0)), JournalWritable: fleet.Known(true), StoreWritable: fleet.Known(true), StoreBytes: fleet.Known[int64](1),
		ClockStep: fleet.Known(fleet.Duration(0)), Remembered: fleet.Remembered{Amnesia: fleet.Known(false), Lost: fleet.Known(""), ClockBehind: fleet.Known(false), MemoryDiffers: fleet.Known(""), RowsAside: fleet.Known(0), Moved: fleet.Known("")}}
	age := s.At.Since(w.looked)
	s.Agents.Sight = fleet.Sight{Status: fleet.StatusOK, At: w.looked}
	switch {
	case w.awake() < w.blindUntil, w.looked.Boot != s.At.Boot:
		s.Agents.Sight = fleet.Sight{Status: fleet.StatusUnknown, At: w.looked, Why: "the terminal server does not answer", Blind: fleet.Duration(age)}
	case w.pending:
		s.Agents.Status = fleet.StatusPending
	case age > 3*lookTime:
		s.Agents.Status, s.Agents.Sight.Blind = fleet.StatusStale, fleet.Duration(age)
	}
	if s.Agents.Usable() {
		s.Agents.Value = w.look
	}
	w.given, w.givenTrue = s, w.truth
	return s
}

// ---- Custos --------------------------------------------------------------------

// custos is one life of the daemon. When it is dead, nothing of it writes or does
// anything any more.
type custos struct {
	w    *town
	dead chan struct{}
	stop context.CancelFunc
	loop *loop.Loop
	act  *act.Actor
	over sync.WaitGroup
}

// rouse starts a Custos, which takes up what the one before left.
func (w *town) rouse(at fleet.Instant) {
	ctx, stop := context.WithCancel(context.Background())
	c := &custos{w: w, dead: make(chan struct{}), stop: stop}
	w.custos, w.book.started = c, at
	var actions []act.Action
	for _, able := range abilities() {
		actions = append(actions, &deedKind{c: c, able: able})
	}
	c.act = act.New(act.Options{Actions: actions, Ledger: c, Now: w.instant, Workers: 8, Frozen: c.isFrozen,
		Done: func(r fleet.Result) { c.loop.Done(r) }})
	touches := map[string][]fleet.PartName{}
	for do, able := range c.act.Abilities() {
		touches[do] = able.Touches
	}
	c.loop = loop.New(loop.Options{Board: w, Rules: w.set, Policy: c.policy, History: c, Act: c.act, Journal: c,
		Touches: func(do string) []fleet.PartName { return touches[do] }, Every: 4 * time.Minute, Tick: 10 * time.Second, Log: slog.New(slog.DiscardHandler)})
	var left []fleet.ActionRecord
	for _, r := range w.book.acts {
		if r.Open() {
			left = append(left, *r)
		}
	}
	c.over.Go(func() {
		if (&deedRun{c: c}).wait(ctx, 137*time.Millisecond) != nil { // so long it takes to start
			return
		}
		c.act.Recover(ctx, left)
		c.loop.Run(ctx)
	})
}

// killCustos: kill -9, and started again at once.
func (w *town) killCustos() {
	old := w.custos
	close(old.dead)
	clear(w.acting)
	go old.end()
	w.rouse(w.now())
}

// end lets the goroutines of a dead Custos end.
func (c *custos) end() {
	c.stop()
	c.act.Close()
	c.over.Wait()
}

func (c *custos) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

func (w *town) instant() fleet.Instant {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now()
}

func (c *custos) isFrozen() string {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.w.frozen {
		return "by ann"
	}
	return ""
}

func (c *custos) policy(fleet.PatrolOrder) fleet.Policy {
	frozen := c.isFrozen()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.saidNo = frozen != ""
	return fleet.Policy{Mode: fleet.ModeAuto, Frozen: frozen, Grace: fleet.Duration(20 * time.Second),
		Budget: fleet.Attempts{Max: 1000, In: fleet.Duration(time.Hour)}, Blast: 10, Abilities: c.act.Abilities(), Agents: fleet.DefaultAgentLimits()}
}

// Journal implements loop.Journal.
func (c *custos) Journal(fleet.Pass, []fleet.Result) error { return nil }

func abilities() (list []fleet.Ability) {
	agents := []fleet.PartName{fleet.PartAgents}
	for _, a := range []fleet.Ability{{Do: "stop", Idempotent: true}, {Do: "stop-tree", Idempotent: true}, {Do: "nudge"}, {Do: "interrupt"},
		{Do: "recover", Idempotent: true, Starts: true}, {Do: "spawn", Idempotent: true, Starts: true}, {Do: "checkpoint", Idempotent: true, Gentle: true},
		{Do: "notify-terminal", Idempotent: true, Harmless: true}} {
		a.Deadline = fleet.Duration(time.Minute)
		if !a.Harmless {
			a.Touches = agents
		}
		list = append(list, a)
	}
	return list
}

// ---- its hands -------------------------------------------------------------------

// deedKind is an action that is carried out in the town.
type deedKind struct {
	c    *custos
	able fleet.Ability
}

// deedRun is one that is being carried out.
type deedRun struct {
	c       *custos
	a       fleet.Action
	learned *fleet.Registration
}

var errKilled = errors.New("custos was killed")

func (k *deedKind) Ability() fleet.Ability { return k.able }

func (k *deedKind) Commands(fleet.Action) []fleet.Command { return nil }

// Prepare looks again at the instant, as the real actions do.
func (k *deedKind) Prepare(ctx context.Context, a fleet.Action) (act.Run, error) {
	r := &deedRun{c: k.c, a: a}
	if err := r.wait(ctx, 20*time.Millisecond); err != nil {
		return nil, err
	}
	w := k.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance("prepare "+a.ID) < 0.03 {
		return nil, errors.New("could not look")
	}
	if k.able.Harmless {
		return r, nil
	}
	if other := w.acting[a.Subject.Name]; other != "" {
		w.fault("%s begins on %s while %s is under way", a.Do, a.Subject, other)
	}
	if err := r.lawful(); err != nil {
		return nil, err
	}
	w.acting[a.Subject.Name] = a.Do
	return r, nil
}

// lawful holds the target against the truth at this instant.
func (r *deedRun) lawful() error {
	w, a := r.c.w, r.a
	x := w.find(a.Subject.Name)
	if a.Do == "spawn" || a.Do == "recover" {
		return r.mayStart(x)
	}
	if x == nil || x.pid == 0 || a.Target.Agent.Process != w.process(x) {
		return act.ErrUnneeded
	}
	quiet := w.awake() - x.moved
	switch {
	case a.Do == "nudge" && x.mood != atRest && (x.mood != hung || quiet < stillFor):
		return act.ErrRefused
	case (a.Do == "stop" || a.Do == "stop-tree" || a.Do == "interrupt") && !fleet.IsPerson(a.By) && quiet < time.Second:
		return act.ErrRefused
	}
	x.stopping = strings.HasPrefix(a.Do, "stop")
	return nil
}

func (r *deedRun) mayStart(x *resident) error {
	reg, ok := r.c.w.book.regs[r.a.Subject.Name]
	switch {
	case !ok, reg.Desired != fleet.DesiredRunning && !fleet.IsPerson(r.a.By), reg.Desired == fleet.DesiredRetired:
		return act.ErrRefused
	case x != nil && x.pid != 0 && x.instance != "i-"+r.a.ID:
		return act.ErrRefused
	}
	return nil
}

func (r *deedRun) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-r.c.dead:
		return errKilled
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Do changes the town after a while, unless it fails.
func (r *deedRun) Do(ctx context.Context) error {
	w := r.c.w
	if err := r.wait(ctx, time.Duration(w.chance("takes "+r.a.ID)*8*float64(time.Second))); err != nil {
		return err
	}
	if w.chance("fails "+r.a.ID) < 0.1 {
		return errors.New("it did not work")
	}
	if err := r.change(); err != nil {
		return err
	}
	if r.a.Do == "recover" || r.a.Do == "spawn" {
		return r.settle(ctx)
	}
	return nil
}

func (r *deedRun) change() error {
	w, a := r.c.w, r.a
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.c.isDead() {
		return errKilled
	}
	x := w.find(a.Subject.Name)
	switch a.Do {
	case "stop", "stop-tree":
		if x.pid == a.Target.Agent.Process.PID {
			e := signal(9)
			e.Asked = cmp.Or(a.By, fleet.ByCustos)
			w.die(x, e)
		}
	case "interrupt":
		if x.mood == atWork || x.mood == atTool {
			w.turn(x, atRest)
		}
	case "nudge":
		if x.mood == atRest {
			w.turn(x, atWork)
		}
	case "recover", "spawn":
		r.start(x)
	}
	return nil
}

// start brings an agent to life, once.
func (r *deedRun) start(x *resident) {
	w, name := r.c.w, r.a.Subject.Name
	if x == nil {
		x = &resident{name: name, owner: fleet.OwnerCustos, exits: map[string]fleet.Exit{}}
		w.residents = append(w.residents, x)
	}
	instance := "i-" + r.a.ID
	if _, before := x.exits[instance]; x.instance != instance && !before {
		if x.pid != 0 {
			w.fault("%s of %s, which runs", r.a.Do, name)
		}
		w.rise(x, instance)
	}
	reg := w.book.regs[name]
	reg.Instance, reg.Process, reg.StartedAt, reg.Exit = instance, w.process(x), x.born, nil
	if e, ended := x.exits[instance]; ended {
		reg.Process, reg.Exit = e.Process, &e
	}
	r.learned = &reg
}

// settle: it has worked when it lives for three seconds.
func (r *deedRun) settle(ctx context.Context) error {
	if err := r.wait(ctx, 3*time.Second); err != nil {
		return err
	}
	w := r.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ended := w.find(r.a.Subject.Name).exits[r.learned.Instance]; ended {
		r.learned.Exit = &e
		return errors.New("it ended at once")
	}
	return nil
}

func (r *deedRun) Verify(context.Context) (string, error) {
	if r.c.w.chance("verifies "+r.a.ID) < 0.1 {
		return "", errors.New("it could not be seen")
	}
	return "done", nil
}

func (r *deedRun) Close() {
	w := r.c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.find(r.a.Subject.Name); x != nil && !r.c.isDead() {
		x.stopping = false
	}
	if !r.c.isDead() {
		delete(w.acting, r.a.Subject.Name)
	}
}

func (r *deedRun) Learned() *fleet.Registration { return r.learned }

// ---- its memory ------------------------------------------------------------------

// book is what the store keeps. It outlives each Custos.
type book struct {
	started, newest fleet.Instant
	patrol, next    int64
	alerts          map[fleet.AlertKey]fleet.Alert
	acts            []*fleet.ActionRecord
	orders          []fleet.Order
	regs            map[string]fleet.Registration
	agents          map[string]fleet.AgentRecord
	messages        map[string]bool
	shared          fleet.Records
}

func newBook() book {
	return book{next: 1, alerts: map[fleet.AlertKey]fleet.Alert{}, regs: map[string]fleet.Registration{},
		agents: map[string]fleet.AgentRecord{}, messages: map[string]bool{}}
}

// settledError tells the actor that trying again cannot help.
type settledError struct{}

func (settledError) Error() string { return "it is not to be written" }
func (settledError) Settled() bool { return true }

// Past implements loop.History.
func (c *custos) Past(context.Context, fleet.Instant) (fleet.Past, error) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &w.book
	p := fleet.Past{StartedAt: b.started, Newest: b.newest, Patrol: b.patrol, NextAlert: b.next, Records: recall(b.shared)}
	for _, a := range b.acts {
		p.Actions = append(p.Actions, *a)
	}
	for _, k := range slices.SortedFunc(maps.Keys(b.alerts), func(a, b fleet.AlertKey) int { return strings.Compare(a.String(), b.String()) }) {
		p.Alerts = append(p.Alerts, b.alerts[k])
	}
	for _, name := range slices.Sorted(maps.Keys(b.regs)) {
		p.Registrations = append(p.Registrations, b.regs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.agents)) {
		p.Agents = append(p.Agents, b.agents[name])
	}
	for _, o := range b.orders {
		if !o.IsOver() {
			p.Orders = append(p.Orders, o)
		}
	}
	return p, nil
}

// Commit implements act.Ledger: the turn is held against the truth, and written.
func (c *custos) Commit(_ context.Context, turn fleet.Turn) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.isDead() {
		return settledError{}
	}
	if w.spins(turn) {
		return errors.New("the loop spins")
	}
	for _, r := range turn.Plan.Registrations {
		if w.book.regs[r.Name].Revision != r.Revision {
			return errors.New("it was changed meanwhile")
		}
	}
	w.check(turn)
	w.write(turn)
	keep(&w.book.shared, turn.Plan.Records)
	return nil
}

// spins says whether pass follows upon pass without any time between them, as
// when an action is refused at once, wakes the loop, and is planned again.
func (w *town) spins(turn fleet.Turn) bool {
	if w.spun++; turn.At != w.book.newest {
		w.spun = 0
	}
	if w.spun == 100 {
		w.fault("100 passes at one instant, the last one with %d actions: %v", len(turn.Plan.Actions), turn.Plan.Actions)
	}
	return w.spun >= 100
}

func (w *town) write(turn fleet.Turn) {
	b := &w.book
	b.newest, b.patrol = turn.At, max(b.patrol, turn.Patrol)
	for _, a := range turn.Assessment.Alerts {
		b.alerts[a.AlertKey] = a
		b.next = max(b.next, a.Number+1)
	}
	for _, a := range turn.Plan.Actions {
		b.acts = append(b.acts, &fleet.ActionRecord{Action: a, Stage: fleet.StagePlanned, PlannedAt: turn.At})
	}
	for _, o := range turn.Plan.Orders {
		i := slices.IndexFunc(b.orders, func(old fleet.Order) bool { return old.ID == o.ID })
		moved, err := movedOrder(b.orders[i], o)
		if err != nil {
			w.fault("an order was moved unlawfully: %v", err)
		}
		b.orders[i] = moved
	}
	for _, r := range turn.Plan.Registrations {
		r.Revision++
		b.regs[r.Name] = r
	}
	for _, a := range turn.Agents {
		b.agents[a.Name] = a
	}
}

func (w *town) record(id string) *fleet.ActionRecord {
	i := slices.IndexFunc(w.book.acts, func(r *fleet.ActionRecord) bool { return r.ID == id })
	return w.book.acts[i]
}

// Start implements act.Ledger.
func (c *custos) Start(_ context.Context, id string, at fleet.Instant) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	r := c.w.record(id)
	if c.isDead() || r.Stage != fleet.StagePlanned {
		return settledError{}
	}
	r.Stage, r.StartedAt = fleet.StageStarted, at
	return nil
}

// Finish implements act.Ledger.
func (c *custos) Finish(_ context.Context, result fleet.Result) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.record(result.ActionID)
	if c.isDead() || !r.Open() {
		return settledError{}
	}
	r.Stage, r.Result = fleet.StageEnded, &result
	w.count("result " + string(result.Status))
	if i := slices.IndexFunc(w.book.orders, func(o fleet.Order) bool { return o.ID == r.Order }); i >= 0 && w.book.orders[i].Action == r.ID && !w.book.orders[i].IsOver() {
		w.book.orders[i] = w.book.orders[i].After(result)
	}
	w.learn(r)
	return nil
}

// learn notes what an action taught, as the store does.
func (w *town) learn(r *fleet.ActionRecord) {
	reg, known := w.book.regs[r.Subject.Name]
	bad := r.Result.Status == fleet.ResultFailed || r.Result.Status == fleet.ResultRefused
	learned := r.Result.Registration
	switch {
	case !known:
	case r.Do == "spawn" && bad && learned == nil && reg.Instance == "":
		delete(w.book.regs, reg.Name)
	case learned != nil:
		reg = reg.Learn(*learned)
		reg.Revision++
		w.book.regs[reg.Name] = reg
	}
}

// ---- its promises ----------------------------------------------------------------

// check holds a turn against the truth, at the instant of its commit.
func (w *town) check(turn fleet.Turn) {
	if w.given.At != turn.At {
		w.fault("the turn of %v rests on no snapshot", turn.At)
	}
	w.seen.add(turn.Plan)
	for _, o := range turn.Plan.Orders {
		if o.Guard != "" {
			w.count("guard " + string(o.Guard))
		}
	}
	planned := map[string]bool{}
	for _, a := range turn.Plan.Actions {
		if a.Do == "notify-terminal" {
			continue
		}
		w.checkAlone(a, planned[a.Subject.Name])
		planned[a.Subject.Name] = true
		w.checkSeen(turn, a)
		w.checkAlive(a)
		w.checkHeld(a)
	}
	w.checkTold(turn)
	w.checkGivenUp(turn)
	for _, a := range turn.Plan.Actions {
		if a.Do == "recover" || a.Do == "spawn" {
			delete(w.gaveUp, a.Subject.Name)
			delete(w.looping, a.Subject.Name)
		}
	}
}

// checkAlone: never two actions on one agent at once.
func (w *town) checkAlone(a fleet.Action, planned bool) {
	if planned {
		w.fault("%s and another on %s in one plan", a.Do, a.Subject)
	}
	for _, r := range w.book.acts {
		if r.Open() && r.Subject == a.Subject && !w.harmless(r.Do) {
			w.fault("%s on %s while %s is under way", a.Do, a.Subject, r.Do)
		}
	}
	if w.saidNo {
		w.fault("%s on %s while frozen", a.Do, a.Subject)
	}
}

func (w *town) harmless(do string) bool { return do == "notify-terminal" }

// checkSeen: nothing rests on what is unknown, stale or of before the last action.
func (w *town) checkSeen(turn fleet.Turn, a fleet.Action) {
	parts := []fleet.PartName{fleet.PartAgents}
	for _, f := range turn.Assessment.Findings {
		if f.AlertKey == a.For {
			parts = append(parts, f.Parts...)
		}
	}
	for _, p := range parts {
		if s := w.given.Sight(p); s.Status != fleet.StatusOK {
			w.fault("%s on %s rests on %s, which is %s", a.Do, a.Subject, p, s.Status)
		}
	}
	for _, r := range w.book.acts {
		if r.Subject == a.Subject && !r.Open() && !w.harmless(r.Do) && w.given.Agents.At.Before(r.Result.Ended) {
			w.fault("%s on %s, which was not seen since %s ended", a.Do, a.Subject, r.Do)
		}
	}
	if x := w.find(a.Subject.Name); x != nil && x.owner == fleet.OwnerForeign {
		w.fault("%s on %s, which is somebody else's", a.Do, a.Subject)
	}
}

// checkAlive: what moves is left alone, unless a person ordered it.
func (w *town) checkAlive(a fleet.Action) {
	g := w.givenTrue[a.Subject.Name]
	still := g.quiet >= stillFor && (g.tool == nil || w.now().Since(g.tool.Since) >= time.Duration(g.tool.Deadline))
	person := fleet.IsPerson(a.By)
	live := fmt.Sprintf("%s on %s for %s, which is %s and moved %s ago", a.Do, a.Subject, a.For, g.mood, g.quiet)
	switch a.Do {
	case "stop", "stop-tree", "interrupt":
		if g.pid != 0 && !person && !still {
			w.fault("%s", live)
		}
	case "nudge":
		if g.mood != atRest && !still {
			w.fault("%s", live)
		}
	case "recover", "spawn":
		if g.pid != 0 {
			w.fault("%s", live)
		}
	}
}

// checkHeld: what a person stopped is started by a person only, and later.
func (w *town) checkHeld(a fleet.Action) {
	if a.Do != "recover" && a.Do != "spawn" {
		return
	}
	at, held := w.held[a.Subject.Name]
	if held && (!fleet.IsPerson(a.By) || w.ordered[a.Order] < at) {
		w.fault("%s on %s for %s by %q, which a person stopped (order %d)", a.Do, a.Subject, a.For, a.By, at)
	}
}

// checkTold: each crash that is seen is an alert at once, and told once at most.
func (w *town) checkTold(turn fleet.Turn) {
	fires := map[string]fleet.Alert{}
	for _, a := range turn.Assessment.Alerts {
		if a.Rule == "agent-crashed" && a.Status == fleet.AlertFiring {
			fires[a.Subject.Name] = a
		}
	}
	for _, a := range w.given.Agents.Value {
		if a.State == fleet.StateCrashed && a.Owner == fleet.OwnerCustos {
			w.checkCrash(turn, a, fires)
		}
	}
	for _, m := range turn.Outbox {
		if w.book.messages[m.ID] {
			w.fault("message %s is told twice: %s", m.ID, m.Subject)
		}
		w.book.messages[m.ID] = true
	}
}

// checkCrash: the alert fires with the very pass that sees the crash. It begins,
// and is told, once for each death.
func (w *town) checkCrash(turn fleet.Turn, a fleet.Agent, fires map[string]fleet.Alert) {
	alert, firing := fires[a.Name]
	if !firing {
		w.fault("%s crashed, and no alert fires", a.Name)
		return
	}
	e := w.ends[a.Instance]
	if e == nil || w.book.alerts[alert.AlertKey].Status == fleet.AlertFiring {
		return
	}
	if e.told++; e.told > 1 {
		w.fault("the death of %s is told %d times", a.Name, e.told)
	}
	w.count("death told")
	said := 0
	for _, m := range turn.Outbox {
		if m.Alert == alert.AlertKey && !m.AllClear && m.Kind == "" { // what has a kind is for its parent
			said++
		}
	}
	want := 1 // one that flaps is drafted like any other: Deliver damps what people are told
	if len(alert.CausedBy) > 0 {
		want = 0
	}
	if said != want {
		w.fault("the death of %s is in %d messages, want %d", a.Name, said, want)
	}
}

// checkGivenUp: an agent fails once, and people are told once, until it is tried
// again.
func (w *town) checkGivenUp(turn fleet.Turn) {
	for _, f := range turn.Plan.Failed {
		if w.gaveUp[f.Agent] {
			w.fault("%s is given up a second time, and was not tried since", f.Agent)
		}
		if n := w.triesOf(f.Agent); n < 5 {
			w.fault("%s is given up after %d tries of 5", f.Agent, n)
		}
		w.gaveUp[f.Agent] = true
		w.count("given up")
	}
	for _, a := range turn.Assessment.Alerts {
		if a.Rule != "agent-crash-loop" || a.Status != fleet.AlertFiring || w.book.alerts[a.AlertKey].Status == fleet.AlertFiring {
			continue
		}
		if w.looping[a.Subject.Name]++; w.looping[a.Subject.Name] > 1 {
			w.fault("the crash loop of %s is told twice", a.Subject)
		}
	}
}

// triesOf counts the recoveries of the last hour that were real tries.
func (w *town) triesOf(name string) (n int) {
	for _, r := range w.book.acts {
		if r.Do != "recover" || r.Subject.Name != name || r.Open() || w.now().Since(r.Result.Ended) >= time.Hour {
			continue
		}
		if r.Result.Status != fleet.ResultUnneeded && r.Result.Status != fleet.ResultRefused {
			n++
		}
	}
	return n
}

// close is asked at the end: what crashes again and again was given up, unless
// somebody interfered, and people were told.
func (w *town) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.residents {
		if r.fragile && !w.disturbed[r.name] && !w.gaveUp[r.name] && w.faults == 0 {
			w.fault("%s crashed again and again, and was not given up; it is %s since %s", r.name, r.mood, r.changed)
		}
		alert := w.book.alerts[fleet.AlertKey{Rule: "agent-crash-loop", Subject: fleet.Subject{Kind: fleet.KindAgent, Name: r.name}}]
		if w.gaveUp[r.name] && alert.Number == 0 && w.faults == 0 {
			w.fault("%s was given up, and nobody was told", r.name)
		}
	}
}

// movedOrder is the order as a pass left it. What is over stays so, and what a pass
// judged is the same order.
func movedOrder(was, is fleet.Order) (fleet.Order, error) {
	switch {
	case !was.Same(is):
		return was, fmt.Errorf("order %s became another order", was.ID)
	case was.IsOver() && is.State != was.State:
		return was, fmt.Errorf("order %s was %s and became %s", was.ID, was.State, is.State)
	}
	switch is.State {
	case fleet.OrderOpen, fleet.OrderQueued, fleet.OrderDone, fleet.OrderRefused, fleet.OrderExpired:
		return is, nil
	}
	return was, fmt.Errorf("order %s became %q, which is no state", was.ID, is.State)
}
