package rules

import "sort"

// hint returns `, did you mean "x"?` for the name nearest to the one that was
// written, or nothing when none is near.
func hint(written string, names []string) string {
	if n := closest(written, names); n != "" {
		return `, did you mean "` + n + `"?`
	}
	return ""
}

// closest returns the name with the fewest edits from the one written: at most
// a third of its length, and at least two, or it is no misspelling.
func closest(written string, names []string) string {
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	best, at := "", max(2, len(written)/3)+1
	for _, n := range sorted {
		if d := edits(written, n); d < at {
			best, at = n, d
		}
	}
	return best
}

// edits counts insertions, deletions, replacements and swaps of neighbours.
func edits(a, b string) int {
	var before, last []int
	row := count(len(b) + 1)
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

func count(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
