package git_test

import (
	"slices"
	"testing"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// The other worktrees of a repository are those that it has written down, the first of all among them.
func TestOthers(t *testing.T) {
	repo := gittest.New(t)
	a, b := repo.Worktree("a"), repo.Worktree("b")
	for top, want := range map[string][]string{repo.Top: {a, b}, a: {repo.Top, b}, b: {repo.Top, a}} {
		p, err := git.Find(top)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Others(); !slices.Equal(got, want) {
			t.Errorf("beside %s are %q, want %q", top, got, want)
		}
	}
}
