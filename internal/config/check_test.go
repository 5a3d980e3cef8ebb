package config

import (
	"reflect"
	"strings"
	"testing"
)

// tried has a field for each word that a tag may hold.
type tried struct {
	D     string            `toml:"d" is:"duration 1m..1h|never"`
	P     string            `toml:"p" is:"path"`
	G     []string          `toml:"g" is:"glob"`
	N     string            `toml:"n" is:"name"`
	R     string            `toml:"r" is:"regexp"`
	S     string            `toml:"s" is:"size"`
	T     string            `toml:"t" is:"times"`
	One   string            `toml:"one" is:"|red|green"`
	Count *int              `toml:"count" is:"0..50"`
	Many  map[string]string `toml:"many" is:"duration"`
	Deep  []struct {
		On   bool `toml:"on"`
		More []struct {
			On bool `toml:"on"`
		} `toml:"more"`
		Sub struct {
			On bool `toml:"on"`
		} `toml:"sub"`
	} `toml:"deep"`
}

// Each wrong value is told at its line, all of a section together; what is right is not.
func TestEveryValueIsChecked(t *testing.T) {
	bad := map[string]string{
		`d = "2h"`:                `[git] d: 2h is too long: the most is 1h`,
		`d = "1s"`:                `[git] d: 1s is too short: the least is 1m`,
		`d = 5`:                   `[git] d: want a text in quotes, not a number`,
		`p = "a b"`:               `[git] p: path "a b" is relative: begin it with / or ~/`,
		`g = ["/a", ""]`:          `[git] g: a text in it is empty`,
		`g = ["/[a"]`:             `[git] g: "/[a" is no glob: its bracket has no end`,
		`g = "/a"`:                `[git] g: want a list in brackets, not a text`,
		`n = "a b"`:               `[git] n: "a b" is no name: it is one word, without spaces`,
		`r = "("`:                 "[git] r: \"(\" is no regular expression: missing closing ): `(`",
		`s = "-1MiB"`:             `[git] s: "-1MiB" is no size: write it like "512KiB", "200MiB" or "4GiB"`,
		`t = "0 in 1h"`:           `[git] t: "0 in 1h" is no budget: it allows nothing at all`,
		`one = "gren"`:            `[git] one: "gren" is none of red, green, did you mean "green"?`,
		`count = -5`:              `[git] count: -5 is not between 0 and 50`,
		`count = 1.5`:             `[git] count: want a whole number, not a number`,
		`many = { a = "soon" }`:   `[git.many] a: "soon" is no duration: write it like "90s", "20m", "2h" or "1d"`,
		`deep = [{ on = "yes" }]`: `[git.deep] on: want true or false, not a text`,
		`zzzzzz = 1`:              `unknown key "zzzzzz" in [git]`,
	}
	refused := ""
	for line, said := range bad {
		c, err := load(t, "# a remark\n[git]\n"+line+"\n")
		if err != nil {
			t.Fatal(err)
		}
		err = c.Section("git", &tried{})
		if err == nil || err.Error() != "cannot read "+c.File+":3: "+said {
			t.Errorf("%s: got\n%v\nwant\n%s", line, err, said)
		}
	}
	for _, line := range []string{`d = "never"`, `d = "30m"`, `d = ""`, `p = "~/x"`, `g = ["/a/*"]`, `s = "4GiB"`, `t = "3 in 1d"`, `one = "red"`, `count = 0`, `many = { a = "1d6h" }`, `deep = [{ on = true }]`} {
		c, err := load(t, "[git]\n"+line+"\n")
		if err == nil {
			err = c.Section("git", &tried{})
		}
		if err != nil {
			refused += line + ": " + err.Error()
		}
	}
	if refused != "" {
		t.Errorf("refused: %s", refused)
	}
}

// The second entry of a list of tables is told at its own line.
func TestAListOfTablesIsToldWhereItStands(t *testing.T) {
	for text, line := range map[string]string{
		"[[git.deep]]\non = true\n[[git.deep]]\non = 1\n":                                                            ":4: ",
		"[[git.deep]]\n[[git.deep.more]]\non = true\n[[git.deep]]\n[[git.deep.more]]\n[[git.deep.more]]\n\non = 1\n": ":8: ",
		"[[git.deep]]\n[git.deep.sub]\non = true\n[[git.deep]]\n[git.deep.sub]\non = 1\n":                            ":6: ",
	} {
		c, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Check("git", reflect.TypeFor[tried]())
		if err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%s: %v, want %s", text, err, line)
		}
	}
}
