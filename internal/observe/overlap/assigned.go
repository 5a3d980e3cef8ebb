package overlap

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"custos/internal/fleet"
	"custos/internal/sys/git"
)

// within says what agents were started for as patterns from the top of its worktree. What lies
// elsewhere is left out, but for the same place in the main worktree, which a person may have named;
// so is all of the worktree, which is no assignment.
func within(place git.Place, files []string) (patterns []string) {
	for _, file := range files {
		for _, top := range []string{place.Top, place.Main()} {
			if rel, err := filepath.Rel(top, file); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				if rel != "." {
					patterns = append(patterns, rel)
				}
				break
			}
		}
	}
	return patterns
}

// assignedTo sums up what the agents of two worktrees were started for.
func assignedTo(one, other *tree) string {
	if len(one.assigned)+len(other.assigned) == 0 {
		return ""
	}
	return strings.Join(one.assigned, "\x00") + "\x00\x00" + strings.Join(other.assigned, "\x00")
}

// mine lists the files among edits that agents of this worktree were started for.
func (t *tree) mine(edits []git.Edit) (paths []string) {
	for _, e := range edits {
		if t.owns(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// owns says whether agents of it were started for a file.
func (t *tree) owns(file string) bool {
	at := strings.Split(file, "/")
	return slices.ContainsFunc(t.assigned, func(pattern string) bool { return covers(strings.Split(pattern, "/"), at) })
}

// covers says whether a pattern is of a path or of a folder above it: part by part as path.Match has it, and
// ** is any number of parts. A name that looks like a pattern is also itself.
func covers(pattern, at []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case len(at) == 0:
		return false
	case pattern[0] == "**":
		return covers(pattern[1:], at) || covers(pattern, at[1:])
	}
	ok, err := path.Match(pattern[0], at[0])
	return (ok && err == nil || pattern[0] == at[0]) && covers(pattern[1:], at[1:])
}

// assigned lists what the agents of each of two were started for and the other has changed. What
// both were started for is for both.
func assigned(one, other *tree, byOne, byOther []git.Edit) (ofs [2][]string) {
	only := func(mine, theirs *tree, edits []git.Edit) (files []string) {
		for _, file := range mine.mine(edits) {
			if !theirs.owns(file) {
				files = append(files, fleet.Path(file))
			}
		}
		return some(files)
	}
	return [2][]string{only(one, other, byOther), only(other, one, byOne)}
}
