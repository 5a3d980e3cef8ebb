package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// node is one value in a JSON text: where it stands, and what is in it. The text
// may have comments, a byte order mark, and commas before a closing bracket, as
// settings of CLIs do.
type node struct {
	start, end int // of the value, in bytes; end is exclusive
	kind       byte
	members    []member // of an object ('{') or an array ('[')
}

// member is one member of an object, or one element of an array.
type member struct {
	key   string
	start int // of the key, or of the element
	value node
}

// find returns the last member of a key, which is the one that counts.
func (n node) find(key string) (member, bool) {
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].key == key {
			return n.members[i], true
		}
	}
	return member{}, false
}

// text returns a string's value; "" for anything else.
func (n node) text(b []byte) string {
	var s string
	if n.kind != '"' || json.Unmarshal(b[n.start:n.end], &s) != nil {
		return ""
	}
	return s
}

// jsonReader reads a JSON text without changing it.
type jsonReader struct {
	b     []byte
	i     int
	depth int
}

// maxDepth is deeper than any settings are.
const maxDepth = 200

// readJSON reads the one value of a text. ok is false for a text without one:
// nothing but white space and comments.
func readJSON(b []byte) (n node, ok bool, err error) {
	r := &jsonReader{b: b}
	if strings.HasPrefix(string(b), "\ufeff") {
		r.i = len("\ufeff")
	}
	if err := r.space(); err != nil {
		return node{}, false, err
	}
	if r.i == len(b) {
		return node{}, false, nil
	}
	if n, err = r.value(); err != nil {
		return node{}, false, err
	}
	if err = r.space(); err == nil && r.i < len(b) {
		err = r.fail("something stands behind its end")
	}
	return n, err == nil, err
}

// fail says what is wrong, and at which line.
func (r *jsonReader) fail(what string) error {
	line := 1 + strings.Count(string(r.b[:min(r.i, len(r.b))]), "\n")
	return fmt.Errorf("line %d: %s", line, what)
}

// space skips white space and comments.
func (r *jsonReader) space() error {
	for r.i < len(r.b) {
		rest := string(r.b[r.i:min(len(r.b), r.i+2)])
		switch {
		case strings.ContainsAny(rest[:1], " \t\r\n"):
			r.i++
		case rest == "//":
			for r.i < len(r.b) && r.b[r.i] != '\n' {
				r.i++
			}
		case rest == "/*":
			end := strings.Index(string(r.b[r.i+2:]), "*/")
			if end < 0 {
				return r.fail("a comment does not end")
			}
			r.i += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (r *jsonReader) value() (node, error) {
	if r.depth++; r.depth > maxDepth {
		return node{}, r.fail("it is nested too deeply")
	}
	defer func() { r.depth-- }()
	switch {
	case r.i >= len(r.b):
		return node{}, r.fail("it ends too early")
	case r.b[r.i] == '{':
		return r.list('{', '}')
	case r.b[r.i] == '[':
		return r.list('[', ']')
	}
	return r.scalar()
}

func (r *jsonReader) list(open, shut byte) (node, error) {
	n := node{start: r.i, kind: open}
	r.i++
	for {
		if err := r.space(); err != nil {
			return node{}, err
		}
		if r.i < len(r.b) && r.b[r.i] == shut {
			r.i++
			n.end = r.i
			return n, nil
		}
		m, err := r.member(open == '{')
		if err != nil {
			return node{}, err
		}
		n.members = append(n.members, m)
		if err := r.separator(shut); err != nil {
			return node{}, err
		}
	}
}

// separator reads a comma, unless the list ends here.
func (r *jsonReader) separator(shut byte) error {
	if err := r.space(); err != nil {
		return err
	}
	switch {
	case r.i < len(r.b) && r.b[r.i] == ',':
		r.i++
	case r.i >= len(r.b) || r.b[r.i] != shut:
		return r.fail(fmt.Sprintf("a comma or %q is missing", shut))
	}
	return nil
}

func (r *jsonReader) member(keyed bool) (m member, err error) {
	m.start = r.i
	if keyed {
		key, err := r.value()
		if err != nil {
			return m, err
		}
		if key.kind != '"' {
			return m, r.fail("a key is no string")
		}
		m.key = key.text(r.b)
		if err := r.space(); err != nil {
			return m, err
		}
		if r.i >= len(r.b) || r.b[r.i] != ':' {
			return m, r.fail("a colon is missing behind a key")
		}
		r.i++
		if err := r.space(); err != nil {
			return m, err
		}
	}
	m.value, err = r.value()
	return m, err
}

// scalar reads a string, a number, true, false or null.
func (r *jsonReader) scalar() (node, error) {
	n := node{start: r.i, kind: r.b[r.i]}
	if n.kind == '"' {
		r.i++
		for r.i < len(r.b) && r.b[r.i] != '"' {
			if r.b[r.i] == '\\' {
				r.i++
			}
			r.i++
		}
		r.i++
	} else {
		for r.i < len(r.b) && !strings.ContainsAny(string(r.b[r.i:r.i+1]), " \t\r\n,:]}/\"[{") {
			r.i++
		}
	}
	n.end = min(r.i, len(r.b))
	if !json.Valid(r.b[n.start:n.end]) {
		r.i = n.start
		return node{}, r.fail("a value cannot be read")
	}
	return n, nil
}
