package ledger

import (
	"fmt"
	"slices"

	"custos/internal/fleet"
)

// withPulls has an item that names a pull request wait until that was looked at: unknown is not ok.
func withPulls(i fleet.MergeItem) fleet.MergeItem {
	i.Waits, i.Unseen = "", false
	if n := slices.IndexFunc(i.Work, isPull); n >= 0 {
		i.Waits, i.Unseen = string(i.Work[n])+" was not looked at yet", true
	}
	return i
}

func isPull(r fleet.Ref) bool { return r.Tracker() == fleet.TrackerPull }

// SeePulls returns an item that is not over as it is with the pull requests that it names, as they are seen: it
// waits for one that is a draft, of which changes are requested, or that is not seen. closed says which was
// closed unmerged; "" for none.
func SeePulls(t Trackers, i fleet.MergeItem) (now fleet.MergeItem, closed string) {
	i.Waits, i.Unseen = "", false
	for _, r := range i.Work {
		if !isPull(r) {
			continue
		}
		why, unseen, gone := t.pullState(r)
		if gone {
			return i, fmt.Sprintf("%s was closed, and not merged", r)
		}
		if why != "" && (i.Waits == "" || i.Unseen) { // what is seen says more
			i.Waits, i.Unseen = string(r)+" "+fleet.Line(why, 200), unseen
		}
	}
	return i, ""
}

// pullState says why a pull request keeps its branch from being merged; "" when it does not.
func (t Trackers) pullState(r fleet.Ref) (why string, unseen, closed bool) {
	seen, p := t.Seen(r), t.pulls[r]
	switch {
	case seen.Why != "":
		return "is not seen now: " + seen.Why, true, false
	case p == nil: // over
		return "", false, seen.Outcome != "merged"
	case p.Draft:
		return "is a draft", false, false
	}
	switch review, known := p.Review.Get(); {
	case !known:
		return "is seen, but not its reviews: " + p.Review.Why(), true, false
	case review == "changes requested":
		return "has changes requested", false, false
	}
	return "", false, false
}

// UnseenPull says which pull request of a group's items is not seen: it does not land until it is; "" when all are.
func (b *MergeBook) UnseenPull(g *fleet.MergeGroup) string {
	for _, m := range g.Items {
		if i := b.Item(m.ID); i != nil && i.Unseen {
			return m.ID + " waits: " + i.Waits
		}
	}
	return ""
}
