package conversation

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// deepest is how many lists and objects are gone into; no line of a CLI has so many.
const deepest = 100

// scan goes over JSON once, without keeping what is not wanted of it. It gives up, by returning false, at all that
// encoding/json would refuse, and at some of what that would take: then encoding/json is asked.
type scan struct {
	text []byte
	at   int
	deep int
}

// next is the byte behind spaces; 0 at the end.
func (s *scan) next() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// takes goes over a byte, where it is the next one.
func (s *scan) takes(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// word goes over a word of letters, where it comes next.
func (s *scan) word(w string) bool {
	if s.next(); !bytes.HasPrefix(s.text[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// inside goes over what stands between brackets; item goes over one thing of it.
func (s *scan) inside(begin, end byte, item func() bool) bool {
	if s.deep++; s.deep > deepest || !s.takes(begin) {
		return false
	}
	for first := true; !s.takes(end); first = false {
		if !first && !s.takes(',') || !item() {
			return false
		}
	}
	s.deep--
	return true
}

// skip goes over any value.
func (s *scan) skip() bool {
	switch c := s.next(); c {
	case '{':
		return s.inside('{', '}', func() bool {
			_, _, ok := s.string()
			return ok && s.takes(':') && s.skip()
		})
	case '[':
		return s.inside('[', ']', s.skip)
	case '"':
		_, _, ok := s.string()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// string goes over a text; plain is one that means just what is written.
func (s *scan) string() (text []byte, plain, ok bool) {
	if !s.takes('"') {
		return nil, false, false
	}
	plain = true
	for from := s.at; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[from : s.at-1], plain, true
		case c == '\\':
			if plain = false; !s.escape() {
				return nil, false, false
			}
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// escape goes over what follows a backslash, but its last byte.
func (s *scan) escape() bool {
	if s.at++; s.at >= len(s.text) {
		return false
	}
	if s.text[s.at] != 'u' {
		return strings.IndexByte(`"\/bfnrt`, s.text[s.at]) >= 0
	}
	for range 4 {
		if s.at++; s.at >= len(s.text) || strings.IndexByte("0123456789abcdefABCDEF", s.text[s.at]) < 0 {
			return false
		}
	}
	return true
}

// number goes over a number.
func (s *scan) number() bool {
	if s.next() == '-' {
		s.at++
	}
	if digits := s.digits(); digits == 0 || digits > 1 && s.text[s.at-digits] == '0' {
		return false
	}
	if s.is('.') && s.digits() == 0 {
		return false
	}
	if s.is('e') || s.is('E') {
		if !s.is('+') {
			s.is('-')
		}
		return s.digits() > 0
	}
	return true
}

// is goes over a byte, where it follows at once.
func (s *scan) is(c byte) bool {
	if s.at >= len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scan) digits() (n int) {
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// object has the members read that are wanted, by their place in the list, and goes over the others. It gives up
// where encoding/json might take another name for one of them, or chooses between two of one name.
func (s *scan) object(wanted []string, read func(which int) bool) bool {
	var seen uint32
	return s.inside('{', '}', func() bool {
		name, plain, ok := s.string()
		if !ok || !plain || !s.takes(':') {
			return false
		}
		for i, want := range wanted {
			switch {
			case string(name) == want:
				again := seen&(1<<i) != 0
				seen |= 1 << i
				return !again && read(i)
			case bytes.EqualFold(name, []byte(want)):
				return false
			}
		}
		return s.skip()
	})
}

// keep goes over a text, or nothing, and keeps it.
func (s *scan) keep(to *string) bool {
	if s.next() == 'n' {
		return s.word("null")
	}
	text, plain, ok := s.string()
	if !ok || !plain || !utf8.Valid(text) {
		return false
	}
	*to = string(text)
	return true
}

// flag goes over true, false or nothing, and keeps it.
func (s *scan) flag(to *bool) bool {
	switch s.next() {
	case 't':
		*to = true
		return s.word("true")
	case 'f':
		return s.word("false")
	}
	return s.word("null")
}

// count goes over a whole number that is not large, or nothing, and keeps it.
func (s *scan) count(to **float64) bool {
	if s.next() == 'n' {
		return s.word("null")
	}
	from := s.at
	if !s.number() || s.at-from > 9 {
		return false
	}
	n := 0.0
	for _, c := range s.text[from:s.at] {
		if c < '0' || c > '9' {
			return false
		}
		n = 10*n + float64(c-'0')
	}
	*to = &n
	return true
}
