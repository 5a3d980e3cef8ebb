package formula

import (
	"regexp"
	"strings"
)

// A condition is a variable, !variable, or a comparison of one with a word
// (== or !=), joined by && and ||. Variables are written {{name}} or, when
// declared, name.

var termRE = regexp.MustCompile(`^(!?)\s*(\{\{\s*)?([A-Za-z_][A-Za-z0-9_.-]*)(\s*\}\})?\s*(?:(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_.:/@-]+)))?$`)

// term is one comparison.
type term struct {
	not     bool
	name    string
	compare string // "", ==, !=
	with    string
}

// condition is an or of ands; read before any value is put in, so that no value
// can become part of it.
type condition [][]term

// readCondition says no when the text is not about these variables: then only
// an agent or a person can judge it.
func readCondition(text string, known func(string) bool) (condition, bool) {
	var c condition
	for _, or := range strings.Split(text, "||") {
		var all []term
		for _, and := range strings.Split(or, "&&") {
			t, ok := readTerm(strings.TrimSpace(and), known)
			if !ok {
				return nil, false
			}
			all = append(all, t)
		}
		c = append(c, all)
	}
	return c, true
}

func readTerm(text string, known func(string) bool) (term, bool) {
	m := termRE.FindStringSubmatch(text)
	if m == nil || (m[2] == "") != (m[4] == "") {
		return term{}, false
	}
	t := term{not: m[1] == "!", name: m[3], compare: m[5], with: m[6] + m[7] + m[8]}
	return t, known(t.name)
}

func (c condition) holds(values map[string]string) bool {
	for _, all := range c {
		ok := true
		for _, t := range all {
			ok = ok && t.holds(values)
		}
		if ok {
			return true
		}
	}
	return false
}

func (t term) holds(values map[string]string) bool {
	v := values[t.name]
	var is bool
	switch t.compare {
	case "==":
		is = v == t.with
	case "!=":
		is = v != t.with
	default:
		is = truth(v)
	}
	return is != t.not
}
