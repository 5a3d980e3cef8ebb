package registry

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

// Pools returns what the pools want: a worker for each piece of work that waits,
// never more than the most, never fewer than the least, and the end of one that has
// been idle for long while nothing waits.
// What is not known changes nothing: without a good look at the agents nothing is
// started or ended, and while it is not known how much waits only the least is kept. A
// registration that the pass changes already is left to the next one.
//
// Each is an ordinary order, with every guard of one. Its ID and the name of the
// worker are made of ten minutes of the clock and of a number: a pass that is
// thought out again gives the same order, and a start that came to nothing is tried
// again in the next ten minutes.
func Pools(p fleet.Pass) (out fleet.Follows) {
	if p.Past.Blind != "" {
		return out
	}
	seen := !p.Past.Amnesia && p.Snapshot.Agents.Fresh()
	if !seen {
		out.Held = unseen(p)
	}
	waiting := ledger.Waiting(p.Past, p.Snapshot, p.Policy.Pools)
	for _, pool := range p.Policy.Pools {
		s := workers{past: p.Past, snap: p.Snapshot, pool: pool, out: &out, rests: rests(p.Policy)}
		s.count()
		if seen {
			s.move(waiting[pool.Project])
		}
		s.tell()
	}
	out.Workers = append(out.Workers, unlisted(p, out.Workers)...)
	out.Registrations = slices.DeleteFunc(out.Registrations, func(r fleet.Registration) bool { return ledger.Registration(p.Plan.Registrations, r.Name) != nil })
	out.Wake = len(out.Given) > 0
	return out
}

// workers is one pool in one pass.
type workers struct {
	past    fleet.Past
	snap    fleet.Snapshot
	pool    fleet.Pool
	out     *fleet.Follows
	rests   string // why nothing is done on this host; "" where it is
	members []worker
	others  others // workers of other hosts, where this one starts workers for all
	begins  int    // how many are about to be started
}

// move starts and ends workers.
func (s *workers) move(waiting fleet.Leaf[int]) {
	if s.pool.Disabled {
		s.switchedOff(waiting)
		return
	}
	s.others = s.elsewhere()
	s.retire()
	s.keep()
	s.fill(waiting)
}

// worker is one agent of a pool, or one that is ordered.
type worker struct {
	reg     fleet.Registration
	seen    *fleet.Agent
	coming  bool // its start is ordered
	leaving bool // its end is ordered
	busy    bool // an issue, a pull request or other work is its own
	order   bool // an order about it is open
}

// count lists who belongs to the pool.
func (s *workers) count() {
	for _, r := range s.past.Registrations {
		if r.Pool == s.pool.Name && r.Desired != fleet.DesiredRetired {
			s.members = append(s.members, worker{reg: r, seen: s.agent(r), busy: s.isBusy(r.Name)})
		}
	}
	for _, o := range s.past.Orders {
		if o.IsOver() {
			continue
		}
		i := slices.IndexFunc(s.members, func(w worker) bool { return w.reg.Name == o.Agent })
		switch {
		case i >= 0:
			s.members[i].order = true
			s.members[i].leaving = s.members[i].leaving || o.Do == fleet.OrderStop
		case o.Do == fleet.OrderSpawn && o.Spawn != nil && o.Spawn.Pool == s.pool.Name:
			s.members = append(s.members, worker{reg: *o.Spawn, coming: true, order: true})
		}
	}
}

// agent returns the newest instance of a worker; nil when it was not seen.
func (s *workers) agent(r fleet.Registration) *fleet.Agent {
	for i := range s.snap.Agents.Value {
		if a := &s.snap.Agents.Value[i]; a.Name == r.Name && a.Instance == r.Instance {
			return a
		}
	}
	return nil
}

func (s *workers) isBusy(name string) bool {
	return slices.ContainsFunc(s.snap.Forge.Value.Issues, func(i fleet.Issue) bool { return i.Agent == name && i.Open.Or(true) }) ||
		slices.ContainsFunc(s.snap.Forge.Value.Pulls, func(p fleet.PullRequest) bool { return p.Agent == name }) ||
		slices.ContainsFunc(s.snap.Coordination.Value.Work, func(w fleet.WorkFacts) bool {
			return w.State.Or(fleet.WorkTaken) == fleet.WorkTaken && (w.Agent == name || w.Tracker == fleet.TrackerBeads && fleet.MeansAgent(w.Agent, name))
		})
}

// isGone says whether nothing of a worker runs, or will by itself: it ended well, or
// Custos ended it. Whom a person stopped keeps the place: it was not to be there.
func (w worker) isGone() bool {
	if w.coming || w.order || w.seen == nil || w.seen.Process.PID != 0 || w.reg.Exit == nil || fleet.IsPerson(w.reg.DesiredBy) && w.reg.Desired != fleet.DesiredRunning {
		return false
	}
	if w.reg.Desired == fleet.DesiredStopped {
		return true
	}
	status, known := w.reg.Exit.Status.Get()
	return w.reg.Desired == fleet.DesiredRunning && !isHandingOver(w.reg) && known && status == 0 && w.reg.Exit.Asked == "" && w.reg.Restart != fleet.RestartAlways
}

// seesWork says whether it is known that a worker has no work: what a tracker that
// is not seen would show is not known.
func (s *workers) seesWork() bool {
	return s.snap.Beads.Fresh() && (s.pool.Project == "" || s.snap.Forge.Fresh())
}

// retire retires the workers that are gone, unless something is their own yet: that
// is given back, or taken over, first.
func (s *workers) retire() {
	for i := range s.members {
		w := &s.members[i]
		if !w.isGone() || w.busy || !s.seesWork() {
			continue
		}
		r := w.reg
		r.Desired, r.DesiredBy, r.DesiredAt, r.DesiredFor = fleet.DesiredRetired, fleet.ByCustos, s.snap.At, ""
		s.out.Registrations = append(s.out.Registrations, r)
	}
}

// keep wants a worker again that was to be ended and lives on, when no person orders
// that any more: it went back to work before its end came.
func (s *workers) keep() {
	for i := range s.members {
		w := &s.members[i]
		if w.order || w.seen == nil || w.seen.Process.PID == 0 || w.reg.Desired != fleet.DesiredStopped || w.reg.DesiredBy != fleet.ByCustos {
			continue
		}
		if r, err := ledger.SetDesired(w.reg, fleet.DesiredRunning, fleet.ByCustos, s.snap.At); err == nil {
			w.reg = r
			s.out.Registrations = append(s.out.Registrations, r)
		}
	}
}

// fill starts the workers that are missing, or ends those that are not needed.
func (s *workers) fill(waiting fleet.Leaf[int]) {
	present, want := s.wanted(waiting)
	why := s.notOurs()
	if s.holder() != "" { // it counts the workers of all, and says what it holds back
		s.spare(present, waiting)
		return
	}
	s.silent(present, want, waiting)
	if want > max(s.pool.Max, present) {
		s.hold(present, counted(want), fleet.HeldMove{Guard: fleet.GuardLimit, Held: fmt.Sprintf("%d is the most", s.pool.Max)})
	}
	if s.pool.Project != "" && !waiting.IsKnown() && present < s.pool.Max && !s.isDormant() {
		s.hold(present, allNeeded, fleet.HeldMove{Guard: fleet.GuardEvidence, Held: "it is not known how much work waits in " + s.pool.Project, Hint: hintLook})
	}
	want = min(want, s.pool.Max)
	if why != "" && want > present {
		s.hold(present, counted(want), fleet.HeldMove{Guard: fleet.GuardLease, Held: why, Hint: hintHub})
		want = present
	}
	if s.begins = max(0, want-present); s.begins > s.announced() {
		s.hold(present, counted(want), fleet.HeldMove{Guard: fleet.GuardLease, Held: "the other hosts are told of it first", Hint: hintHub})
		want = present + s.announced()
	}
	if want > present {
		s.start(present, want)
		return
	}
	s.spare(present, waiting)
}

// wanted is how many workers there are, on all hosts where this one starts them for all, and how many there would be
// were there no most.
func (s *workers) wanted(waiting fleet.Leaf[int]) (present, want int) {
	here := s.here()
	present = here.Present + s.others.present
	return present, s.needed(present, here.Free+s.others.free, waiting)
}

// here is how many workers this host has.
func (s *workers) here() fleet.PoolWorkers {
	out := fleet.PoolWorkers{Pool: s.pool.Name}
	for _, w := range s.members {
		if w.isGone() {
			continue
		}
		out.Present++
		if s.mayTake(w) {
			out.Free++
		}
	}
	return out
}

// needed is how many workers there would be of so many, of which some may take up what waits, were there no most.
func (s *workers) needed(present, free int, waiting fleet.Leaf[int]) int {
	want := max(s.pool.Min, present)
	if n, known := waiting.Get(); known && s.pool.Project != "" {
		want = max(want, present+n-free)
	}
	return want
}

// freshHand is for how long a worker may look for its work before it counts as
// having some.
const freshHand = 10 * time.Minute

// mayTake says whether a worker will take up what waits. One of which that cannot
// be known does: no worker is started for want of a good look.
func (s *workers) mayTake(w worker) bool {
	switch {
	case w.coming:
		return true
	case w.busy, w.leaving, w.reg.Desired != fleet.DesiredRunning, w.reg.Failed != "":
		return false
	case w.seen == nil || w.seen.State == fleet.StateUnknown:
		return true
	case w.reg.StartedAt.IsZero() || s.snap.At.Since(w.reg.StartedAt) < freshHand:
		return true
	}
	return w.seen.TurnOver() || w.seen.State == fleet.StateStarting
}

// start orders as many workers as are missing. One that was ordered in vain counts as
// ordered until the next ten minutes: the store knows its order, and takes no other.
func (s *workers) start(present, want int) {
	account, ok := s.account(present, want)
	if !ok {
		return
	}
	for n, k := want-present, 1; n > 0 && k <= 1000; k++ {
		name := fmt.Sprintf("%s-%s%s-%d", s.pool.Name, s.hostPart(), s.stamp(), k)
		if s.wasOfAnotherLease(poolOrder + name) {
			continue
		}
		if s.isTried(poolOrder+name, present, want) {
			n--
			continue
		}
		if ledger.Registration(s.past.Registrations, name) != nil || slices.ContainsFunc(s.past.Orders, func(o fleet.Order) bool { return o.Agent == name }) {
			continue
		}
		n--
		o := fleet.Order{ID: poolOrder + name, Do: fleet.OrderSpawn, Agent: name, By: fleet.ByCustos, At: s.snap.At, State: fleet.OrderOpen, Spawn: s.worker(name, account)}
		o.Spawn = ledger.Spawned(o, s.snap.At)
		if s.isShared() { // another host may have one, where it comes to nothing here
			o.Fence, o.Expires = &fleet.Fence{Key: fleet.PoolKey(s.pool.Name), Epoch: s.lease().Epoch}, s.snap.At.Add(leisure)
		}
		s.out.Given = append(s.out.Given, o)
		if s.pool.Typed {
			s.out.Given = append(s.out.Given, fleet.Order{ID: o.ID + "-prompt", Do: fleet.OrderNudge, Agent: name, By: fleet.ByCustos, At: s.snap.At, State: fleet.OrderOpen, Text: s.pool.Prompt})
		}
	}
}

// stamp is the ten minutes of the clock that the names and orders of now are made of.
func (s *workers) stamp() string {
	return s.snap.At.Wall.UTC().Truncate(stamped).Format("060102-1504")
}

// stamped is how long names and orders are made of the same moment.
const stamped = 10 * time.Minute

// poolOrder is how the IDs of the orders of pools begin.
const poolOrder = "pool-"

// worker is the registration of a new one: with a worktree and a branch of its own
// where the pool works in a repository.
func (s *workers) worker(name, account string) *fleet.Registration {
	p := s.pool
	r := &fleet.Registration{Name: name, Role: p.Role, Project: p.Project, Kind: p.Kind, Owner: fleet.OwnerCustos, Where: p.Where, Argv: p.Argv, Env: p.Env,
		Dir: p.Dir, Account: account, Restart: fleet.RestartOnFailure, Prompt: p.Prompt, Pool: p.Name}
	if p.Repo != "" {
		r.Repo, r.Branch = p.Repo, "agent/"+name
	}
	return r
}

// spare ends one worker that is not needed: of those that have been idle for long
// enough the one that was started last, and only one at a time.
func (s *workers) spare(present int, waiting fleet.Leaf[int]) {
	n, known := waiting.Get()
	over, idle := s.over(present)
	heard := s.others.present - s.others.silent
	if slices.ContainsFunc(s.members, func(w worker) bool { return w.leaving }) || s.living()+heard <= s.pool.Min || !over && (!known || n > 0) && s.pool.Project != "" {
		return
	}
	last := s.newestSpare(idle)
	if last == nil {
		return
	}
	if id := poolOrder + last.reg.Name + "-stop-" + s.stamp(); !s.isTried(id, present, present-1) {
		s.out.Given = append(s.out.Given, fleet.Order{ID: id, Do: fleet.OrderStop, Agent: last.reg.Name, By: fleet.ByCustos,
			At: s.snap.At, State: fleet.OrderOpen, Expires: s.snap.At.Add(leisure), Text: "it has been idle for " + idle.String() + ", and its pool does not need it"})
	}
}

// over says whether there are more workers than there may be, of those that are heard, which Custos is to mend; and for
// how long one is idle before it is ended.
func (s *workers) over(present int) (bool, fleet.Duration) {
	is := present-s.others.silent > s.pool.Max && s.pool.OnReturn != fleet.ReturnAsk
	if is && s.pool.OnReturn == fleet.ReturnStopNew {
		return true, min(s.pool.Idle, betweenTwo)
	}
	return is, s.pool.Idle
}

// betweenTwo is how long a worker may be idle between two issues that it takes up.
const betweenTwo = fleet.Duration(time.Minute)

// newestSpare is the worker that was started last of those that have been idle for so long; nil: there is none.
func (s *workers) newestSpare(idle fleet.Duration) (last *worker) {
	for i := range s.members {
		if w := &s.members[i]; s.isSpare(*w, idle) && (last == nil || strings.Compare(w.reg.Name, last.reg.Name) > 0) {
			last = w
		}
	}
	return last
}

// living counts the workers that are there, and to stay: one that is only on its way
// may never come.
func (s *workers) living() (n int) {
	for _, w := range s.members {
		if !w.coming && w.reg.Desired == fleet.DesiredRunning && w.seen != nil && w.seen.Process.PID != 0 {
			n++
		}
	}
	return n
}

// leisure is how long an order to end a worker stands: when it is not carried out by
// then, it is looked at again whether it is needed.
const leisure = 10 * time.Minute

// isSpare says whether a worker is seen to have done nothing for long, and to have
// nothing to do.
func (s *workers) isSpare(w worker, idle fleet.Duration) bool {
	if w.seen == nil || w.busy || w.order || w.reg.Desired != fleet.DesiredRunning || !w.seen.TurnOver() || w.seen.Attached > 0 || isHandingOver(w.reg) {
		return false
	}
	if w.reg.PromptState == fleet.DeliveryPending || w.reg.PromptState == fleet.DeliverySent || !s.seesWork() {
		return false
	}
	dwell, known := w.seen.Dwell.Get()
	return known && dwell >= idle
}
