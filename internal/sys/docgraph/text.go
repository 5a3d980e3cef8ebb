package docgraph

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// slug is a name as it stands in IDs: letters and digits, with single hyphens for
// all else, at most maxTitle bytes.
func slug(s string) string { return strings.Trim(cut(fullSlug(s), maxTitle), "-") }

// fullSlug is the same of a whole text, to look for slugs in.
func fullSlug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// cut shortens a text to whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// plain is a text in which every character can be seen: what a stranger named a
// file must not turn the line around, or colour it.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
	return cut(s, maxTitle)
}

func issueID(n int) string { return "issue:" + strconv.Itoa(n) }
