package ledger

import (
	"slices"
	"time"

	"custos/internal/fleet"
)

// Coordinate returns what becomes of the records in one pass: from what is
// remembered of them and what was seen. Facts that are unknown or stale change
// nothing. When nothing changed since, nothing is changed. All of it is committed
// in one transaction: what is closed and who is told of it are one.
func Coordinate(past fleet.Past, snap fleet.Snapshot, found fleet.Assessment, policy fleet.Policy, plan fleet.Plan) fleet.Follows {
	if past.Blind != "" {
		return fleet.Follows{}
	}
	c := &coordinate{past: past, snap: snap, found: found, policy: policy, plan: plan, at: snap.At, trackers: NewTrackers(past, snap)}
	c.work()
	c.dependencies()
	c.convoys()
	c.gates()
	c.mails()
	c.forgetKnown()
	c.out.Wake = c.out.Wake || !c.out.Records.IsZero() || len(c.out.Given) > 0
	return c.out
}

// coordinate is one pass over the records.
type coordinate struct {
	past     fleet.Past
	snap     fleet.Snapshot
	found    fleet.Assessment
	policy   fleet.Policy
	plan     fleet.Plan
	at       fleet.Instant
	trackers trackers
	out      fleet.Follows
}

// forgetKnown leaves out what was written down before: the store would do nothing
// with it, and the loop would be woken for that, again and again.
func (c *coordinate) forgetKnown() {
	was, is := c.past.Records, &c.out.Records
	is.Work, is.Dependencies = unknownOf(was.Work, is.Work), unknownOf(was.Dependencies, is.Dependencies)
	is.Gates, is.Mails = unknownOf(was.Gates, is.Gates), unknownOf(was.Mails, is.Mails)
}

// unknownOf is a list without what is new and has a key that is known.
func unknownOf[T any, P interface {
	*T
	Front() *fleet.Head
}](known, list []T) []T {
	if len(list) == 0 {
		return list
	}
	keys := make(map[string]bool, len(known))
	for i := range known {
		keys[P(&known[i]).Front().Key] = true
	}
	return slices.DeleteFunc(list, func(v T) bool {
		head := P(&v).Front()
		return head.Revision == 0 && head.Key != "" && keys[head.Key]
	})
}

// tell writes a mail of Custos' own. The same key is the same news: it is written
// once, whoever finds it out again.
func (c *coordinate) tell(key string, to []string, m fleet.Mail) {
	c.out.Records.Mails = append(c.out.Records.Mails, news(key, to, m, c.at))
}

// due says whether a moment has come; if not, the next pass is at that moment at
// the latest.
func (c *coordinate) due(t fleet.Instant) bool {
	if t.IsZero() {
		return false
	}
	if !c.at.Before(t) {
		return true
	}
	if c.out.Until.IsZero() || t.Before(c.out.Until) {
		c.out.Until = t
	}
	return false
}

// passed says whether so much time has passed since a moment.
func (c *coordinate) passed(since fleet.Instant, d time.Duration) bool {
	return c.at.Since(since) >= d || c.due(c.at.Add(d-c.at.Since(since)))
}
