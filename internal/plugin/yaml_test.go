package plugin

import (
	"regexp"
	"strings"
	"testing"
)

// TestBrokenYAML: what keeps front matter from being YAML is said in our words, at the line
// of the file that has it.
func TestBrokenYAML(t *testing.T) {
	theirs := regexp.MustCompile(`did not find|could not find|found |yaml: |not allowed|octet|anchor`)
	for text, want := range map[string]struct {
		line int
		says string
	}{
		"name: [x\n":                         {2, "a comma or the closing bracket of a list is missing"},
		"a: 1\nname: [x\nb: 2\n":             {3, "a comma or the closing bracket of a list is missing"},
		"a: 1\nname: {x: 1\nb: 2\n":          {3, "a comma or the closing } is missing"},
		"a: 1\nb: \"open\nc: 2\n":            {3, "a text has no closing quote"},
		"a: 1\nb: 'open\nc: 2\n":             {3, "a text has no closing quote"},
		"a: 1\n\tb: 2\n":                     {3, "indented by a tab"},
		"a: 1\nb:\n\tc: 2\n":                 {4, "indented by a tab"},
		"a: b: c\n":                          {2, "a : too many"},
		"x: 1\na: b: c\n":                    {3, "a : too many"},
		"x: 1\njust words\ny: 2\n":           {3, "a key is followed by : and its value"},
		"x: 1\n- a\n":                        {3, "no key of the table"},
		"x:\n  a: 1\n b: 2\n":                {4, "no key of the table"},
		"q: 1\na: \"x\" y\n":                 {3, "no key of the table"},
		"- a\nx: 1\n":                        {3, "no item of the list"},
		"a: 1\nb: @x\n":                      {3, "cannot begin with this sign"},
		"a: 1\nb: \"\\q\"\n":                 {3, "no such escape"},
		"a: 1\nb: *x\nc: \"*y\"\n":           {3, "*x names no value"},
		"a: 1\nb: \x01\n":                    {3, "a control character"},
		"a: 1\nb: \xff\n":                    {3, "not UTF-8"},
		"a: 1\nb: ]\n":                       {3, "a value is missing"},
		"a: 1\nb: - x\n":                     {3, "a list begins on a line of its own"},
		"a: 1\nb: !x!y z\n":                  {3, "a text that begins with ! stands in quotes"},
		"%FOO\n":                             {2, "a line cannot begin with %"},
		"a: 1\nb: >5x\n":                     {3, "nothing stands behind"},
		"a: 1\nb: [1, 2]]\n":                 {3, "no key of the table"},
		"a: 1\nb: \"x\ny: \\u12\"\n":         {3, "no such escape"},
		"x: 1\n b: 2\n":                      {3, "a : too many"},
		"a: &a [x]\nb: *a\n":                 {3, "is an alias"},
		"a: 1\nb: |\n  long\n c: 2\n\"d: \n": {5, "no key of the table"},
	} {
		_, err := readYAML(text)
		m, is := err.(*mistake)
		if !is {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if m.line != want.line || !strings.Contains(m.text, want.says) || theirs.MatchString(m.text) || !strings.HasPrefix(m.text, "cannot read YAML: ") {
			t.Errorf("%q: line %d: %s, want line %d: %s", text, m.line, m.text, want.line, want.says)
		}
	}
}
