package ledger

import (
	"slices"
	"strings"

	"custos/internal/fleet"
)

// dependencies resolves what waits for work that is closed, once for each closing.
func (c *coordinate) dependencies() {}

// AddDependency returns a dependency as it is first written down, or waits again
// after it was dropped. One that would close a cycle is refused, and the cycle
// named.
func AddDependency(all fleet.Records, of, needs fleet.Ref, by string, at fleet.Instant) (fleet.Dependency, error) {
	const what = "add a dependency"
	key := fleet.DependencyKey(of, needs)
	switch {
	case of.Tracker() == fleet.TrackerUnknown:
		return fleet.Dependency{}, unfit(what, "%q names no work: it is w12, PROJECT#12, PROJECT!7 or bd:ID", fleet.Line(string(of), 80))
	case needs == "" || len(needs) > 200 || fleet.Line(string(needs), 200) != string(needs):
		return fleet.Dependency{}, unfit(what, "%q names no work", fleet.Line(string(needs), 80))
	case of == needs:
		return fleet.Dependency{}, unfit(what, "%s cannot wait for itself", of)
	case of.Tracker() == fleet.TrackerOwn && Work(all, of) == nil:
		return fleet.Dependency{}, unfit(what, "there is no work %s", of)
	case needs.Tracker() == fleet.TrackerOwn && Work(all, needs) == nil:
		return fleet.Dependency{}, unfit(what, "there is no work %s", needs)
	}
	if path := pathTo(all.Dependencies, needs, of); path != nil {
		return fleet.Dependency{}, unfit(what, "it would close the cycle %s", strings.Join(append([]string{string(of)}, path...), " -> "))
	}
	d := fleet.Dependency{Head: fleet.Head{Key: key}, Of: of, Needs: needs}
	if i := slices.IndexFunc(all.Dependencies, func(o fleet.Dependency) bool { return o.Key == key }); i >= 0 {
		if d = all.Dependencies[i]; d.State != fleet.DependencyDropped {
			return d, nil
		}
	}
	d.State, d.By, d.At, d.Since, d.Source, d.Why = fleet.DependencyWaits, by, at, at, fleet.TrackerOwn, ""
	return d, nil
}

// DropDependency returns a dependency as it is taken back.
func DropDependency(all fleet.Records, of, needs fleet.Ref, by string, at fleet.Instant) (fleet.Dependency, error) {
	const what = "drop a dependency"
	for _, d := range all.Dependencies {
		switch {
		case d.Of != of || d.Needs != needs || d.State == fleet.DependencyDropped:
		case d.Source != fleet.TrackerOwn:
			return d, unfit(what, "the tracker of %s tells of it: change it there", of)
		default:
			d.State, d.Since, d.Why = fleet.DependencyDropped, at, "by "+fleet.Line(by, 60)
			return d, nil
		}
	}
	return fleet.Dependency{}, unfit(what, "%s does not wait for %s", fleet.Line(string(of), 80), fleet.Line(string(needs), 80))
}

// pathTo is the way from one piece of work to another along what waits; nil when
// there is none.
func pathTo(all []fleet.Dependency, from, to fleet.Ref) []string {
	needs := map[fleet.Ref][]fleet.Ref{}
	for _, d := range all {
		if d.State == fleet.DependencyWaits {
			needs[d.Of] = append(needs[d.Of], d.Needs)
		}
	}
	return walk(needs, from, to, map[fleet.Ref]bool{})
}

func walk(needs map[fleet.Ref][]fleet.Ref, at, to fleet.Ref, seen map[fleet.Ref]bool) []string {
	if at == to {
		return []string{string(at)}
	}
	if seen[at] {
		return nil
	}
	seen[at] = true
	for _, next := range needs[at] {
		if rest := walk(needs, next, to, seen); rest != nil {
			return append([]string{string(at)}, rest...)
		}
	}
	return nil
}
