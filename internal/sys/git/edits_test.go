package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"custos/internal/sys/git"
	"custos/internal/sys/gittest"
)

// words says what edits are, without their sums.
func words(edits []git.Edit) (list []string) {
	for _, e := range edits {
		w := fmt.Sprintf("%q", e.Path)
		for _, h := range e.Hunks {
			w += fmt.Sprintf(" %d-%d", h.From, h.To)
		}
		if e.Whole {
			w += " whole"
		}
		list = append(list, w)
	}
	slices.Sort(list)
	return list
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func editsOf(t *testing.T, r *git.Reader, top, base string, paths ...string) []git.Edit {
	t.Helper()
	p, err := git.At(top)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := r.Edits(t.Context(), p, base, paths...)
	if err != nil {
		t.Fatal(err)
	}
	return edits
}

// What is committed, staged, merely saved, and new: with the lines of the commit that it began
// with, whatever it is called and whatever stands in it.
func TestEdits(t *testing.T) {
	repo, r := gittest.New(t), git.New(git.Options{})
	for _, name := range []string{"committed", "staged", "saved", "gone", "mode", "odd \"n\nl\tü"} {
		put(t, repo.Top, name, "1\n2\n3\n4\n5\n")
	}
	put(t, repo.Top, "binary", "a\x00b")
	put(t, repo.Top, ".gitignore", "ignored\n")
	repo.Git(repo.Top, "add", ".")
	repo.Git(repo.Top, "commit", "-qm", "base")
	base := repo.Git(repo.Top, "rev-parse", "HEAD")
	put(t, repo.Top, "committed", "1\n2\nthree\n4\n5\n")
	repo.Git(repo.Top, "commit", "-qam", "more")
	put(t, repo.Top, "staged", "0\n1\n2\n3\n4\n")
	put(t, repo.Top, "added", "@@ -7 +7 @@\ndiff --git a/x b/x\n")
	repo.Git(repo.Top, "add", "staged", "added")
	put(t, repo.Top, "saved", "1\n2\n3\n4\n5\n6\n")
	put(t, repo.Top, "odd \"n\nl\tü", "one\n2\n3\nfour\nfive\n")
	put(t, repo.Top, "binary", "a\x00c")
	put(t, repo.Top, "new/file", "mine")
	put(t, repo.Top, "ignored", "x")
	if err := os.Remove(filepath.Join(repo.Top, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(repo.Top, "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := []string{`"added" 1-0`, `"binary" whole`, `"committed" 3-3`, `"gone" 1-5`, `"mode"`, `"new/file" whole`, `"odd \"n\nl\tü" 1-1 4-5`, `"saved" 6-5`, `"staged" 1-0 5-5`}
	if got := words(editsOf(t, r, repo.Top, base)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := words(editsOf(t, r, repo.Top, base, "saved", "new/file")); !slices.Equal(got, []string{`"new/file" whole`, `"saved" 6-5`}) {
		t.Errorf("of two of them: %v", got)
	}
}

// The same change has the same sum, in any worktree; another one another.
func TestEditsTellTheSameFromOthers(t *testing.T) {
	repo, r := gittest.New(t), git.New(git.Options{})
	put(t, repo.Top, "f", "1\n2\n3\n")
	repo.Git(repo.Top, "add", ".")
	repo.Git(repo.Top, "commit", "-qm", "base")
	base := repo.Git(repo.Top, "rev-parse", "HEAD")
	var all [][]git.Edit
	for i, text := range []string{"same", "same", "other"} {
		tree := filepath.Join(repo.Dir, fmt.Sprint("tree", i))
		repo.Git(repo.Top, "worktree", "add", "-q", "-b", fmt.Sprint("b", i), tree)
		put(t, tree, "f", "1\n"+text+"\n3\n")
		put(t, tree, "new", text)
		all = append(all, editsOf(t, r, tree, base))
	}
	if fmt.Sprint(all[0]) != fmt.Sprint(all[1]) || all[0][1].Sum == 0 {
		t.Errorf("the same changes differ: %v, %v", all[0], all[1])
	}
	if all[0][0].Hunks[0].Sum == all[2][0].Hunks[0].Sum || all[0][1].Sum == all[2][1].Sum {
		t.Errorf("other changes do not differ: %v, %v", all[0], all[2])
	}
}

// In the middle of a merge that conflicts, of which two commits can tell; and of what only a filter could.
func TestEditsInAMerge(t *testing.T) {
	repo, r := gittest.New(t), git.New(git.Options{})
	put(t, repo.Top, "f", "1\n")
	put(t, repo.Top, "g", "1\n")
	put(t, repo.Top, "filtered", "1\n")
	repo.Git(repo.Top, "add", ".")
	repo.Git(repo.Top, "commit", "-qm", "base")
	base := repo.Git(repo.Top, "rev-parse", "HEAD")
	repo.Git(repo.Top, "checkout", "-qb", "other")
	put(t, repo.Top, "f", "other\n")
	repo.Git(repo.Top, "commit", "-qam", "other")
	repo.Git(repo.Top, "checkout", "-q", "main")
	put(t, repo.Top, "f", "mine\n")
	put(t, repo.Top, "g", "2\n")
	repo.Git(repo.Top, "commit", "-qam", "mine")
	mine, other := repo.Git(repo.Top, "rev-parse", "main"), repo.Git(repo.Top, "rev-parse", "other")
	conflicts, err := r.Conflicts(t.Context(), placeOf(t, repo.Top), mine, other)
	if err != nil || !slices.Equal(conflicts, []string{"f"}) {
		t.Errorf("conflicts in %q, %v", conflicts, err)
	}
	if conflicts, err := r.Conflicts(t.Context(), placeOf(t, repo.Top), mine, base); err != nil || len(conflicts) > 0 {
		t.Errorf("with what it comes from: conflicts in %q, %v", conflicts, err)
	}
	if conflicts, err := r.Conflicts(t.Context(), placeOf(t, repo.Top), mine, "nonsense"); err == nil {
		t.Errorf("with what is no commit: conflicts in %q", conflicts)
	}
	if _, err := repo.Try(repo.Top, "merge", "other"); err == nil {
		t.Fatal("it merged")
	}
	put(t, repo.Top, ".gitattributes", "filtered filter=f\n")
	repo.Git(repo.Top, "config", "filter.f.clean", "touch "+filepath.Join(repo.Dir, "ran"))
	put(t, repo.Top, "filtered", "2\n")
	got := words(editsOf(t, r, repo.Top, base))
	if want := []string{`".gitattributes" whole`, `"f" 1-1`, `"filtered" whole`, `"g" 1-1`}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := os.Stat(filepath.Join(repo.Dir, "ran")); err == nil {
		t.Error("the filter's program ran")
	}
}

func placeOf(t *testing.T, top string) git.Place {
	t.Helper()
	p, err := git.At(top)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The newest commit that all come from, or that there is none.
func TestFork(t *testing.T) {
	repo, r := gittest.New(t), git.New(git.Options{})
	var heads []string
	for _, name := range []string{"a", "b", "c"} {
		repo.Git(repo.Top, "checkout", "-qb", name, "main")
		repo.Git(repo.Top, "commit", "-q", "--allow-empty", "-m", name)
		heads = append(heads, repo.Git(repo.Top, "rev-parse", "HEAD"))
	}
	fork, err := r.Fork(t.Context(), repo.Top, heads...)
	if err != nil || fork != repo.Git(repo.Top, "rev-parse", "main") {
		t.Errorf("%q, %v", fork, err)
	}
	repo.Git(repo.Top, "checkout", "-q", "--orphan", "alone")
	repo.Git(repo.Top, "commit", "-q", "--allow-empty", "-m", "alone")
	if fork, err := r.Fork(t.Context(), repo.Top, append(heads, repo.Git(repo.Top, "rev-parse", "HEAD"))...); err != nil || fork != "" {
		t.Errorf("of an orphan: %q, %v", fork, err)
	}
}

// Reading what git wrote never fails but with words.
func FuzzParseEdits(f *testing.F) {
	f.Add([]byte(":100644 100644 8a1218a 0000000 M\x00f\x00\x00diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-2\n+two\n"))
	f.Add([]byte(":000000 100644 0000000 115da22 A\x00a\x00:100644 000000 0 0 U\x00u\x00\x00* Unmerged path u\ndiff --git a/a b/a\n@@ -0,0 +1 @@\n+x"))
	f.Add([]byte(": \x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		edits, err := git.ParseEdits(out)
		if err == nil && strings.Count(string(out), "diff --git ") == 0 {
			for _, e := range edits {
				if len(e.Hunks) > 0 {
					t.Errorf("%q: hunks of no patch: %v", out, e)
				}
			}
		}
	})
}

// What was made in a worktree is told from what it was only moved to.
func TestCommitted(t *testing.T) {
	repo := gittest.New(t)
	place, err := git.Find(repo.Top)
	if err != nil {
		t.Fatal(err)
	}
	head := func() string { return strings.TrimSpace(repo.Git(repo.Top, "rev-parse", "HEAD")) }
	commit := func(name string) string {
		repo.Write("repo/"+name, name)
		repo.Git(repo.Top, "add", ".")
		repo.Git(repo.Top, "commit", "-qm", name)
		return head()
	}
	base := head()
	repo.Git(repo.Top, "branch", "ahead")
	other := filepath.Join(repo.Dir, "other")
	repo.Git(repo.Top, "worktree", "add", "-q", other, "ahead")
	repo.Git(other, "commit", "-q", "--allow-empty", "-m", "elsewhere")
	repo.Git(repo.Top, "merge", "-q", "--ff-only", "ahead")
	moved := head()
	mine := commit("mine")
	repo.Git(repo.Top, "commit", "-q", "--amend", "-m", "anew")
	amended := head()
	repo.Git(repo.Top, "checkout", "-q", "-b", "side", moved)
	side := commit("side")
	repo.Git(repo.Top, "rebase", "-q", amended)
	repo.Git(repo.Top, "checkout", "-q", "-b", "late", base)
	commit("late")
	repo.Git(repo.Top, "rebase", "-q", "ahead")
	late := head()
	repo.Git(repo.Top, "checkout", "-q", "-b", "pulls", base)
	commit("pulled")
	repo.Git(repo.Top, "pull", "-q", "--rebase", ".", "ahead")
	pulled := head()
	repo.Git(repo.Top, "checkout", "-q", "-b", "only", base)
	repo.Git(repo.Top, "pull", "-q", "--rebase", ".", "ahead")
	repo.Git(repo.Top, "checkout", "-q", "side")
	made, all := git.Committed(place)
	for id, want := range map[string]bool{moved: false, mine: true, amended: true, side: true, late: true, pulled: true, head(): true} {
		if !all || made[id] != want {
			t.Errorf("%.8s is its own: %t, want %t", id, made[id], want)
		}
	}
	list, all, err := git.New(git.Options{}).Between(t.Context(), place.Common, base, "side")
	if err != nil || !all || len(list) != 3 || list[0] != head() || list[2] != moved {
		t.Errorf("between: %q, %t, %v", list, all, err)
	}
	if err := os.Remove(filepath.Join(place.GitDir, "logs", "HEAD")); err != nil {
		t.Fatal(err)
	}
	if _, all := git.Committed(place); all {
		t.Error("without a log it is known")
	}
}
