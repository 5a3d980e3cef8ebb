package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"custos/internal/fleet"
)

// What is learned from groups that were tested before.
const (
	recentGroups  = 200       // of a queue that are read: over these it is counted how often gates are flaky
	leastConfirms = 2         // reds of one and the same tree that blame an item
	mostConfirms  = 12        // however flaky the gates are
	wronglyBlamed = 0.0001    // how likely it may be that an item without fault is blamed by flaky gates
	neverSeen     = 0.01      // the same, while no gate was seen to be flaky
	mostUnseen    = 4         // reds that are asked for meanwhile, at most
	halfRed       = 0.69      // ln 2: so many culprits are expected in a batch that is red half the time
	leastJudged   = 10        // items whose end is known before batches become smaller
	redHolds      = time.Hour // a target that fails is tested again after that, though it did not move: what it needs may have been down
)

// MergeBook is what is on record of one merge queue. It is read, never changed.
type MergeBook struct {
	Queue  fleet.MergeQueue
	Items  []fleet.MergeItem  // not over, in the order they were added
	Groups []fleet.MergeGroup // the newest, and all of which something is left, in the order they were made
	Hold   fleet.MergeHold
	at     fleet.Instant
	all    []fleet.MergeItem // of all queues, over or not
	alerts []fleet.Alert
	queued []fleet.MergeItem // what Waiting said; nil: it was not asked yet
	// reviews by item and commit; nil where nobody reviews.
	reviews map[fleet.MergeMember]*fleet.WorkItem
	// resolving is the work by which items are to be brought in; nil where nobody does that.
	resolving map[fleet.MergeMember]*fleet.WorkItem
}

// NewMergeBook reads the book of a queue.
func NewMergeBook(q fleet.MergeQueue, past fleet.Past, at fleet.Instant) *MergeBook {
	r := past.Records
	b := &MergeBook{Queue: q, Hold: mergeHold(r, q.Name), at: at, all: r.Merges, alerts: past.Alerts}
	for n := range r.Merges { // thousands are over: none of them is copied
		if i := &r.Merges[n]; i.Queue == q.Name && i.State != fleet.MergeMerged && i.State != fleet.MergeWithdrawn {
			b.Items = append(b.Items, *i)
		}
	}
	b.Groups = newestGroups(r.MergeGroups, q.Name)
	if q.Review != "" {
		b.reviews = reviewsOf(q.Name, r.Work)
	}
	if q.Resolve != "" {
		b.resolving = resolutionsOf(q.Name, r.Work)
	}
	return b
}

// newestGroups are those of a queue that count.
func newestGroups(all []fleet.MergeGroup, queue string) []fleet.MergeGroup {
	from, left := len(all), recentGroups
	for from > 0 && left > 0 {
		if from--; all[from].Queue == queue {
			left--
		}
	}
	counts := func(n int) bool { return all[n].Queue == queue && (n >= from || !all[n].Over()) }
	first := 0
	for first < len(all) && !counts(first) {
		first++
	}
	if first == from && len(all)-from == recentGroups-left { // there is no other queue: nothing is copied
		return slices.Clip(all[from:])
	}
	list := make([]fleet.MergeGroup, 0, recentGroups-left)
	for n := first; n < len(all); n++ {
		if counts(n) {
			list = append(list, all[n])
		}
	}
	return list
}

// Item finds an item of the queue, over or not; nil when there is none.
func (b *MergeBook) Item(id string) *fleet.MergeItem {
	for n := len(b.all) - 1; n >= 0; n-- { // the newest are asked for
		if i := &b.all[n]; i.ID == id && i.Queue == b.Queue.Name {
			return i
		}
	}
	return nil
}

// Open is the group that is not decided; nil when there is none.
func (b *MergeBook) Open() *fleet.MergeGroup {
	return fleet.Find(b.Groups, func(g *fleet.MergeGroup) bool { return !g.Decided() })
}

// Last is the group that was decided last, of those that say something; nil when there is none.
func (b *MergeBook) Last() *fleet.MergeGroup {
	for n := len(b.Groups) - 1; n >= 0; n-- {
		if g := &b.Groups[n]; g.State == fleet.GroupRed || g.State == fleet.GroupLanded {
			return g
		}
	}
	return nil
}

// Verdict counts what the gates, as they are now, said of a tree: how often they failed, in
// groups that were made since a moment, and whether they passed, ever.
func (b *MergeBook) Verdict(tree string, since fleet.Instant) (reds int, green string) {
	for n := range b.Groups {
		g := &b.Groups[n]
		if g.Tree != tree || tree == "" || g.Gates != b.Queue.Digest {
			continue
		}
		if !g.At.Before(since) {
			reds += g.Reds
		}
		if g.State == fleet.GroupGreen || g.State == fleet.GroupLanded {
			green = g.ID
		}
	}
	return reds, green
}

// Target says what the gates said of the target itself, at a commit: that they pass at all, or that they failed within
// the hour.
func (b *MergeBook) Target(commit string) (passes, fails bool) {
	for n := range b.Groups {
		g := &b.Groups[n]
		if g.Gates != b.Queue.Digest || commit == "" {
			continue
		}
		passes = passes || g.Commit == commit && (g.State == fleet.GroupLanded || g.State == fleet.GroupGreen)
		fails = fails || isTargetRed(g, commit) && b.at.Since(g.Since) < redHolds
	}
	return passes, fails && !passes
}

func isTargetRed(g *fleet.MergeGroup, commit string) bool {
	return len(g.Items) == 0 && g.Base == commit && g.State == fleet.GroupRed
}

// Outage is until when the gates failed on the target itself, at a commit on which they pass: zero when they did not. What
// failed there before may have failed for the same reason, and says nothing of an item.
func (b *MergeBook) Outage(commit string) (end fleet.Instant) {
	red := false
	for n := range b.Groups {
		g := &b.Groups[n]
		switch {
		case g.Gates != b.Queue.Digest || commit == "":
		case isTargetRed(g, commit):
			red = true
		case red && g.Commit == commit && (g.State == fleet.GroupLanded || g.State == fleet.GroupGreen):
			red, end = false, g.Since
		}
	}
	return end
}

// Broken is the commit of the target on which the gates fail by themselves, as far as is
// known now; "" where they do not.
func (b *MergeBook) Broken() string {
	last := b.Last()
	if last == nil {
		return ""
	}
	stands := last.Base
	if last.State == fleet.GroupLanded {
		stands = last.Commit
	}
	if _, fails := b.Target(stands); fails {
		return stands
	}
	return ""
}

// Alone is the group in which an item failed by itself, at its commit, on a commit of the
// target; nil when it did not.
func (b *MergeBook) Alone(i *fleet.MergeItem) *fleet.MergeGroup {
	for n := len(b.Groups) - 1; n >= 0; n-- {
		g := &b.Groups[n]
		if g.State == fleet.GroupRed && len(g.Items) == 1 && g.Items[0] == (fleet.MergeMember{ID: i.ID, Commit: i.Commit}) && g.Gates == b.Queue.Digest && !g.Since.Before(i.Since) {
			if outage := b.Outage(g.Base); g.Since.Before(outage) {
				return nil
			}
			return g
		}
	}
	return nil
}

// Untried is the first item that waits, for no other, and was not tested by itself on a target
// that fails: it may be the one that mends it. Nil when there is none.
func (b *MergeBook) Untried(target string) *fleet.MergeItem {
	return fleet.Find(b.Waiting(), func(i *fleet.MergeItem) bool {
		g := b.Alone(i)
		return b.Unmet(i, nil) == "" && (g == nil || g.Base != target)
	})
}

// InQuestion is the commit of the target on which an item has failed alone, and of which it is not known whether the gates
// pass there; "" for none. That very commit is tested: the target may have moved since, and would again.
func (b *MergeBook) InQuestion() string {
	for _, i := range b.Waiting() {
		g := b.Alone(&i)
		if g == nil {
			continue
		}
		if passes, fails := b.Target(g.Base); !passes && !fails {
			return g.Base
		}
	}
	return ""
}

// Outdated says why a group is not tested, or does not land, any more: one of its items is
// no more what it was, the queue is held before its gates ran, or asks for others now.
func (b *MergeBook) Outdated(g *fleet.MergeGroup) string {
	if g.Gates != b.Queue.Digest {
		return "the gates of the queue were changed"
	}
	for _, m := range g.Items {
		switch i := b.Item(m.ID); {
		case i == nil:
			return m.ID + " is not known any more"
		case i.State != fleet.MergeWaiting:
			return m.ID + " is " + string(i.State)
		case i.Commit != m.Commit:
			return m.ID + " has moved to another commit"
		case b.Unreviewed(i) != "":
			return m.ID + " is not to be merged yet: " + b.Unreviewed(i)
		case i.Waits != "" && !i.Unseen:
			return m.ID + " waits: " + i.Waits
		}
	}
	if g.State != fleet.GroupBuilding {
		return ""
	}
	if held, _ := b.Holds(); held != "" {
		return "the queue is held: " + held
	}
	if len(g.Items) > 0 && b.InQuestion() != "" {
		return "the gates are tried on " + b.Queue.Target + " itself first, again"
	}
	if broken := b.Broken(); broken != "" && len(g.Items) > 0 && b.Alone(b.Item(g.Items[0].ID)) != nil && b.Untried(broken) != nil {
		return "another item was added, which may mend what fails"
	}
	return ""
}

// MergeBarred says why a group does not land at this instant; "" when nothing speaks against it.
func MergeBarred(past fleet.Past, t fleet.MergeTarget, at fleet.Instant) string {
	b := NewMergeBook(t.Queue, past, at)
	g := fleet.Find(b.Groups, func(g *fleet.MergeGroup) bool { return g.ID == t.Group.ID })
	held, by := b.Holds()
	switch {
	case g == nil:
		return t.Group.ID + " is not known any more"
	case g.State != fleet.GroupGreen:
		return g.ID + " is " + string(g.State)
	case held != "":
		return "the queue is held by " + by + ": " + held
	case b.UnseenPull(g) != "":
		return b.UnseenPull(g)
	}
	return b.Outdated(g)
}

// flakes counts runs of gates among the newest groups that passed, and those that failed on a
// tree that passed as well. One that failed on a tree that never passed says nothing of that.
func (b *MergeBook) flakes() (passed, flaky int) {
	for _, g := range b.Groups {
		if g.Gates != b.Queue.Digest {
			continue
		}
		if g.Runs > 0 && (g.State == fleet.GroupGreen || g.State == fleet.GroupLanded) {
			passed++
		}
		if g.Reds == 0 {
			continue
		}
		if _, green := b.Verdict(g.Tree, fleet.Instant{}); green != "" {
			flaky += g.Reds
		}
	}
	return passed, flaky
}

// Confirms is how often one and the same tree has to fail before that is believed: of one
// item so often that an innocent one is hardly ever blamed, of several once more where
// gates are known to be flaky. The fewer runs that passed are on record, the flakier they may be.
func (b *MergeBook) Confirms(items int) int {
	passed, flaky := b.flakes()
	switch {
	case flaky == 0 && items > 1:
		return 1
	case items > 1:
		return leastConfirms
	}
	rate, risk, most := (float64(flaky)+math.Sqrt(float64(flaky))+1)/float64(passed+flaky+2), wronglyBlamed, mostConfirms
	if flaky == 0 {
		rate, risk, most = 3/float64(passed+3), neverSeen, mostUnseen // the rule of three: at most so many, 19 times of 20
	}
	reds := math.Log(risk) / math.Log(min(0.9, rate))
	return min(most, max(leastConfirms, int(math.Ceil(reds))))
}

// Batch is how many items are tested together now: fewer where many fail.
func (b *MergeBook) Batch() int {
	judged, failed := 0, 0
	for _, g := range b.Groups {
		switch {
		case g.State == fleet.GroupLanded:
			judged += len(g.Items)
		case g.State == fleet.GroupRed && len(g.Items) == 1:
			if _, fails := b.Target(g.Base); !fails {
				judged, failed = judged+1, failed+1
			}
		}
	}
	certain := float64(failed) - math.Sqrt(float64(failed)) // what is more may be chance
	if judged < leastJudged || certain <= 0 {
		return b.Queue.Batch
	}
	return max(1, min(b.Queue.Batch, int(halfRed*float64(judged)/certain+0.5)))
}

// Waiting are the items that wait, in the order in which they are taken: by priority, which
// grows with waiting, then by age; what another one needs comes before it.
func (b *MergeBook) Waiting() []fleet.MergeItem {
	if b.queued == nil {
		b.queued = b.inOrder()
	}
	return b.queued
}

// Unready are the items that wait for something else before they wait in the queue: for a review, or as Waits says.
func (b *MergeBook) Unready() (list []fleet.MergeItem) {
	for _, i := range b.Items {
		if i.State == fleet.MergeWaiting && !b.isReady(&i) {
			list = append(list, i)
		}
	}
	return list
}

func (b *MergeBook) isReady(i *fleet.MergeItem) bool { return i.Waits == "" && b.Unreviewed(i) == "" }

func (b *MergeBook) inOrder() []fleet.MergeItem {
	list := []fleet.MergeItem{}
	for _, i := range b.Items {
		if i.State == fleet.MergeWaiting && b.isReady(&i) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(x, y fleet.MergeItem) int { return b.rank(x) - b.rank(y) })
	return b.afterNeeds(list)
}

// rank is the priority of an item as it has grown: 0 first.
func (b *MergeBook) rank(i fleet.MergeItem) int {
	waited := b.at.Since(i.At)
	step := max(time.Duration(b.Queue.Ageing), time.Minute)
	return max(-100, int(i.Priority[1]-'0')-int(waited/step))
}

// afterNeeds puts each item behind those of the list that it needs, and leaves out what
// needs an item that is neither merged nor in the list.
func (b *MergeBook) afterNeeds(list []fleet.MergeItem) []fleet.MergeItem {
	if !slices.ContainsFunc(list, func(i fleet.MergeItem) bool { return len(i.Needs) > 0 }) {
		return list
	}
	placed, out := map[string]bool{}, []fleet.MergeItem{}
	for again := true; again; {
		again = false
		for _, i := range list {
			if !placed[i.ID] && b.Unmet(&i, placed) == "" {
				placed[i.ID], again = true, true
				out = append(out, i)
			}
		}
	}
	return out
}

// Unmet names an item that another one needs, and that is neither merged nor placed before
// it; "" when there is none.
func (b *MergeBook) Unmet(i *fleet.MergeItem, placed map[string]bool) string {
	for _, id := range i.Needs {
		if n := b.Item(id); (n == nil || n.State != fleet.MergeMerged) && !placed[id] {
			return id
		}
	}
	return ""
}

// Holds says why nothing lands now, and who says so; "" when nothing does.
func (b *MergeBook) Holds() (why, by string) {
	if b.Hold.Held {
		return cmp.Or(b.Hold.Why, noReason), b.Hold.By
	}
	for n := range b.alerts {
		if a := &b.alerts[n]; a.Rule == redTarget && a.Number > b.Hold.Lifted && a.Project == b.Queue.Project && b.Queue.Project != "" && a.Status == fleet.AlertFiring {
			return fmt.Sprintf("CI fails on the primary branch of %s (alert %d)", b.Queue.Project, a.Number), fleet.ByCustos
		}
	}
	return "", ""
}

// redTarget is the rule by which CI fails on a primary branch.
const redTarget = "ci-red-on-primary"

// Red is the number of the newest alert that holds the queue; 0 when none does.
func (b *MergeBook) Red() (number int64) {
	for n := range b.alerts {
		if a := &b.alerts[n]; a.Rule == redTarget && a.Project == b.Queue.Project && b.Queue.Project != "" {
			number = max(number, a.Number)
		}
	}
	return number
}

// Position is the place of an item among those that wait, from 1; 0 where it does not wait,
// or waits for what does not.
func (b *MergeBook) Position(id string) int {
	return 1 + slices.IndexFunc(b.Waiting(), func(i fleet.MergeItem) bool { return i.ID == id })
}

// Why says in words why an item is not merged yet: of each that is not over there is something to
// say.
func (b *MergeBook) Why(i *fleet.MergeItem) string {
	if i.State != fleet.MergeWaiting {
		return i.Why + b.resolutionWords(i)
	}
	if i.Waits != "" {
		return i.Waits
	}
	if review := b.Unreviewed(i); review != "" {
		return review
	}
	if need := b.unmetForGood(i); need != "" {
		return need
	}
	if b.Queue.Mode != fleet.MergeOwn {
		return b.whyAtForge(i)
	}
	broken := b.Broken()
	if g := b.Open(); g != nil && slices.Contains(g.Items, fleet.MergeMember{ID: i.ID, Commit: i.Commit}) && !(broken != "" && g.State == fleet.GroupBuilding && g.Why != "") {
		return b.inGroup(g) // else it is not built before the target has moved, and that is why
	}
	if held, by := b.Holds(); held != "" {
		return "the queue is held by " + by + ": " + held
	}
	if broken != "" {
		return fmt.Sprintf("the gates fail on %s itself, at %.12s", b.Queue.Target, broken) + b.besides(i, broken)
	}
	if base := b.redAgain(); base != "" {
		return fmt.Sprintf("the gates failed on %s itself, at %.12s, and are tried there again", b.Queue.Target, base) + b.besides(i, base)
	}
	return b.behind(i)
}

// redAgain is a commit of the target on which the gates have failed, and that is in question again; "" for none.
func (b *MergeBook) redAgain() string {
	for n := len(b.Groups) - 1; n >= 0; n-- {
		g := &b.Groups[n]
		if g.State == fleet.GroupLanded {
			return ""
		}
		if passes, _ := b.Target(g.Base); isTargetRed(g, g.Base) && g.Gates == b.Queue.Digest && !passes {
			return g.Base
		}
	}
	return ""
}

func (b *MergeBook) inGroup(g *fleet.MergeGroup) string {
	what := fmt.Sprintf("it is in %s with %s, which is %s", g.ID, fleet.Counted(len(g.Items), "item"), g.State)
	if held, by := b.Holds(); held != "" {
		what += "; the queue is held by " + by + ": " + held
	}
	if g.Why != "" {
		what += ": " + g.Why
	}
	return what
}

// unmetForGood says what an item waits for that does not itself wait.
func (b *MergeBook) unmetForGood(i *fleet.MergeItem) string {
	placed := map[string]bool{}
	for _, w := range b.Waiting() {
		placed[w.ID] = true
	}
	need := b.Unmet(i, placed)
	if need == "" {
		return ""
	}
	state := "not known"
	if n := b.Item(need); n != nil {
		state = string(n.State)
	}
	return "it waits for " + need + ", which is " + state
}

func (b *MergeBook) behind(i *fleet.MergeItem) string {
	place := b.Position(i.ID)
	text := fmt.Sprintf("it is number %d of %d", place, len(b.Waiting()))
	if b.Open() == nil && place <= b.Batch() {
		return text + ", and is taken next"
	}
	if g := b.Open(); g != nil && g.Why != "" && g.State != fleet.GroupTesting {
		return text + "; " + g.ID + " is before it, and does not go on: " + g.Why
	}
	if eta := b.ETA(place); eta > 0 {
		text += ", merged in about " + fleet.Duration(eta.Round(time.Minute)).String()
	}
	return text
}

// ETA is about how long it takes until the item in a place is merged, by how long the gates
// of the last groups took; 0 where that is not known.
func (b *MergeBook) ETA(place int) time.Duration {
	var took time.Duration
	n := 0
	for _, g := range b.Groups[max(0, len(b.Groups)-20):] {
		if g.Decided() && g.Runs > 0 {
			took, n = took+g.Since.Since(g.At), n+1
		}
	}
	if n == 0 || place == 0 {
		return 0
	}
	return time.Duration(1+(place-1)/b.Batch()) * (took / time.Duration(n))
}
