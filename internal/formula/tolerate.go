package formula

import (
	"bytes"
	"slices"
)

// Real formulas are full of shell in basic strings, and so of backslashes that
// TOML does not know (`\(`, `\|`): one file in five of those studied. Nobody
// noticed, since they were pasted into prompts as they are. tolerant doubles
// such backslashes, so that they are read literally, and remembers where.

// tolerance is a text that was made readable.
type tolerance struct {
	text    []byte
	doubled []int // offsets in text of the backslashes that were put in
}

// original returns the offset in the text as it was written.
func (t tolerance) original(offset int) int {
	n, _ := slices.BinarySearch(t.doubled, offset)
	return offset - n
}

func tolerant(text []byte) tolerance {
	s := scan{in: text}
	for s.at < len(s.in) {
		s.next()
	}
	if len(s.doubled) == 0 {
		return tolerance{text: text}
	}
	return tolerance{text: append(s.out, s.in[s.copied:]...), doubled: s.doubled}
}

// scan walks a TOML text, far enough to know what is in a basic string.
type scan struct {
	in      []byte
	at      int
	out     []byte
	copied  int // how much of in is in out
	doubled []int
}

func (s *scan) has(prefix string) bool { return bytes.HasPrefix(s.in[s.at:], []byte(prefix)) }

func (s *scan) next() {
	switch {
	case s.has("#"):
		s.past("\n")
	case s.has("'''"):
		s.at += 3
		s.past("'''")
	case s.has("'"):
		s.at++
		s.pastInLine('\'')
	case s.has(`"""`):
		s.at += 3
		s.basic(true)
	case s.has(`"`):
		s.at++
		s.basic(false)
	default:
		s.at++
	}
}

// past moves behind the next mark, or to the end.
func (s *scan) past(mark string) {
	n := bytes.Index(s.in[s.at:], []byte(mark))
	if n < 0 {
		s.at = len(s.in)
		return
	}
	s.at += n + len(mark)
}

// pastInLine moves behind the next mark, or to the end of the line.
func (s *scan) pastInLine(mark byte) {
	for s.at < len(s.in) && s.in[s.at] != '\n' {
		s.at++
		if s.in[s.at-1] == mark {
			return
		}
	}
}

// basic reads to the end of a basic string.
func (s *scan) basic(multi bool) {
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '\\':
			s.backslash(multi)
		case multi && s.has(`"""`):
			s.at += 3
			for s.has(`"`) { // up to two quotes may stand before the closing ones
				s.at++
			}
			return
		case !multi && (c == '"' || c == '\n'):
			s.at++
			return
		default:
			s.at++
		}
	}
}

func (s *scan) backslash(multi bool) {
	n := escapeLength(s.in[s.at+1:], multi)
	if n == 0 {
		s.out = append(s.out, s.in[s.copied:s.at]...)
		s.doubled = append(s.doubled, len(s.out))
		s.out = append(s.out, '\\')
		s.copied = s.at
	}
	s.at += 1 + n
}

// escapeLength returns how many bytes behind a backslash belong to an escape,
// 0 when it is none.
func escapeLength(after []byte, multi bool) int {
	if len(after) == 0 {
		return 0
	}
	switch c := after[0]; c {
	case 'b', 't', 'n', 'f', 'r', 'e', '"', '\\':
		return 1
	case 'x':
		return hexLength(after, 2)
	case 'u':
		return hexLength(after, 4)
	case 'U':
		return hexLength(after, 8)
	case ' ', '\t', '\r', '\n':
		if multi && endsLine(after) {
			return 1
		}
	}
	return 0
}

func hexLength(after []byte, n int) int {
	if len(after) < n+1 {
		return 0
	}
	for _, c := range after[1 : n+1] {
		if !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(c)) {
			return 0
		}
	}
	return n + 1
}

// endsLine reports whether nothing but white space is left of the line.
func endsLine(b []byte) bool {
	rest := bytes.TrimLeft(b, " \t\r")
	return len(rest) > 0 && rest[0] == '\n'
}
