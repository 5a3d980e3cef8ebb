package config

import "fmt"

// nearest returns the valid name that word was probably meant to be, or "".
func nearest(word string, valid []string) string {
	best, at := "", max(1, len(word)/3)+1
	for _, v := range valid {
		if d := distance(word, v); d < at {
			best, at = v, d
		}
	}
	return best
}

// meant is the end of an error message: `, did you mean "x"?` or nothing.
func meant(word string, valid []string) string {
	if n := nearest(word, valid); n != "" {
		return fmt.Sprintf(", did you mean %q?", n)
	}
	return ""
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
