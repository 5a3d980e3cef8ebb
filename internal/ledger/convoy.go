package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// What a convoy may hold at most.
const (
	mostMembers = 500
	mostNotify  = 20
)

var convoyID = regexp.MustCompile(`^c[1-9][0-9]*$`)

// Convoy finds a convoy; nil when there is none.
func Convoy(all fleet.Records, id string) *fleet.Convoy {
	return fleet.Find(all.Convoys, func(c *fleet.Convoy) bool { return c.ID == id })
}

// AddConvoy returns a convoy as it is first written down.
func AddConvoy(all fleet.Records, v fleet.Convoy, refs []fleet.Ref, by string, at fleet.Instant) (fleet.Convoy, error) {
	const what = "make a convoy"
	v.Title = fleet.Line(strings.TrimSpace(v.Title), longestTitle)
	switch {
	case v.Title == "":
		return v, Unfit(what, "it has no title")
	case len(v.Notify) > mostNotify:
		return v, Unfit(what, "it names %d to be told, %d are the most", len(v.Notify), mostNotify)
	case !v.Due.IsZero() && !at.Before(v.Due):
		return v, Unfit(what, "it is due at %s, which is over", v.Due.Wall.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, to := range v.Notify {
		if to == "" || fleet.Line(to, 200) != to {
			return v, Unfit(what, "%q is no address", fleet.Line(to, 80))
		}
	}
	v.State, v.By, v.At, v.Since, v.Members = fleet.ConvoyOpen, by, at, at, nil
	return join(all, v, refs, what)
}

// JoinConvoy returns a convoy with more members. One that is done is open again
// when a new member is not closed: the next pass looks.
func JoinConvoy(all fleet.Records, v fleet.Convoy, refs []fleet.Ref) (fleet.Convoy, error) {
	const what = "add to a convoy"
	if v.State == fleet.ConvoyClosed {
		return v, Unfit(what, "%s is closed", v.ID)
	}
	return join(all, v, refs, what)
}

func join(all fleet.Records, v fleet.Convoy, refs []fleet.Ref, what string) (fleet.Convoy, error) {
	v.Members = slices.Clone(v.Members)
	for _, r := range refs {
		if err := fitsConvoy(all, v, r); err != nil {
			return v, fmt.Errorf("cannot %s: %w", what, err)
		}
		if !slices.ContainsFunc(v.Members, func(m fleet.ConvoyMember) bool { return m.Ref == r }) {
			v.Members = append(v.Members, fleet.ConvoyMember{Ref: r})
		}
	}
	if len(v.Members) > mostMembers {
		return v, Unfit(what, "it has %d members, %d are the most", len(v.Members), mostMembers)
	}
	return v, nil
}

// fitsConvoy says what is wrong with a member. A convoy holds work and no convoys,
// so that none can hold itself.
func fitsConvoy(all fleet.Records, v fleet.Convoy, r fleet.Ref) error {
	switch {
	case v.ID != "" && string(r) == v.ID:
		return fmt.Errorf("%w: %s would contain itself", ErrIllegal, r)
	case convoyID.MatchString(string(r)):
		return fmt.Errorf("%w: %s is a convoy, and a convoy holds work, not convoys: add its members", ErrIllegal, r)
	case r.Tracker() == fleet.TrackerUnknown:
		return fmt.Errorf("%w: %q names no work: it is w12, PROJECT#12, PROJECT!7 or bd:ID", ErrIllegal, fleet.Line(string(r), 80))
	case r.Tracker() == fleet.TrackerOwn && Work(all, r) == nil:
		return fmt.Errorf("%w: there is no work %s", ErrIllegal, r)
	}
	return nil
}

// LeaveConvoy returns a convoy without some of its members.
func LeaveConvoy(v fleet.Convoy, refs []fleet.Ref) (fleet.Convoy, error) {
	const what = "take out of a convoy"
	if v.State == fleet.ConvoyClosed {
		return v, Unfit(what, "%s is closed", v.ID)
	}
	for _, r := range refs {
		if !slices.ContainsFunc(v.Members, func(m fleet.ConvoyMember) bool { return m.Ref == r }) {
			return v, Unfit(what, "%s does not have %q", v.ID, fleet.Line(string(r), 80))
		}
	}
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m fleet.ConvoyMember) bool { return slices.Contains(refs, m.Ref) })
	return v, nil
}

// CloseConvoy returns a convoy as somebody closes it, whatever its members are. To
// close what is closed changes nothing. An agent closes what it made itself.
func CloseConvoy(v fleet.Convoy, why, by string, at fleet.Instant) (fleet.Convoy, error) {
	_, isAgent := fleet.AgentOf(by)
	switch {
	case v.State == fleet.ConvoyClosed:
		return v, nil
	case isAgent && v.By != by:
		return v, Unfit("close a convoy", "%s made %s: it or a person closes it", fleet.Line(v.By, 80), v.ID)
	}
	v.State, v.Since, v.Why = fleet.ConvoyClosed, at, strings.TrimSuffix("by "+fleet.Line(by, 60)+": "+fleet.Line(why, 300), ": ")
	return v, nil
}

// ReopenConvoy returns a convoy that somebody closed as it is open again.
func ReopenConvoy(v fleet.Convoy, why string, at fleet.Instant) (fleet.Convoy, error) {
	if v.State != fleet.ConvoyClosed {
		return v, Unfit("reopen a convoy", "%s is %s", v.ID, v.State)
	}
	v.State, v.Since, v.Why = fleet.ConvoyOpen, at, fleet.Line(why, 300)
	return v, nil
}
