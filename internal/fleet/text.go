package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path turns a path as the kernel gave it into one that is safe to show, store
// and send: bytes that are no UTF-8, control characters and backslashes become
// \xNN. RawPath turns it back, byte for byte. Every path in this package is in
// this form.
func Path(raw string) string {
	if isPlain(raw) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		if r == '\\' || !strconv.IsPrint(r) || r == utf8.RuneError && n == 1 {
			for _, c := range []byte(raw[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(raw[i : i+n])
		}
		i += n
	}
	return b.String()
}

// IsKey says whether a character is a control character that no terminal is given as text,
// because it may press a key there: all but tab and line ends.
func IsKey(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && (r < 0x20 || 0x7f <= r && r < 0xa0)
}

func isPlain(s string) bool {
	for _, r := range s {
		if r == '\\' || r == utf8.RuneError || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// RawPath turns what Path returned back into the path the kernel knows.
func RawPath(safe string) string {
	if !strings.Contains(safe, `\x`) {
		return safe
	}
	var b strings.Builder
	for i := 0; i < len(safe); {
		var c byte
		if strings.HasPrefix(safe[i:], `\x`) && len(safe) >= i+4 {
			if _, err := fmt.Sscanf(safe[i+2:i+4], "%02x", &c); err == nil {
				b.WriteByte(c)
				i += 4
				continue
			}
		}
		b.WriteByte(safe[i])
		i++
	}
	return b.String()
}

var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?`)

// Text makes anything a program wrote safe to show: terminal escapes and
// control characters are dropped (tab and newline stay), broken UTF-8 replaced. strconv knows
// what unicode.IsPrint does, in half the time beyond Latin-1: screens are full of frames.
func Text(raw string) string {
	if strings.Contains(raw, "\x1b") {
		raw = escapes.ReplaceAllString(raw, "")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(raw, "\uFFFD"))
}

// Line is Text on one line, cut to at most n runes.
func Line(raw string, n int) string {
	if len(raw) <= n && isWord(raw) {
		return raw // most are, and of some hundred thousand are asked for at once
	}
	s := strings.Join(strings.Fields(Text(raw)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// isWord says whether a text is one word of ASCII.
func isWord(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Counted writes "1 pane", "3 panes".
func Counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "ss") || strings.HasSuffix(one, "ch") {
		return strconv.Itoa(n) + " " + one + "es"
	}
	return strconv.Itoa(n) + " " + strings.TrimSuffix(one, "y") + plural(one)
}

func plural(one string) string {
	switch stem, isY := strings.CutSuffix(one, "y"); {
	case !isY:
		return "s"
	case strings.HasSuffix(stem, "a") || strings.HasSuffix(stem, "e") || strings.HasSuffix(stem, "o"):
		return "ys"
	}
	return "ies"
}
