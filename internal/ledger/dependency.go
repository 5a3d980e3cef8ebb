package ledger

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// AddDependency returns a dependency as it is first written down, or waits again
// after it was dropped. One that would close a cycle is refused, and the cycle
// named.
func AddDependency(all fleet.Records, of, needs fleet.Ref, by string, at fleet.Instant) (fleet.Dependency, error) {
	const what = "add a dependency"
	key := fleet.DependencyKey(of, needs)
	switch {
	case of.Tracker() == fleet.TrackerUnknown:
		return fleet.Dependency{}, Unfit(what, "%q names no work: it is w12, PROJECT#12, PROJECT!7 or bd:ID", fleet.Line(string(of), 80))
	case of == needs:
		return fleet.Dependency{}, Unfit(what, "%s cannot wait for itself", of)
	case of.Tracker() == fleet.TrackerOwn && Work(all, of) == nil:
		return fleet.Dependency{}, Unfit(what, "there is no work %s", of)
	}
	if err := MayNeed(all, needs); err != nil {
		return fleet.Dependency{}, err
	}
	if path := waitsOf(all).path(needs, of); path != nil {
		return fleet.Dependency{}, Unfit(what, "it would close the cycle %s", strings.Join(texts(append([]fleet.Ref{of}, path...)), " -> "))
	}
	d := fleet.Dependency{Head: fleet.Head{Key: key}, Of: of, Needs: needs}
	if i := slices.IndexFunc(all.Dependencies, func(o fleet.Dependency) bool { return o.Key == key }); i >= 0 {
		if d = all.Dependencies[i]; d.State != fleet.DependencyDropped {
			return d, nil
		}
	}
	d.State, d.By, d.At, d.Since, d.Source, d.Why, d.Told, d.Open = fleet.DependencyWaits, by, at, at, fleet.TrackerOwn, "", d.Times, false
	return d, nil
}

// MayNeed says why work cannot wait for something. A name that no tracker has a form
// for may be waited for: it is never seen, so that it is never closed.
func MayNeed(all fleet.Records, needs fleet.Ref) error {
	const what = "add a dependency"
	switch {
	case needs == "" || len(needs) > 200 || fleet.Line(string(needs), 200) != string(needs):
		return Unfit(what, "%q names no work", fleet.Line(string(needs), 80))
	case needs.Tracker() == fleet.TrackerOwn && Work(all, needs) == nil:
		return Unfit(what, "there is no work %s", needs)
	case convoyID.MatchString(string(needs)):
		return Unfit(what, "%s is a convoy: work waits for work", needs)
	}
	return nil
}

// DropDependency returns a dependency as it is taken back. One that a tracker tells
// of is taken back by a person only, and comes back while the tracker tells of it.
func DropDependency(all fleet.Records, of, needs fleet.Ref, by string, at fleet.Instant) (fleet.Dependency, error) {
	const what = "drop a dependency"
	for _, d := range all.Dependencies {
		switch {
		case d.Of != of || d.Needs != needs || d.State == fleet.DependencyDropped:
		case d.Source != fleet.TrackerOwn && !fleet.IsPerson(by):
			return d, Unfit(what, "the tracker of %s tells of it: change it there", of)
		default:
			d.State, d.Since, d.Why = fleet.DependencyDropped, at, "by "+fleet.Line(by, 60)
			return d, nil
		}
	}
	return fleet.Dependency{}, Unfit(what, "%s does not wait for %s", fleet.Line(string(of), 80), fleet.Line(string(needs), 80))
}
