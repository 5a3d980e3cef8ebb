package report

import (
	"fmt"

	"custos/internal/fleet"
)

// elsewhere is how containers, CI and forges do, a line each; none for what there
// is not, or what cannot be seen.
func elsewhere(s fleet.Snapshot) (lines []string) {
	if isThere(s.Engine.Sight) {
		up := 0
		for _, c := range s.Engine.Value.Containers {
			up += tally(c.State.Or("") == "running")
		}
		lines = append(lines, fmt.Sprintf("Docker: %s, %d running", fleet.Counted(len(s.Engine.Value.Containers), "container"), up))
	}
	if isThere(s.CI.Sight) {
		lines = append(lines, pipelines(s.CI.Value))
	}
	if isThere(s.Forge.Sight) {
		lines = append(lines, work(s.Forge.Value))
	}
	return lines
}

// isThere says whether there is such a part, and it can be read.
func isThere(s fleet.Sight) bool { return s.Usable() && s.Status != fleet.StatusAbsent }

func tally(is bool) int {
	if is {
		return 1
	}
	return 0
}

func pipelines(ci fleet.CI) string {
	running, pending, sick := 0, 0, 0
	for _, p := range ci.Pipelines {
		running += tally(p.State.Or("") == "running")
		pending += tally(p.State.Or("") == "pending")
	}
	for _, w := range ci.Workers {
		sick += tally(!w.Healthy.Or(true))
	}
	line := fmt.Sprintf("CI: %d running, %d pending", running, pending)
	if len(ci.Workers) > 0 {
		line += fmt.Sprintf(", %d of %d workers unhealthy", sick, len(ci.Workers))
	}
	return line
}

// work counts what there is to do in all projects; a ? where one cannot be seen.
func work(f fleet.Forge) string {
	ready, begun, blocked := fleet.Known(0), fleet.Known(0), fleet.Known(0)
	for _, p := range f.Projects {
		ready, begun, blocked = sum(ready, p.Ready), sum(begun, p.InProgress), sum(blocked, p.Blocked)
	}
	return fmt.Sprintf("Issues: ready %s, in progress %s, blocked %s; pull requests: %d open", count(ready), count(begun), count(blocked), len(f.Pulls))
}

func sum(a, b fleet.Leaf[int]) fleet.Leaf[int] {
	x, known := a.Get()
	y, also := b.Get()
	switch {
	case !known:
		return a
	case !also:
		return b
	}
	return fleet.Known(x + y)
}

func count(l fleet.Leaf[int]) string {
	if n, known := l.Get(); known {
		return fmt.Sprint(n)
	}
	return "?"
}
