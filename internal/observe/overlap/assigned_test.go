package overlap

import (
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/git"
)

func TestCovers(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no string }{
		"a.go":      {"a.go", "b/a.go a.goo"},
		"src":       {"src/a src/b/c src", "src2/a x/src"},
		"src/*.go":  {"src/a.go src/a.go/x", "src/b/a.go a.go"},
		"**/*.go":   {"a.go src/a.go src/b/c/a.go", "a.md src/a"},
		"src/**":    {"src/a src/b/c", "src x/src/a"},
		"**/docs/*": {"docs/a x/docs/a/b", "docs x/docs"},
		"a[1].txt":  {"a[1].txt a1.txt", "a2.txt"},
		"a\\[":      {"a[", "a"},
	} {
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for _, file := range strings.Fields(list) {
				if got := covers(strings.Split(pattern, "/"), strings.Split(file, "/")); got != want {
					t.Errorf("%s covers %s: %t", pattern, file, got)
				}
			}
		}
	}
}

// A file is as from the top of the worktree, wherever its path begins; all of the worktree, and what lies elsewhere, is nothing.
func TestWithin(t *testing.T) {
	place := git.Place{Top: "/r.wt/a", Common: "/r/.git", GitDir: "/r/.git/worktrees/a"}
	got := within(place, []string{"/r.wt/a/src/x", "/r/docs/*.md", "/r.wt/a", "/r", "/elsewhere", "/r.wt/ab/x", "/r.wt/a/../b"})
	if want := []string{"src/x", "docs/*.md"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
