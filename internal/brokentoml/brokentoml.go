// Package brokentoml says for people what keeps a text from being TOML. In goes an error
// of the TOML library, out comes a sentence about the slip; where it is, is the caller's
// to say.
package brokentoml

import (
	"regexp"
	"strings"
)

// broken is what the TOML library says of a text that is no TOML, and how people are
// told of it; $1 is what is in the brackets of the expression.
type broken struct {
	theirs *regexp.Regexp
	ours   string
}

// brokenTexts lists what is met by a slip of the hand, the first that fits first.
var brokenTexts = []broken{
	{regexp.MustCompile(`^(?:basic|literal) strings cannot have new lines|not terminated by|^unterminated `), `a text has no closing quote`},
	{regexp.MustCompile(`^unexpected character U\+000[AD] |^expected value, not end of input|^expected value but got U\+000[AD]`), `there is no value after =`},
	{regexp.MustCompile(`^strings must be quoted|^expected keyword|^(?:expected value but got|unexpected character) .*`), `this is no value: a text stands in quotes`},
	{regexp.MustCompile(`^expected '=' after key`), `a key is followed by = and its value`},
	{regexp.MustCompile(`^expected newline but got`), `something stands behind the value: one key and its value are one line`},
	{regexp.MustCompile(`^key (.+) is already defined`), `the key $1 is there already`},
	{regexp.MustCompile(`^table (\S+) already exists`), `the section [$1] is there already`},
	{regexp.MustCompile(`^key (\S+) (?:already exists|should be)`), `$1 is there already, as something else`},
	{regexp.MustCompile(`^expected ']' to close table name`), `the name of a section has no closing bracket`},
	{regexp.MustCompile(`^array is incomplete`), `a list has no closing bracket`},
	{regexp.MustCompile(`^expected ',' or ']'`), `a comma or the closing bracket of a list is missing`},
	{regexp.MustCompile(`^inline table is incomplete`), `a { has no closing }`},
	{regexp.MustCompile(`^expected ',' or '}'`), `a comma or the closing } is missing`},
	{regexp.MustCompile(`^invalid character at start of key: U\+[0-9A-F]+ '(.+)'`), `a line begins with the name of a key or a section, not with "$1"`},
	{regexp.MustCompile(`^invalid escape character U\+[0-9A-F]+ '(.+)'`), `there is no escape \$1 in a text: write \\ for a backslash, or put the text into single quotes`},
}

// Plain is a TOML error for people.
func Plain(err error) string {
	said := strings.TrimPrefix(err.Error(), "toml: ")
	for _, b := range brokenTexts {
		if m := b.theirs.FindStringSubmatchIndex(said); m != nil {
			return string(b.theirs.ExpandString(nil, b.ours, said, m))
		}
	}
	return "this is no TOML: " + said
}
