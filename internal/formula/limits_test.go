package formula

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimits: what is too big is refused clearly, and soon: the
// test would run out of time if work grew with the square of the text.
func TestLimits(t *testing.T) {
	chain := &strings.Builder{}
	chain.WriteString("name = \"n\"\n")
	for i := range 12_000 {
		fmt.Fprintf(chain, "[[steps]]\nid = \"s%d\"\nneeds = [\"s%d\"]\n", i, max(0, i-1))
	}
	for name, c := range map[string]struct{ text, want string }{
		"5 MB":       {"name = \"n\"\n" + strings.Repeat("#", 5<<20), "x: error: the file is larger than 1 MiB (1048576 bytes): put long texts in files"},
		"many steps": {chain.String(), "the formula has 12000 steps: at most 10000 are run"},
		"arrays":     {"name = \"n\"\nx = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `key "x" is not acted on`},
		"tables":     {"name = \"n\"\nx = " + strings.Repeat("{a=", 5000) + "1" + strings.Repeat("}", 5000), `key "x" is not acted on`},
		"children":   {"name = \"n\"\n" + nested("children", 60), "nested too deeply"},
		"no UTF-8":   {"name = \"n\"\n# \xff", "x:2:3: error: cannot read TOML: this byte is not UTF-8"},
		"slashes":    {"name = \"n\"\nx = \"" + strings.Repeat(`\q`, 300000) + `"`, "a bare backslash"},
		"empty":      {"", "the formula has no name"},
		"backs":      {`name = "` + strings.Repeat(`\`, 101), "a text has no closing quote"},
		"braces":     {"name = \"n\"\n[[steps]]\nid=\"a\"\ndescription = '" + strings.Repeat("{{#if a}}", 50) + "'", "nested more than"},
		"no end":     {"name = \"n\"\nvars={a=1}\n[[steps]]\nid=\"a\"\ndescription = '{{#if a}}'", "not ended"},
	} {
		t.Run(name, func(t *testing.T) {
			said := strings.Builder{}
			for _, p := range throughAll("x", []byte(c.text), nil) {
				fmt.Fprintln(&said, p)
			}
			if !strings.Contains(said.String(), c.want) {
				t.Errorf("want %q, got %.2000s", c.want, said.String())
			}
		})
	}
}

func nested(key string, depth int) string {
	return "steps = [" + strings.Repeat(`{id="a",`+key+`=[`, depth) + strings.Repeat("]}", depth) + "]"
}

// throughAll does all that is ever done with a formula's text.
func throughAll(file string, text []byte, vars map[string]string) []Problem {
	f, all := Parse(file, text)
	f, found := Resolve(f, func(name string) ([]byte, string, bool) { return text, file, name == "self" })
	all = append(all, found...)
	all = append(all, Check(f, Checks{})...)
	Commands(f)
	if !Refused(all) {
		Text(f)
		DOT(f)
	}
	out, found := Render(f, vars)
	all = append(all, found...)
	if !Refused(all) {
		Prompt(out, PromptContext{Run: "1"})
		Compact(out, PromptContext{})
	}
	return all
}

func FuzzParse(f *testing.F) {
	for _, seed := range corpus(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, p := range throughAll("x", text, nil) {
			if p.File != "x" || p.Line < 0 || p.Text == "" || p.Line > 0 && p.Column < 1 {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
	})
}
