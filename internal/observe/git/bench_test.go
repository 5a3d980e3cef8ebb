package git_test

import (
	"fmt"
	"testing"

	"custos/internal/observe/git"
	"custos/internal/sys/gittest"
)

// BenchmarkLook measures a look at one repository with 20 linked worktrees: the
// first, which asks everything, and an idle one.
func BenchmarkLook(b *testing.B) {
	r := gittest.New(b)
	for i := range 20 {
		top := r.Worktree(fmt.Sprint("w", i))
		for f := range 200 {
			r.Write(fmt.Sprintf("%s/node_modules/p%d/index.js", top, f), "x")
		}
	}
	o := git.Options{Repos: []string{r.Top}, Standing: nobody, Holding: nothing}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			p, err := git.New(o)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Look(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("idle", func(b *testing.B) {
		p, err := git.New(o)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Look(b.Context()); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := p.Look(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
