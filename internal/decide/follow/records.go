package follow

import (
	"slices"

	"custos/internal/decide/follow/convoys"
	"custos/internal/decide/follow/gates"
	"custos/internal/decide/follow/mail"
	"custos/internal/decide/follow/merge"
	"custos/internal/decide/follow/work"
	"custos/internal/fleet"
)

// records move what people and agents coordinate by, in this order.
var records = [...]func(fleet.Pass) fleet.Follows{merge.Follow, work.Follow, convoys.Follow, gates.Follow, mail.Follow}

// coordinate returns what becomes of the records in one pass: from what is
// remembered of them and what was seen. Facts that are unknown or stale change
// nothing. When nothing changed since, nothing is changed. All of it is committed
// in one transaction: what is closed and who is told of it are one.
func coordinate(p fleet.Pass) (out fleet.Follows) {
	if p.Past.Blind != "" {
		return out
	}
	for _, mover := range records {
		more := mover(p)
		p.Plan.Add(more)
		out.Add(more)
	}
	forgetKnown(p.Past.Records, &out.Records)
	out.Wake = !out.Records.IsZero() || len(out.Given) > 0
	return out
}

// forgetKnown leaves out what was written down before: the store would do nothing
// with it, and the loop would be woken for that, again and again.
func forgetKnown(was fleet.Records, is *fleet.Records) {
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
