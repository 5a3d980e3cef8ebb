package formula

import (
	"fmt"
	"slices"
)

// hint returns `, did you mean "x"?` for the word nearest to the written one,
// or nothing when none is near.
func hint(word string, words []string) string {
	if len(word) > 64 {
		return ""
	}
	best, at := "", min(max(2, len(word)/3)+1, len(word))
	for _, w := range slices.Sorted(slices.Values(words)) {
		if d := distance(word, w); d < at {
			best, at = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
