package overlap

import (
	"fmt"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// How many places of a file, and how many files, are named.
const (
	mostLines = 5
	mostFiles = 50
)

// compare says in which files two worktrees change the same lines, and which they change in other
// places; both as edits since the same commit. What both changed alike is neither.
func compare(one, other []git.Edit) (hot, soft []string) {
	theirs := map[string]git.Edit{}
	for _, e := range other {
		theirs[e.Path] = e
	}
	for _, e := range one {
		o, both := theirs[e.Path]
		if !both || alike(e, o) {
			continue
		}
		path := fleet.Path(e.Path)
		if e.Whole || o.Whole {
			hot = append(hot, path)
		} else if places := meet(e.Hunks, o.Hunks); len(places) > 0 {
			hot = append(hot, path+":"+strings.Join(places, ","))
		} else {
			soft = append(soft, path)
		}
	}
	return some(hot), some(soft)
}

// some sorts files, and names the first of them: a folder that two have made anew can hold any number.
func some(files []string) []string {
	slices.Sort(files)
	if more := len(files) - mostFiles; more > 0 {
		return append(files[:mostFiles:mostFiles], fmt.Sprintf("and %d more", more))
	}
	return files
}

// alike says whether two have made the same of a file.
func alike(a, b git.Edit) bool {
	if a.Whole != b.Whole || len(a.Hunks) != len(b.Hunks) {
		return false
	}
	for i := range a.Hunks {
		if a.Hunks[i] != b.Hunks[i] {
			return false
		}
	}
	return !a.Whole || a.Sum == b.Sum && a.Sum != 0
}

// meet names the lines in which hunks of both meet or touch: git merges neither. Both are in the
// order of their lines. Two that are the same are none.
func meet(a, b []git.Hunk) (places []string) {
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x.From <= y.To+1 && y.From <= x.To+1 && x != y {
			if len(places) == mostLines {
				return append(places, "…")
			}
			places = append(places, lines(min(x.From, y.From), max(x.To, y.To)))
		}
		if x.To < y.To || x.To == y.To && x.From < y.From {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return places
}

func lines(from, to int) string {
	if from >= to {
		return fmt.Sprint(max(1, min(from, to)))
	}
	return fmt.Sprintf("%d-%d", from, to)
}
