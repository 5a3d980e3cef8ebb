// Package nearest guesses what was meant by a word that is not known.
package nearest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// longest is how many bytes of a word are compared: no name has more, and what
// anybody may send must not take long.
const longest = 64

// Word returns the word of all with the fewest edits from the one written, the
// first by the alphabet where several have; "" when none is near. Near is at most
// a third of its letters, or two of five and more: mine is no slip of cline.
func Word(written string, all []string) string {
	n := utf8.RuneCountInString(written)
	best, least := "", min(max(2, n/3), (n+1)/3)+1
	if len(written) > longest {
		return ""
	}
	for _, w := range slices.Sorted(slices.Values(all)) {
		if w == written {
			return "" // it is known: it was no slip
		}
		if d := edits([]rune(written), []rune(w[:min(len(w), 2*longest)])); d < least {
			best, least = w, d
		}
	}
	return best
}

// Hint is the end of an error message: `, did you mean "x"?`, or nothing.
func Hint(written string, all []string) string {
	if w := Word(written, all); w != "" {
		return fmt.Sprintf(", did you mean %q?", w)
	}
	return ""
}

// Choice is the hint where a word is one of few that are told, too. There one number
// is no slip of another: who writes P5 does not mean P0.
func Choice(written string, all []string) string {
	return Hint(written, slices.DeleteFunc(slices.Clone(all), func(w string) bool { return otherNumber(written, w) }))
}

// otherNumber says whether both words have digits, and not the same.
func otherNumber(a, b string) bool {
	a, b = digits(a), digits(b)
	return a != "" && b != "" && a != b
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// edits counts the letters to insert, delete, replace, or swap with their
// neighbour (optimal string alignment).
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
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
