package ledger

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// PullSight is what follows for an item from how its pull request is seen, in a queue whose target the forge moves.
type PullSight struct {
	Now    fleet.MergeItem // with its pull request, at the commit that this has, and why it waits
	Merged bool
	Closed string          // why it is not wanted any more; "": it is
	Stuck  fleet.MergeLeft // why it is its author's; without a state: it is not
	Pull   string          // name of the pull request, "" while none is seen
}

// SeeAtForge looks at the pull request of an item that is not over. An item that names none has that of its branch into the
// target, once it is seen at the very commit that was added. What is not seen neither merges nor fails anything.
func SeeAtForge(t Trackers, q fleet.MergeQueue, i fleet.MergeItem) (s PullSight) {
	s.Now = i
	s.Now.Waits, s.Now.Unseen = "", false
	if why := t.blind[fleet.TrackerPull]; why != "" {
		s.Now.Waits, s.Now.Unseen = why, true
		return s
	}
	r := t.pullOf(q, i)
	if r == "" {
		s.Now.Waits = fmt.Sprintf("no pull request of %s at %.12s into %s is seen in project %s: open one", i.Source, i.Commit, q.Target, q.Project)
		if i.Agent != "" {
			s.Now.Waits += ", or have a person add it, where it is not " + fleet.Line(i.Agent, 60) + "'s"
		}
		return s
	}
	if s.Pull = string(r); !slices.Contains(i.Work, r) {
		s.Now.Work = append(slices.Clone(i.Work), r)
	}
	seen, p := t.Seen(r), t.pulls[r]
	switch {
	case seen.Why != "":
		s.Now.Waits, s.Now.Unseen = string(r)+" is not seen now: "+fleet.Line(seen.Why, 200), true
	case p == nil:
		s.over(q, r, t.ended[r], seen.Outcome == "merged")
	default:
		s.open(t, q, p)
	}
	return s
}

// IsReady says whether nothing keeps its forge from merging an item.
func (s PullSight) IsReady() bool {
	return !s.Merged && s.Closed == "" && s.Stuck.State == "" && s.Now.Waits == "" && s.Now.State == fleet.MergeWaiting
}

// over judges a pull request that is not open any more. What was merged into another branch is not in the target.
func (s *PullSight) over(q fleet.MergeQueue, r fleet.Ref, e *fleet.EndedPull, merged bool) {
	switch {
	case !merged:
		s.Closed = fmt.Sprintf("%s was closed, and not merged", r)
	case e != nil && e.Base != "" && e.Base != q.Target:
		s.Closed = fmt.Sprintf("%s was merged into %s, and not into %s", r, fleet.Line(e.Base, 80), q.Target)
	default:
		s.Merged = true
		if e != nil && e.Head != "" { // it may have moved between two looks
			s.Now.Commit = e.Head
		}
	}
}

// pullOf is the pull request that an item is merged by: of those that it names the one of its branch, else the first; else
// the one that there is of its branch in the repository itself, at its commit. An agent's item has only one that is its own. "" for
// none.
func (t Trackers) pullOf(q fleet.MergeQueue, i fleet.MergeItem) (r fleet.Ref) {
	for _, w := range i.Work {
		if p := t.pulls[w]; isPull(w) && (r == "" || p != nil && p.Branch == i.Source) {
			r = w
		}
	}
	if r != "" {
		return r
	}
	take := func(name fleet.Ref, project, base, branch, head, agent string, fork bool) {
		is := project == q.Project && base == q.Target && branch == i.Source && head == i.Commit && !fork
		if is && (i.Agent == "" || agent == i.Agent) && (r == "" || name < r) {
			r = name
		}
	}
	for name, p := range t.pulls {
		take(name, p.Project, p.Base, p.Branch, p.Head, p.Agent, p.Fork)
	}
	for name, e := range t.ended {
		if e.Merged && r == "" {
			take(name, e.Project, e.Base, e.Branch, e.Head, e.Agent, e.Fork)
		}
	}
	return r
}

// open judges a pull request that is open.
func (s *PullSight) open(t Trackers, q fleet.MergeQueue, p *fleet.PullRequest) {
	i, name := &s.Now, p.Name
	if p.Fork { // whoever has that pushes to it
		i.Waits = name + " is of a fork: a person merges it there"
		return
	}
	if p.Head != "" && p.Head != i.Commit && (i.State == fleet.MergeWaiting || isStuck(i)) {
		*i = Repin(*i, p.Head, t.at)
	}
	checks, known := p.Checks.Get()
	conflict, told := p.Conflict.Get()
	switch {
	case told && conflict:
		s.Stuck = fleet.MergeLeft{ID: i.ID, State: fleet.MergeConflict, Why: fmt.Sprintf("its forge says that %s cannot be merged into %s as it is", name, p.Base)}
	case known && checks == "failure":
		s.Stuck = fleet.MergeLeft{ID: i.ID, State: fleet.MergeFailed, Why: strings.TrimSuffix("the checks of "+name+" fail: "+fleet.Line(strings.Join(p.Failed, ", "), 200), ": ")}
	case isStuck(i) && told && known && checks == "success" && !strings.HasPrefix(i.Why, fleet.MergeBlocked):
		*i = Repin(*i, i.Commit, t.at) // what stood in its way is gone
	}
	i.Waits, i.Unseen = pullWaits(t, q, p)
}

// pullWaits says why a pull request is not merged yet; "" where nothing stands in its way.
func pullWaits(t Trackers, q fleet.MergeQueue, p *fleet.PullRequest) (why string, unseen bool) {
	checks, known := p.Checks.Get()
	_, told := p.Conflict.Get()
	review, _ := p.Review.Get()
	if why, unseen, _ = t.pullState(fleet.Ref(p.Name)); why != "" {
		return p.Name + " " + fleet.Line(why, 200), unseen
	}
	switch {
	case q.Mode == fleet.MergeForge && !p.Owner.MayTouch():
		return fmt.Sprintf("nothing may be written to project %s: watch_only", p.Project), false
	case p.Base != q.Target:
		return fmt.Sprintf("%s goes into %s, and not into %s", p.Name, fleet.Line(p.Base, 80), q.Target), false
	case !known:
		return p.Name + " is seen, but not its checks: " + fleet.Line(p.Checks.Why(), 200), true
	case !told:
		return "it is not seen whether " + p.Name + " can be merged: " + fleet.Line(p.Conflict.Why(), 200), true
	case checks == "none":
		return p.Name + " has no checks, and nothing is merged that none has passed", false
	case checks != "success":
		return "the checks of " + p.Name + " are " + fleet.Line(checks, 40), false
	case review == "requested":
		return p.Name + " waits for the review that was asked for", false
	case q.Mode == fleet.MergeWatch:
		return "it waits for whoever merges " + p.Name, false
	}
	return "", false
}

// PullBarred says why the forge is not to be asked at this instant to merge an item at a commit; "" when nothing speaks against
// it. What its forge says it asks itself.
func PullBarred(past fleet.Past, q fleet.MergeQueue, item, commit string, at fleet.Instant) string {
	b := NewMergeBook(q, past, at)
	i := b.Item(item)
	held, by := b.Holds()
	switch {
	case i == nil:
		return item + " is not known any more"
	case q.Mode != fleet.MergeForge:
		return "queue " + q.Name + " is not one whose target the forge moves"
	case i.State != fleet.MergeWaiting:
		return item + " is " + string(i.State)
	case i.Commit != commit:
		return item + " has moved to another commit"
	case held != "":
		return "the queue is held by " + by + ": " + held
	case !b.isReady(i):
		return item + " waits: " + b.Why(i)
	}
	return ""
}

// whyAtForge says why an item is not merged that nothing keeps from that.
func (b *MergeBook) whyAtForge(i *fleet.MergeItem) string {
	if held, by := b.Holds(); held != "" {
		return "the queue is held by " + by + ": " + held
	}
	if i.Why != "" {
		return i.Why
	}
	if !slices.ContainsFunc(i.Work, isPull) {
		return "its pull request was not looked for yet"
	}
	return fmt.Sprintf("it is number %d of %d that its forge is asked to merge", b.Position(i.ID), len(b.Waiting()))
}

// AskForge is the action by which a forge is asked to merge a pull request, and LeaveForge the one by which that leaves the
// forge's own queue.
const (
	AskForge   = "merge-pull"
	LeaveForge = "dequeue-pull"
)

// AskedToMerge is what came of asking the forge to merge an item, the last time since it is what it is; nil when it was not.
func AskedToMerge(past fleet.Past, i *fleet.MergeItem) (newest *fleet.Result) {
	since := i.Since
	for n := range past.Actions { // their order says nothing
		a := &past.Actions[n]
		if a.Do == AskForge && a.For.Subject.Name == i.ID && a.Result != nil && !a.PlannedAt.Before(since) {
			newest, since = a.Result, a.PlannedAt
		}
	}
	return newest
}
