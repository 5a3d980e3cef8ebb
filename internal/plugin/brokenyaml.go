package plugin

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// broken is what the YAML library says of a text that is no YAML, and how people are told
// of it; $1 is what is in the brackets of the expression.
type broken struct {
	theirs *regexp.Regexp
	ours   string
	before bool // the library counts its line from 0
}

// A tab is refused by two of its parts, and only one says that it was one.
const (
	tabSays   = "a line is indented by a tab: YAML wants spaces"
	beginSays = "a value cannot begin with this sign: a text that begins with @, ` or % stands in quotes"
)

// brokenTexts lists what is met by a slip of the hand, the first that fits first.
var brokenTexts = []broken{
	{regexp.MustCompile(`^found unexpected (?:end of stream|document indicator)`), `a text has no closing quote`, false},
	{regexp.MustCompile(`^did not find expected ',' or ']'`), `a comma or the closing bracket of a list is missing`, true},
	{regexp.MustCompile(`^did not find expected ',' or '}'`), `a comma or the closing } is missing`, true},
	{regexp.MustCompile(`^did not find expected key`), `this is no key of the table that it stands in: the keys of a table begin in one column, and nothing stands behind a text in quotes or a list`, true},
	{regexp.MustCompile(`^did not find expected '-' indicator`), `this is no item of the list that it stands in: each begins with - in one column`, true},
	{regexp.MustCompile(`^did not find expected node content`), `a value is missing`, true},
	{regexp.MustCompile(`^found undefined tag handle`), `a text that begins with ! stands in quotes`, true},
	{regexp.MustCompile(`^found a tab character`), tabSays, false},
	{regexp.MustCompile(`^found character that cannot start any token`), beginSays, false},
	{regexp.MustCompile(`^mapping values are not allowed`), `there is a : too many: a text with ": " in it stands in quotes, and the keys of a table begin in one column`, false},
	{regexp.MustCompile(`^could not find expected ':'`), `a key is followed by : and its value`, false},
	{regexp.MustCompile(`^block sequence entries are not allowed`), `a list begins on a line of its own`, false},
	{regexp.MustCompile(`^found unknown escape character|^did not find expected hexdecimal number|^found invalid Unicode character escape`), `there is no such escape in a text: write \\ for a backslash, or put the text into single quotes`, false},
	{regexp.MustCompile(`^did not find expected comment or line break`), `nothing stands behind > or |: the text begins on the next line`, false},
	{regexp.MustCompile(`^(?:found unknown directive name|did not find expected directive name|could not find expected directive name|found unexpected non-alphabetical)`), `a line cannot begin with %`, false},
	{regexp.MustCompile(`^unknown anchor '(.+)' referenced`), `*$1 names no value: a text that begins with * stands in quotes`, false},
	{regexp.MustCompile(`^control characters are not allowed`), `there is a control character in it`, false},
	{regexp.MustCompile(`octet|UTF-8|surrogate`), `it is not UTF-8`, false},
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// plainYAML is an error of the library for people: where in the text it is, from 1, and
// what is wrong there.
func plainYAML(err error, text string) (line int, says string) {
	said := err.Error()
	if m := yamlLine.FindStringSubmatch(said); len(m) == 2 {
		line, _ = strconv.Atoi(m[1]) // a few digits, or none
	}
	said = yamlLine.ReplaceAllString(said, "")
	says = "this is no YAML: " + said
	for _, b := range brokenTexts {
		if m := b.theirs.FindStringSubmatchIndex(said); m != nil {
			says = string(b.theirs.ExpandString(nil, b.ours, said, m))
			if b.before {
				line++
			}
			break
		}
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if line == 0 {
		line = 1 + firstLine(lines, says)
	}
	line = max(1, min(line, len(lines)))
	if at := lines[line-1]; says == beginSays && strings.HasPrefix(strings.TrimLeft(at, " "), "\t") {
		says = tabSays
	}
	return line, says
}

// firstLine finds what the library gives no line for, from 0.
func firstLine(lines []string, says string) int {
	name, isAlias := strings.CutSuffix(says, " names no value: a text that begins with * stands in quotes")
	for i, l := range lines {
		if isAlias && strings.Contains(l, name) || !utf8.ValidString(l) || strings.ContainsFunc(l, isControl) {
			return i
		}
	}
	return 0
}

func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f }
