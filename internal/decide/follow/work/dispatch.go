package work

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/ledger"
)

const (
	mostTries     = 3           // of one piece of work, where its role says nothing
	mostAtOnce    = 4           // agents of a role that Custos starts by itself, where that says nothing
	firstPause    = time.Minute // after the first try; the next ones are four times as long each
	pauseGrowth   = 4
	longestPause  = time.Hour
	reviewsBefore = -1 // what waits to be merged waits for its review: that is first
)

// dispatch hands out the work that Custos hands out by itself: reviews, what belongs to a team, and what its role
// takes. Each is handed out as by sling: that it is taken, and that its agent begins, is one row.
func (c *pass) dispatch() {
	if c.policy.Frozen != "" || c.past.Amnesia || c.past.Blind != "" || !c.snap.Agents.Fresh() {
		return
	}
	due := c.due()
	if len(due) == 0 {
		return
	}
	ready := c.ready(due)
	works := slices.Clone(c.past.Records.Work)
	for _, w := range due {
		if !ready[w.Ref()] {
			continue
		}
		if done, ok := c.handOut(w, works); ok {
			works = append(works, done)
			c.out.Records.Work = append(c.out.Records.Work, done)
			c.out.Wake = true
		}
	}
}

// due are the pieces of work whose turn it is, as far as they say themselves: the most urgent first, then the oldest.
func (c *pass) due() (list []fleet.WorkItem) {
	paused := fleet.PausedProjects(c.past.Silences)
	for i := range c.past.Records.Work {
		w := &c.past.Records.Work[i]
		if w.State != fleet.WorkOpen || w.Spent || !c.isOurs(w) || c.isChanged(w.ID) || c.isNow(w.ID) {
			continue
		}
		if c.tried(*w).Spent { // its agent gave it back itself
			c.out.Records.Work = append(c.out.Records.Work, c.tried(*w))
			continue
		}
		if _, is := paused[w.Project]; is || !c.out.Passed(c.at, w.Since, pauseAfter(w.Tries)) {
			continue
		}
		list = append(list, *w)
	}
	slices.SortStableFunc(list, func(a, b fleet.WorkItem) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.Priority, b.Priority))
	})
	return list
}

func first(w fleet.WorkItem) int {
	if w.Review != nil {
		return reviewsBefore
	}
	return 0
}

// pauseAfter is how long work waits that was handed out in vain.
func pauseAfter(tries int) time.Duration {
	pause := time.Duration(0)
	for n := range tries {
		if pause *= pauseGrowth; n == 0 {
			pause = firstPause
		}
	}
	return min(pause, longestPause)
}

// isOurs says whether Custos hands work out by itself.
func (c *pass) isOurs(w *fleet.WorkItem) bool {
	r := c.roleOf(w)
	switch {
	case r == nil:
		return false
	case w.Review != nil || w.Resolves != nil || w.Team != "" && !c.hasParts(w) && !c.isBefore(w):
		return true
	case w.Team != "":
		return false
	case r.Takes == fleet.RoleTakesReturned:
		return w.LeftBy != ""
	}
	return r.Takes == fleet.RoleTakesReady
}

// roleOf is the role, of custos.toml, that work is for: its own, else that of the agent that had it last; nil for none.
func (c *pass) roleOf(w *fleet.WorkItem) *fleet.Role {
	name := w.Role
	if r := c.registered(w.LeftBy); name == "" && r != nil {
		name = r.Role
	}
	return fleet.Find(c.policy.Roles, func(r *fleet.Role) bool { return r.Name == name && name != "" })
}

// isNow says whether this pass has changed work before.
func (c *pass) isNow(id string) bool {
	return slices.ContainsFunc(c.out.Records.Work, func(w fleet.WorkItem) bool { return w.ID == id && id != "" })
}

// ready says of which work it is seen that it may be taken up.
func (c *pass) ready(list []fleet.WorkItem) map[fleet.Ref]bool {
	refs := make([]fleet.Ref, 0, len(list))
	for _, w := range list {
		refs = append(refs, w.Ref())
	}
	out := map[fleet.Ref]bool{}
	for _, f := range ledger.WorkOf(c.past, c.snap, refs) {
		out[f.Ref] = f.Ready.Or(false)
	}
	return out
}

// handOut takes work for a new agent of its role, unless something holds that back.
func (c *pass) handOut(w fleet.WorkItem, works []fleet.WorkItem) (done fleet.WorkItem, ok bool) {
	r := *c.roleOf(&w)
	if r.Max == 0 {
		r.Max = mostAtOnce
	}
	held := c.heldBack(w, r, works)
	held.Move = fleet.Move{Record: fleet.Subject{Kind: fleet.KindWork, Name: w.ID}, From: string(w.State), To: string(fleet.WorkTaken), Why: "it is handed out to role " + r.Name}
	if held.Guard != "" {
		c.out.Hold(held)
		return w, false
	}
	reg := ledger.RoleStart(r, &w, nil, nil, c.past)
	reg.Dispatched = true
	begin, err := ledger.RoleOrders(r, reg, ledger.SlingID(w), fleet.ByCustos, c.at)
	if err == nil {
		if w.Ends = r.Ends; w.Resolves != nil { // a word brings nothing in
			w.Ends = fleet.RoleEndsMerged
		}
		done, err = ledger.SlingWork(w, begin, fleet.ByCustos, c.at)
	}
	if err != nil {
		held.Guard, held.Held = fleet.GuardState, fleet.Line(err.Error(), 300)
		c.out.Hold(held)
	}
	return done, err == nil
}

// heldBack is what keeps work from being handed out now; the zero value: nothing.
func (c *pass) heldBack(w fleet.WorkItem, r fleet.Role, works []fleet.WorkItem) (held fleet.HeldMove) {
	if err := ledger.RoleLacks(r); err != nil {
		held.Guard, held.Held, held.Hint = fleet.GuardState, fleet.Line(err.Error(), 300), "custos role show "+r.Name
		return held
	}
	if r.Project != "" && w.Project != "" && r.Project != w.Project {
		held.Guard, held.Held = fleet.GuardState, fmt.Sprintf("role %s is of project %s, and it is of %s", r.Name, r.Project, fleet.Line(w.Project, 80))
		return held
	}
	if w.Resolves != nil && c.isQueueHeld(w.Resolves.Queue) {
		held.Guard, held.Held, held.Hint = fleet.GuardState, "merge queue "+w.Resolves.Queue+" is held", "custos merge release "+w.Resolves.Queue
		return held
	}
	if err := ledger.RoleRoom(r, c.past.Registrations, works); err != nil {
		held.Guard, held.Held = fleet.GuardLimit, fleet.Line(err.Error(), 300)
		return held
	}
	if who := c.stillAt(w); who != "" {
		held.Guard, held.Held, held.Hint = fleet.GuardInFlight, "agent "+who+" had it, and runs yet", "custos stop "+who
		return held
	}
	if other := sharing(w, works); other != nil {
		held.Guard, held.Held = fleet.GuardInFlight, other.ID+" is in progress, and changes the same files"
	}
	return held
}

func (c *pass) isQueueHeld(queue string) bool {
	return slices.ContainsFunc(c.past.Records.MergeHolds, func(h fleet.MergeHold) bool { return h.Queue == queue && h.Held })
}

// stillAt names an agent that was started for a piece of work, has it no more, and runs.
func (c *pass) stillAt(w fleet.WorkItem) string {
	for i := range c.past.Registrations {
		if a := &c.past.Registrations[i]; a.Task == w.ID && a.Dispatched && !c.isGone(a.Name) {
			return a.Name
		}
	}
	return ""
}

// sharing is work in progress that changes files which other work changes, too; nil when there is none.
func sharing(w fleet.WorkItem, works []fleet.WorkItem) *fleet.WorkItem {
	return fleet.Find(works, func(o *fleet.WorkItem) bool {
		return o.ID != w.ID && o.State == fleet.WorkTaken && o.Project == w.Project && slices.ContainsFunc(w.Files, func(f string) bool {
			return slices.ContainsFunc(o.Files, func(g string) bool { return reaches(f, g) || reaches(g, f) })
		})
	})
}

// reaches says whether a pattern is, holds or matches a path.
func reaches(pattern, file string) bool {
	pattern, file = path.Clean(pattern), path.Clean(file)
	if pattern == file || strings.HasPrefix(file, pattern+"/") {
		return true
	}
	match, _ := path.Match(pattern, file)
	return match
}

// tried notes of work that was handed out in vain whether that is done again.
func (c *pass) tried(w fleet.WorkItem) fleet.WorkItem {
	most := mostTries
	if r := c.roleOf(&w); r != nil && r.Tries > 0 {
		most = r.Tries
	}
	if w.Tries >= most {
		w.Spent, w.Why = true, fleet.Line(fmt.Sprintf("%s; it was handed out %s", w.Why, fleet.Counted(w.Tries, "time")), 400)
	}
	return w
}
