package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
)

// How long after its merge an item has what it names closed elsewhere, and how long a forge is
// given to see by itself that a pull request is merged.
const (
	closesFor  = 24 * time.Hour
	forgeSees  = 10 * time.Minute
	closePull  = "close-pull"
	moveClosed = "close"
)

// MayCloseByMerge refuses work of other trackers, and pull requests, that a merge is not to close: what is
// not seen, what is closed, and what is another's than the agent's who names it. A person may
// name what cannot be seen now, in a tracker that there is.
func MayCloseByMerge(past fleet.Past, snap fleet.Snapshot, refs []fleet.Ref, by string) error {
	const what = "add to the merge queue"
	t := NewTrackers(past, snap)
	self, isAgent := fleet.AgentOf(by)
	for _, r := range refs {
		if of := r.Tracker(); of == fleet.TrackerOwn || of == fleet.TrackerUnknown {
			continue
		}
		switch seen := t.Seen(r); {
		case seen.Why != "" && (isAgent || !seen.Blind || seen.Why == noTracker):
			return Unfit(what, "%s is not seen now: %s", r, seen.Why)
		case seen.Why != "":
		case isAgent && (isNameless(self) || seen.Agent != self):
			return Unfit(what, "an agent names its own work only, and %s is not %s's", r, fleet.Line(self, 80))
		case seen.IsClosed():
			return Unfit(what, "%s is closed", r)
		case r.Tracker() == fleet.TrackerIssue && t.issues[r] == nil:
			return Unfit(what, "%s is a pull request: %s", r, strings.Replace(string(r), "#", "!", 1))
		}
	}
	return nil
}

// MergeClosing is work of another tracker, or a pull request, that an item names which is merged, and
// of which it is not settled what becomes of it.
type MergeClosing struct {
	Item    fleet.MergeItem
	Ref     fleet.Ref
	Settled bool        // nothing more becomes of it; Why: why it is left open
	Wish    *fleet.Wish // what closes it; nil: nothing is to be done now
	Part    fleet.PartName
	Why     string // why nothing is
}

// MergeClosings are those of a queue, as they stand now, in the order in which their items were added.
func MergeClosings(q fleet.MergeQueue, past fleet.Past, snap fleet.Snapshot) (out []MergeClosing) {
	var t *Trackers
	for n := range past.Records.Merges {
		i := &past.Records.Merges[n]
		if i.Queue != q.Name || i.State != fleet.MergeMerged {
			continue
		}
		for _, r := range unsettled(i) {
			if t == nil { // most passes have none
				all := NewTrackers(past, snap)
				t = &all
			}
			out = append(out, t.closing(q, i, r, past, snap))
		}
	}
	return out
}

// unsettled is the work of other trackers that an item names, as far as anything may become of it.
func unsettled(i *fleet.MergeItem) (out []fleet.Ref) {
	for _, r := range i.Work {
		of := r.Tracker()
		settled := slices.ContainsFunc(i.Settled, func(s fleet.MergeElsewhere) bool { return s.Ref == r })
		if of != fleet.TrackerOwn && of != fleet.TrackerUnknown && !settled {
			out = append(out, r)
		}
	}
	return out
}

func (t Trackers) closing(q fleet.MergeQueue, i *fleet.MergeItem, r fleet.Ref, past fleet.Past, snap fleet.Snapshot) MergeClosing {
	c := MergeClosing{Item: *i, Ref: r}
	seen, last := t.Seen(r), closedBy(past, i, r)
	switch {
	case seen.IsClosed(), last != nil && (last.Status == fleet.ResultDone || last.Status == fleet.ResultUnneeded):
		c.Settled = true
		return c
	case last != nil && last.Status == fleet.ResultRefused && !last.Unbegun: // at the instant of acting: it is another's, or otherwise, now
		c.Settled, c.Why = true, last.Why
		return c
	case seen.Why != "":
		c.Why = "it is not seen now: " + seen.Why
	case i.Agent != "" && seen.Agent != "" && seen.Agent != i.Agent:
		c.Settled, c.Why = true, fleet.Line(seen.Agent, 60)+" has it now"
		return c
	case r.Tracker() == fleet.TrackerPull:
		c.pull(snap)
	default:
		c.wish(moveOf(snap, r, moveClosed))
	}
	if last != nil && c.Why == "" {
		c.Why = last.Why
	}
	if snap.At.Since(i.Since) > closesFor && !c.Settled {
		c.Settled, c.Wish, c.Why = true, nil, strings.TrimSuffix("it was open a day after the merge: "+c.Why, ": ")
	}
	if c.Wish != nil {
		c.Wish.Text = MergedAs(*i) + " into " + q.Target
	}
	return c
}

func (c *MergeClosing) wish(w fleet.Wish, part fleet.PartName) {
	if w.Target == (fleet.Target{}) {
		c.Settled, c.Why = true, "it is a pull request"
		return
	}
	c.Wish, c.Part = &w, part
}

// pull closes a pull request whose forge does not see by itself that its head is in the target. One
// that has moved on since has something that is not.
func (c *MergeClosing) pull(snap fleet.Snapshot) {
	p := fleet.Find(snap.Forge.Value.Pulls, func(p *fleet.PullRequest) bool { return fleet.Ref(p.Name) == c.Ref })
	switch {
	case p == nil:
		c.Why = "it is not seen now"
	case snap.At.Since(c.Item.Since) < forgeSees:
		c.Why = "its forge may yet see by itself that it is merged"
	case p.Head != c.Item.Commit:
		c.Settled, c.Why = true, fmt.Sprintf("its head is %.12s, and %.12s was merged", p.Head, c.Item.Commit)
	default:
		one := *p
		c.wish(fleet.Wish{Do: closePull, Subject: fleet.Subject{Kind: fleet.KindPull, Name: p.Name}, Target: fleet.Target{Pull: &one}}, fleet.PartForge)
	}
}

// closedBy is the newest result of an action that was to close what an item names; nil when there is none.
func closedBy(past fleet.Past, i *fleet.MergeItem, r fleet.Ref) (newest *fleet.Result) {
	var since fleet.Instant
	for n := range past.Actions { // their order says nothing
		a := &past.Actions[n]
		is := a.For.Subject == (fleet.Subject{Kind: fleet.KindMerge, Name: i.ID}) && a.Subject.Name == string(r)
		if is && a.Result != nil && !a.PlannedAt.Before(since) {
			newest, since = a.Result, a.PlannedAt
		}
	}
	return newest
}

// SettleMerge returns an item as it is once nothing more becomes of what it names; left says why that is
// open.
func SettleMerge(i fleet.MergeItem, r fleet.Ref, left string) fleet.MergeItem {
	i.Settled = append(slices.Clone(i.Settled), fleet.MergeElsewhere{Ref: r, Left: fleet.Line(left, 200)})
	return i
}
