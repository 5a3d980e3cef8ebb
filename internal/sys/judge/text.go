package judge

import (
	"strings"
	"unicode"
)

// line makes foreign text fit to be shown: one line, no control
// characters, at most n runes.
func line(s string, n int) string {
	printable := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(printable), " "))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

// piece is how much of a key in a row is too much to show.
const piece = 8

// scrub replaces every stretch of s that is also in the key by ***. Servers
// repeat what they were sent, whole or in part.
func scrub(s, key string) string {
	if len(key) < piece {
		return s
	}
	hidden := make([]bool, len(s))
	for i := 0; i+piece <= len(s); i++ {
		if strings.Contains(key, s[i:i+piece]) {
			for j := i; j < i+piece; j++ {
				hidden[j] = true
			}
		}
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !hidden[i]:
			b.WriteByte(s[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString("***")
		}
	}
	return b.String()
}
