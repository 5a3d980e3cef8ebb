package forge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func show(list []ref) (out []string) {
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s#%d", r.repo, r.number))
	}
	return out
}

// home is the forge that the texts are of.
const home = "https://git.example"

func TestWaitsFor(t *testing.T) {
	for text, want := range map[string]string{
		"Depends on #12":                             "#12",
		"depends on: #12":                            "#12",
		"This is **blocked by** #3, #4 and #5.":      "#3 #4 #5",
		"Blocked-by #3\ndepends on #3":               "#3",
		"Depends on acme/shop#7 & other/x#8":         "acme/shop#7 other/x#8",
		"depends on #1 #2":                           "#1 #2",
		"not blocked by #3":                          "",
		"no longer depends on #3":                    "",
		"see #12":                                    "",
		"depends on the weather, see #12":            "",
		"> depends on #1":                            "",
		"```\ndepends on #1\n```\nblocked by #2":     "#2",
		"~~~\ndepends on #1":                         "",
		"`depends on #1`":                            "",
		"<!-- depends on #1 -->x <!-- blocked by #2": "",
		"## Dependencies\n- #4 the login\n- [x] #5\n* [ ] acme/shop#6 (and #9)\n\n## Other\n- #7": "#4 acme/shop#6",
		"### Depends on\n1. #4\r\n2) #5":       "#4 #5",
		"## dependencies:\n- nothing\n- #8":    "#8",
		"depends on #0 and #99999999999999999": "",
		"depends on #3.":                       "#3",
		"depends on #3rd":                      "",
		// Under a heading: plain lines, lists of several, addresses.
		"## Depends on\n#4\n#5 and acme/x#6\n\nSee #9 for more.\n## Notes\n#7":                                                                                               "#4 #5 acme/x#6",
		"## Depends on\nhttps://git.example/acme/shop/issues/4\n- https://git.example/acme/shop/pulls/5#issuecomment-12\n- [the login](https://git.example/acme/x/issues/6)": "acme/shop#4 acme/shop#5 acme/x#6",
		"## Depends on\n- #4, #5": "#4 #5",
		"Depends on https://git.example/acme/shop/issues/4 and [#5](https://git.example/acme/shop/issues/5)":             "acme/shop#4 acme/shop#5",
		"## Depends on\n- https://elsewhere.example/acme/shop/issues/4#3\n- https://git.example.evil/acme/shop/issues/5": "",
		"Depends on:\n\n- #4\n- [x] #5\n#6\n\nAlso good to know:\n- #7":                                                  "#4 #6",
		"**Blocked by**:\n* #4 the login\nand this:\n* #5":                                                               "#4",
		// Groups lie within groups, and GitLab's addresses are others.
		"Depends on acme/web/shop#7 and a/b/c/d.e#8": "acme/web/shop#7 a/b/c/d.e#8",
		"Depends on https://git.example/acme/web/shop/-/issues/4 and https://git.example/acme/shop/-/work_items/5#note_7":          "acme/web/shop#4 acme/shop#5",
		"## Depends on\n- https://git.example/acme/shop/-/merge_requests/4\n- !5\n- [x](https://git.example/acme/shop/-/issues/6)": "acme/shop#6",
		// What is struck through is over.
		"depends on ~~#12~~ #13":                            "#13",
		"~~depends on #12~~":                                "",
		"## Dependencies\n- ~~#4 the login~~\n- #5\n~~#6~~": "#5",
	} {
		if got := strings.Join(show(waitsFor(text, home)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := strings.Repeat("depends on #1 ", 3) + "\ndepends on"
	for n := range 500 {
		many += fmt.Sprintf(" #%d,", n+1)
	}
	if got := waitsFor(many, home); len(got) != mostRefs {
		t.Errorf("%d kept of many", len(got))
	}
}

func TestCloses(t *testing.T) {
	for text, want := range map[string]string{
		"Fixes #12":                    "#12",
		"closes #1, resolves acme/x#2": "#1 acme/x#2",
		"prefix #3":                    "",
		"fix: a thing (#44)":           "",
		"fixed #5 and #6":              "#5 #6",
		"Closes https://git.example/acme/shop/issues/12": "acme/shop#12",
		"fixes ~~#12~~ #13": "#13",
	} {
		if got := strings.Join(show(closes(text, home)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No text yields what it does not name.
func FuzzWords(f *testing.F) {
	f.Add("Depends on #12, acme/shop#3\n```\nblocked by #4\n")
	f.Add("## Depends on\n[x](https://git.example/acme/shop/issues/4) ~~#5~~\nDepends on:\n#6\n")
	f.Add(strings.Repeat("depends on ", 3000))
	f.Add("## Dependencies\n" + strings.Repeat("- #1\n", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range slices.Concat(waitsFor(text, home), closes(text, home)) {
			if r.number <= 0 || !strings.Contains(text, fmt.Sprint(r.number)) || !strings.Contains(text, r.repo) {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}
