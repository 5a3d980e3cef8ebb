package loop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/loop"
	"custos/internal/rules"
)

// mqWorld is a remote, and each Custos that lands on it. Time in it is its own.
type mqWorld struct {
	fail    func(format string, args ...any)
	draw    func(n int) int // 0 to n-1: chance
	set     *rules.Set
	now     time.Duration
	remote  *mqRemote
	all     []*mqCustos
	reports mqReports
	flaky   int  // of a thousand runs of gates, how many fail by chance
	blames  bool // it cannot be asked of so few runs that chance blames nobody
	blur    int  // of a thousand actions, how many cannot read back what they did
	gates   time.Duration
	gap     func() time.Duration // between two steps of an action
	crashIn int                  // so many steps of actions, then Custos stops; 0: it does not
	passes  int
	tells   bool     // whether the story is written
	story   []string // what has happened, for a person who looks why
}

// mqCustos is one Custos: what it remembers, what it is told, what it made on disk.
type mqCustos struct {
	w        *mqWorld
	name     string
	book     *mqBook
	policy   fleet.Policy
	queue    *fleet.MergeQueue
	deeds    []*mqDeed
	due      time.Duration // of its next pass
	up       bool
	boot     int
	booted   time.Duration
	made     map[string]*mqCommit // worktrees
	refs     map[string]bool      // groups whose commit is kept
	procs    map[string]*mqProc   // all that were begun
	running  map[string]*mqProc   // those whose end is not noticed yet
	green    map[string]bool      // trees that passed, as its ledger says
	gateRuns int
	quiet    bool // the last pass changed nothing, and nothing has happened since
	waits    map[string]int
	longest  int // groups of newer items that one had to let pass
}

func newMQWorld(set *rules.Set, fail func(string, ...any), draw func(int) int) *mqWorld {
	w := &mqWorld{draw: draw, set: set, remote: newMQRemote(), gates: 45 * time.Minute, tells: testing.Verbose()}
	w.fail = func(format string, args ...any) {
		fail("%s\n%s", strings.Join(w.story[max(0, len(w.story)-3000):], "\n"), fmt.Sprintf(format, args...))
	}
	w.gap = func() time.Duration { return time.Second }
	return w
}

// add adds a Custos with a queue.
func (w *mqWorld) add(name string, batch int, gates ...string) *mqCustos {
	q := fleet.MergeQueue{Name: name, Project: "shop", Repo: "/r/" + name, Target: "main", Remote: "origin", Digest: "d1", Batch: batch,
		Wait: fleet.Duration(time.Hour), Ageing: fleet.Duration(2 * time.Hour), Dir: "/g/" + name, Runs: "/runs/" + name}
	for _, g := range gates {
		q.Gates = append(q.Gates, fleet.MergeGate{Name: g, Script: "make " + g, Timeout: fleet.Duration(3 * time.Hour)})
	}
	can := map[string]fleet.Ability{}
	for _, do := range []string{"build-merge", "land-merge", "clear-merge", "run-step", "end-step"} {
		can[do] = fleet.Ability{Do: do, Idempotent: true}
	}
	c := &mqCustos{w: w, name: name, up: true, made: map[string]*mqCommit{}, refs: map[string]bool{}, procs: map[string]*mqProc{}, running: map[string]*mqProc{}, green: map[string]bool{}, waits: map[string]int{},
		policy: fleet.Policy{Mode: fleet.ModeAuto, Budget: fleet.Attempts{Max: 20, In: fleet.Duration(time.Hour)}, Blast: 10, Abilities: can, Merges: []fleet.MergeQueue{q}}}
	c.queue = &c.policy.Merges[0]
	c.book = newMQBook(w.at())
	w.all = append(w.all, c)
	return c
}

func (w *mqWorld) at() fleet.Instant {
	return fleet.Instant{Wall: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(w.now), Up: fleet.Duration(w.now), Boot: "b"}
}

// tell adds to the story.
func (w *mqWorld) tell(format string, args ...any) {
	if w.tells {
		w.story = append(w.story, w.now.String()+" "+fmt.Sprintf(format, args...))
	}
}

// luck is bad luck, so often in a thousand.
func (w *mqWorld) luck(often int) bool { return often > 0 && w.draw(1000) >= 1000-often }

// takes is how long one run of a gate takes.
func (w *mqWorld) takes() time.Duration { return w.gates/2 + w.gates*time.Duration(w.draw(100))/100 }

type mqGate int

const (
	mqGatePasses mqGate = iota
	mqGateFails
	mqGateDies
	mqGateHangs
)

// gate is what a run of a gate comes to.
func (w *mqWorld) gate(on *mqCommit) mqGate {
	switch {
	case !on.passes():
		return mqGateFails
	case !w.luck(w.flaky):
		return mqGatePasses
	}
	return mqGateFails + mqGate(max(0, w.draw(20)-17))
}

// happened has a Custos think soon.
func (c *mqCustos) happened() { c.due, c.quiet = min(c.due, c.w.now+time.Second), false }

// step goes on to the next moment at which something happens, until one at the latest.
func (w *mqWorld) step(until time.Duration) {
	next := until
	for _, c := range w.all {
		next = min(next, c.next())
	}
	w.now = max(w.now, next)
	for _, c := range w.all {
		c.goOn()
	}
}

// run goes on until a moment.
func (w *mqWorld) run(until time.Duration) {
	for w.now < until {
		w.step(until)
	}
}

func (c *mqCustos) next() time.Duration {
	next := c.due
	if !c.up {
		return next
	}
	for _, d := range c.deeds {
		next = min(next, d.at)
	}
	for _, p := range c.running {
		next = min(next, p.ends)
	}
	return next
}

func (c *mqCustos) goOn() {
	for key, p := range c.running {
		if p.ends <= c.w.now {
			delete(c.running, key)
			c.happened()
		}
	}
	if c.up {
		c.goOnActing()
	}
	if c.due > c.w.now {
		return
	}
	if !c.up {
		c.recover()
	}
	c.turn()
}

func (c *mqCustos) goOnActing() {
	for _, d := range slices.Clone(c.deeds) {
		if d.at > c.w.now || !c.up {
			continue
		}
		if d.goOn() {
			c.deeds = slices.DeleteFunc(c.deeds, func(o *mqDeed) bool { return o == d })
			c.happened()
		}
		d.at = c.w.now + c.w.gap()
		c.boundary()
	}
}

// boundary is a moment at which Custos may stop.
func (c *mqCustos) boundary() {
	if c.w.crashIn > 0 {
		if c.w.crashIn--; c.w.crashIn == 0 {
			c.crash(time.Minute)
		}
	}
}

// crash stops Custos for a while: what it did not write down is forgotten.
func (c *mqCustos) crash(down time.Duration) {
	c.up, c.deeds, c.due = false, nil, c.w.now+down
	c.w.tell("%s stops", c.name)
}

// recover begins again, as package act does.
func (c *mqCustos) recover() {
	c.up, c.quiet = true, false
	for _, a := range c.book.past.Actions {
		if a.Open() {
			c.deeds = append(c.deeds, &mqDeed{c: c, id: a.ID, at: c.w.now + c.w.gap(), planned: a.Stage == fleet.StagePlanned, started: a.Stage == fleet.StageStarted})
		}
	}
}

// look is what a pass sees.
func (c *mqCustos) look() fleet.Snapshot {
	s := fleet.Snapshot{At: c.w.at(), From: fleet.Vantage{Host: "h", Boot: "b"}}
	for _, name := range fleet.PartNames() {
		*s.Sight(name) = fleet.Sight{Status: fleet.StatusOK, At: s.At}
	}
	s.Runs.Value = c.seen()
	return s
}

// turn is one pass.
func (c *mqCustos) turn() {
	c.w.passes++
	p := loop.Judge(c.w.set, fleet.Recording{Snapshot: c.look(), Past: c.book.past, Policy: c.policy})
	idle := len(p.Plan.Actions) == 0 && p.Plan.Changes.IsZero() && !p.Plan.Wake
	c.checkPlan(p, idle)
	if err := c.book.commit(p.Plan); err != nil {
		c.w.fail("%s: at %s: %v", c.name, c.w.now, err)
	}
	c.noteRuns(p.Plan.Runs)
	for _, m := range p.Plan.Moves {
		c.w.tell("%s: %s %s -> %s: %s", c.name, m.Record.Name, m.From, m.To, m.Why)
	}
	c.checkBook(p)
	for _, a := range p.Plan.Actions {
		c.deeds = append(c.deeds, &mqDeed{c: c, id: a.ID, at: c.w.now + c.w.gap()})
	}
	c.quiet, c.due = idle, c.w.now+time.Second
	if idle {
		c.due = c.w.now + c.rest(p)
	}
	c.boundary()
}

// rest is how long nothing is to be thought about, if nothing happens.
func (c *mqCustos) rest(p fleet.Pass) time.Duration {
	rest := 6 * time.Hour
	sooner := func(t fleet.Instant) {
		if wait := t.Since(p.Plan.At); !t.IsZero() && wait > 0 {
			rest = min(rest, wait)
			c.quiet = false
		}
	}
	sooner(p.Plan.Until)
	for _, s := range p.Plan.Skipped {
		sooner(s.Until)
	}
	return rest
}

// noteRuns notes which trees passed, by what was written down.
func (c *mqCustos) noteRuns(list []fleet.Run) {
	for _, r := range list {
		if r.State == fleet.RunDone && c.made[r.Work] != nil {
			c.green[c.made[r.Work].treeID()] = true
		}
	}
}

// madeFor are the worktrees of a group.
func (c *mqCustos) madeFor(group string) (tops []string) {
	for top := range maps.Keys(c.made) {
		if strings.HasPrefix(top, fmt.Sprintf("%s/%s-", c.queue.Dir, group)) {
			tops = append(tops, top)
		}
	}
	return tops
}
