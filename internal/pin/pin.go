// Package pin compares files that might be run with those that a person said may
// be. It takes values and returns values: who reads the files, and runs them, is
// somebody else.
package pin

import (
	"maps"
	"slices"

	"custos/internal/fleet"
)

// Verdict is what of a folder may be run.
type Verdict struct {
	Trusted map[string]bool // by path: exactly as it was pinned
	Changes []string        // "+ path" is not pinned, "~ path" was pinned otherwise, "- path" is gone; sorted by path
}

// Judge compares the files there are with the pinned ones. A file that was renamed
// is a new one, and one that is gone; one whose right to be executed differs has
// changed.
func Judge(files, pinned []fleet.CodeFile) Verdict {
	v := Verdict{Trusted: map[string]bool{}}
	was, is := byPath(pinned), byPath(files)
	for _, path := range slices.Sorted(maps.Keys(union(was, is))) {
		old, pinned := was[path]
		now, there := is[path]
		switch {
		case !there:
			v.Changes = append(v.Changes, "- "+path)
		case !pinned:
			v.Changes = append(v.Changes, "+ "+path)
		case old != now:
			v.Changes = append(v.Changes, "~ "+path)
		default:
			v.Trusted[path] = true
		}
	}
	return v
}

// Whole says whether every file there is below a folder of the tree, and every one
// that was pinned there, is as it was pinned; false when there is none.
func (v Verdict) Whole(below string) bool {
	some := false
	for path := range v.Trusted {
		some = some || under(path, below)
	}
	return some && !slices.ContainsFunc(v.Changes, func(c string) bool { return under(c[2:], below) })
}

func under(path, folder string) bool {
	return len(path) > len(folder) && path[:len(folder)] == folder && path[len(folder)] == '/'
}

func byPath(files []fleet.CodeFile) map[string]fleet.CodeFile {
	out := make(map[string]fleet.CodeFile, len(files))
	for _, f := range files {
		out[f.Path] = f
	}
	return out
}

func union(a, b map[string]fleet.CodeFile) map[string]fleet.CodeFile {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
