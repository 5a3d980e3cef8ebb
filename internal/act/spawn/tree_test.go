package spawn

import (
	"testing"

	"custos/internal/fleet"

	"pgregory.net/rapid"
)

// Where a worktree is made, from the registration alone.
func TestTree(t *testing.T) {
	x, other := &Action{}, &Action{o: Options{Worktrees: "/trees"}}
	for _, c := range []struct {
		x            *Action
		r            fleet.Registration
		path, branch string // "" when none is made
	}{
		{x, fleet.Registration{Name: "a b"}, "", ""},
		{x, fleet.Registration{Name: "a", Repo: "/r"}, "", ""},
		{x, fleet.Registration{Name: "a b/..", Repo: "/r/", Branch: "x"}, "/r.worktrees/a-b", "x"},
		{other, fleet.Registration{Name: "a", Repo: "/r", Branch: "x"}, "/trees/a", "x"},
		{other, fleet.Registration{Name: "a.b", Repo: "/r", Worktree: "/w"}, "/w", "agent/a-b"},
		{other, fleet.Registration{Name: "run-1", Repo: "/r", Detached: true}, "/trees/run-1", ""},
		{other, fleet.Registration{Name: "a", Repo: "/r", Worktree: "/w", Branch: "x", Instance: "i"}, "", ""},
	} {
		got := c.x.tree(c.r)
		if (got == nil) != (c.path == "") || got != nil && (got.Path != c.path || got.Branch != c.branch) {
			t.Errorf("%+v: %+v", c.r, got)
		}
	}
}

// A name never leads out of the folder, whatever it holds.
func TestSlug(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := slug(rapid.String().Draw(t, "name"))
		for _, c := range s {
			if c == '/' || c == '.' || c <= ' ' || c > '~' {
				t.Fatalf("%q", s)
			}
		}
		if s == "" || s[0] == '-' || len(s) > 60 {
			t.Fatalf("%q", s)
		}
	})
}
