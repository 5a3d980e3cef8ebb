package overlap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"custos/internal/fleet"
	"custos/internal/observe/overlap"
	"custos/internal/sys/gittest"
)

// BenchmarkNothingMoved is a look at 100 worktrees of 200 files each, all of which have changed two
// of them; and beside it git's own way, one git status each, as is obvious.
func BenchmarkNothingMoved(b *testing.B) {
	repo := gittest.New(b)
	for i := range 200 {
		repo.Write(fmt.Sprintf("repo/d%d/f%d", i%20, i), "1\n2\n3\n")
	}
	repo.Git(repo.Top, "add", ".")
	repo.Git(repo.Top, "commit", "-qm", "files")
	var trees []string
	var stands []overlap.Stand
	for i := range 100 {
		tree := filepath.Join(repo.Dir, fmt.Sprint("t", i))
		repo.Git(repo.Top, "worktree", "add", "-q", "-b", fmt.Sprint("b", i), tree)
		for _, f := range []string{"d0/f0", fmt.Sprintf("d%d/f%d", i%20, i)} {
			if err := os.WriteFile(filepath.Join(tree, f), fmt.Appendf(nil, "%d\n2\n3\n", i), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		trees = append(trees, tree)
		stands = append(stands, overlap.Stand{Folder: tree, Files: []string{filepath.Join(tree, fmt.Sprintf("d%d", i%20)), filepath.Join(tree, "docs/*.md")}})
	}
	now := time.Now()
	p, err := overlap.New(overlap.Options{Standing: func() []overlap.Stand { return stands }, Now: func() time.Time { now = now.Add(time.Hour); return now }})
	if err != nil {
		b.Fatal(err)
	}
	look := func() int {
		put, err := p.Look(b.Context())
		if put == nil {
			b.Fatal(err)
		}
		var s fleet.Snapshot
		put(&s)
		return len(s.Overlaps.Value)
	}
	began := time.Now()
	if look() == 0 {
		b.Fatal("nothing overlaps")
	}
	first := time.Since(began)
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			look()
		}
		b.ReportMetric(float64(first.Milliseconds()), "ms-first")
	})
	b.Run("git-status", func(b *testing.B) {
		for b.Loop() {
			for _, tree := range trees {
				repo.Git(tree, "status", "--porcelain")
			}
		}
	})
}
