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
	} {
		if got := strings.Join(show(waitsFor(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	many := strings.Repeat("depends on #1 ", 3) + "\ndepends on"
	for n := range 500 {
		many += fmt.Sprintf(" #%d,", n+1)
	}
	if got := waitsFor(many); len(got) != mostRefs {
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
	} {
		if got := strings.Join(show(closes(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No text yields what it does not name.
func FuzzWords(f *testing.F) {
	f.Add("Depends on #12, acme/shop#3\n```\nblocked by #4\n")
	f.Add(strings.Repeat("depends on ", 3000))
	f.Add("## Dependencies\n" + strings.Repeat("- #1\n", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range slices.Concat(waitsFor(text), closes(text)) {
			if r.number <= 0 || !strings.Contains(text, fmt.Sprintf("%s#", r.repo)) {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}
