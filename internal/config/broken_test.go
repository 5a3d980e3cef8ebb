package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What is no TOML is told at its line in our words: what is missing, or what is to be
// written instead. Only what nobody writes by a slip is told in the words of TOML.
func TestBrokenTOMLIsToldInOurWords(t *testing.T) {
	for text, want := range map[string]string{
		`mode = "auto`:                    `2: a text has no closing quote`,
		`mode = 'auto`:                    `2: a text has no closing quote`,
		`mode = """auto`:                  `2: a text has no closing quote`,
		`mode = '''auto`:                  `2: a text has no closing quote`,
		`mode = auto`:                     `2: this is no value: a text stands in quotes`,
		`mode = TRUE`:                     `2: this is no value: a text stands in quotes`,
		`mode = fast`:                     `2: this is no value: a text stands in quotes`,
		`mode == "a"`:                     `2: this is no value: a text stands in quotes`,
		`grace = 5m`:                      `2: this is no value: a text stands in quotes`,
		`mode =`:                          `2: there is no value after =`,
		`mode`:                            `2: a key is followed by = and its value`,
		`mode : "a"`:                      `2: a key is followed by = and its value`,
		`mode = "a" x`:                    `2: something stands behind the value: one key and its value are one line`,
		"mode = \"a\"\nmode = \"b\"":      `3: the key mode is there already`,
		"[git]\n[git]":                    `3: the section [git] is there already`,
		"git = 1\n[git]":                  `3: git is there already, as something else`,
		"[[git]]\n[git]":                  `3: the section [git] is there already`,
		"[git":                            `2: the name of a section has no closing bracket`,
		"[git]\nrepos = [\"/a\"":          `3: a list has no closing bracket`,
		"[git]\nrepos = [\"/a\" \"/b\"]":  `3: a comma or the closing bracket of a list is missing`,
		"[git]\nsub = { deep = 1":         `3: a { has no closing }`,
		"[git]\nsub = { deep = 1 a = 2 }": `3: a comma or the closing } is missing`,
		`= 3`:                             `2: a line begins with the name of a key or a section, not with "="`,
		`[]`:                              `2: a line begins with the name of a key or a section, not with "]"`,
		`mode = "a\qb"`:                   `2: there is no escape \q in a text: write \\ for a backslash, or put the text into single quotes`,
		`blast = 03`:                      `2: this is no TOML: integers cannot have leading zeroes`,
	} {
		_, err := load(t, "# a remark\n"+text+"\n")
		if want = "cannot read /home/me/.config/custos/custos.toml:" + want; err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", text, err, want)
		}
		var mistake *Mistake
		if !errors.As(err, &mistake) {
			t.Errorf("%s: it is no mistake of the configuration", text)
		}
	}
}

// A folder that cannot be read out of a broken file is told in the same words.
func TestSalvageSpeaksOurWords(t *testing.T) {
	_, err := Salvage(Options{Getenv: func(string) string { return "/home/me" }, ReadFile: func(string) ([]byte, error) { return []byte("# x\nstate_dir = \"/s\n"), nil }})
	if err == nil || !strings.HasSuffix(err.Error(), "custos.toml:2: a text has no closing quote") {
		t.Errorf("got %v", err)
	}
}

// What is wrong with keys of a section together is told at the line of the first that
// is named, where the file has it; what a text quotes names nothing.
func TestWhatIsMisreadIsToldAtItsKey(t *testing.T) {
	c, err := load(t, "[git]\nrepos = [\"/a\"]\n# a remark\nprimary = \"repos\"\nsub.deep = 4\n[locks]\nglobs = []\n[[git.more]]\nname = 'x'\n")
	if err != nil {
		t.Fatal(err)
	}
	for said, line := range map[string]int{
		"primary and repos do not go together": 4,
		"want one of primary, repos":           4,
		`"primary" is not in repos`:            2,
		"sub needs more than deep = 4":         5,
		"a name is no name":                    9,
		"globs is another section's":           1,
		"the repository is gone":               1,
	} {
		err := c.Misread("git", errors.New(said))
		if want := fmt.Sprintf("cannot read %s:%d: [git] %s", c.File, line, said); err.Error() != want {
			t.Errorf("%s: %v", said, err)
		}
	}
}
