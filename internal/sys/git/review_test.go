package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"custos/internal/sys/gittest"
)

// What a reviewer reads is what the branch changes of the target as that stands in its remote: no ref of the repository is
// believed, and no attribute of it, or of its main worktree, hides a file.
func TestBranchDiff(t *testing.T) {
	r := gittest.New(t)
	top := r.Worktree("retry")
	r.Commit(top, "up.go", "package up\n")
	commit := r.Commit(top, "p.lock", "secret\n")
	if err := os.MkdirAll(filepath.Join(r.Top, ".git", "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Write(filepath.Join(r.Top, ".git", "info", "attributes"), "*.lock -diff\n*.go -diff\n")
	r.Write(filepath.Join(r.Top, ".gitattributes"), "*.lock -diff\n")
	r.Git(r.Top, "update-ref", "refs/remotes/origin/main", commit) // as if it were merged
	w := NewWriter(New(Options{}), WriterOptions{})
	got, err := w.BranchDiff(t.Context(), r.Top, "origin", "main", "retry", commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"up.go", "p.lock", "2 files changed", "+package up", "+secret"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if local, err := w.BranchDiff(t.Context(), r.Top, "", "main", "retry", commit); err != nil || local != got {
		t.Errorf("%v\n%s", err, local)
	}
	if _, err := w.BranchDiff(t.Context(), r.Top, "origin", "gone", "retry", commit); err == nil {
		t.Error("a target that is not there")
	}
}
